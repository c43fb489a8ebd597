"""Manifests in a real cluster and offline: do the same objects come of them, and the same decisions?"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any

import msgspec
from kubernetes.utils.quantity import parse_quantity

from mooring.cluster.binding import LocalBinder
from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.manifests import Manifests
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Node, Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry

from .api import Api, Manifest
from .build import RELEASE

_LISTS = {
    "Node": "/api/v1/nodes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "Pod": "/api/v1/pods",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "ReplicationController": "/api/v1/replicationcontrollers",
    "Service": "/api/v1/services",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
}
"""The paths of the objects of each compared kind."""

_NAMED_AT_RANDOM = {"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController"}
"""The owners that make up names."""

_ABOUT_LIMITS = "kubernetes.io/limit-ranger"
"""An annotation for people, with a LimitRange's changes."""

_AMOUNTS = {"allocatable", "capacity", "limits", "overhead", "requests"}
"""Fields that hold quantities by resource."""

_ZONE = "topology.kubernetes.io/zone"

_ATTEMPT = re.compile(r'"Attempting to schedule pod" pod="([^"]+)"')


def items(api: Api, kind: str, namespaces: Iterable[str]) -> list[Manifest]:
    """Return the objects of a kind that a client made, in these namespaces or in none."""
    wanted = {"", *namespaces}
    found = api.items(_LISTS[kind])
    return [
        item
        for item in found
        if item["metadata"].get("namespace", "") in wanted and item["metadata"]["name"] != "kubernetes"
    ]


def differences(loaded: Manifests, api: Api) -> list[str]:
    """Return the objects that are in one of the two only, as far as scheduling reads them; a line
    for each.
    """
    namespaces = {item.metadata.namespace for item in loaded.objects}
    found = []
    for kind in _LISTS:
        here = Counter(identity(item) for item in loaded.objects if type(item).__name__ == kind)
        there = Counter(identity(from_manifest(item)) for item in items(api, kind, namespaces))
        found += [f"offline only: {kind} {text}" for text in (here - there).elements()]
        found += [f"cluster only: {kind} {text}" for text in (there - here).elements()]
    return sorted(found)


def identity(item: ClusterObject) -> str:
    """Return the object without what is different each time: made-up names, hashes, UIDs, times, and its
    status.
    """
    fields: Manifest = msgspec.to_builtins(item, enc_hook=dict)
    metadata = fields.pop("metadata")
    if not isinstance(item, Node):
        fields.pop("status", None)
    kept = {key: metadata.get(key) for key in ("name", "namespace", "labels")}
    owners = metadata.get("ownerReferences", [])
    if isinstance(item, Pod):
        # The API server copies the node's when the pod is bound.
        kept["labels"] = {key: value for key, value in metadata.get("labels", {}).items() if key != _ZONE}
        annotations = metadata.get("annotations", {})
        kept["annotations"] = {key: value for key, value in annotations.items() if key != _ABOUT_LIMITS}
        kept["ownerReferences"] = [{**owner, "uid": "*"} for owner in owners]
        spec = fields["spec"]
        spec["tolerations"] = sorted(map(str, spec.get("tolerations", ())))
        spec.setdefault("schedulerName", "default-scheduler")
        spec.pop("nodeName", None)
    if any(owner["kind"] in _NAMED_AT_RANDOM for owner in owners):
        del kept["name"]
    text = dumps(_with_plain_amounts({"metadata": kept, **fields}), sort_keys=True)
    for word in _made_up(metadata.get("labels", {})):
        text = text.replace(word, "*")
    return text


def _with_plain_amounts(value: Any) -> Any:
    """Return the same with quantities as numbers: the API server writes 1000 as 1k."""
    if isinstance(value, list | tuple):
        return [_with_plain_amounts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: str(parse_quantity(amount).normalize()) for name, amount in item.items()}  # type: ignore[no-untyped-call]
        if key in _AMOUNTS
        else _with_plain_amounts(item)
        for key, item in value.items()
    }


def _made_up(labels: Manifest) -> list[str]:
    """Return the words that a controller made up for the object."""
    # A StatefulSet's revision is its name and a hash.
    revision = labels.get("controller-revision-hash", "").rpartition("-")[2]
    words = labels.get("pod-template-hash"), revision, labels.get("controller-uid")
    return [word for word in words if word]


def engine_over(loaded: Manifests, config: Mapping[str, Any]) -> Engine:
    """mooring's decisions over what came of some manifests, with a KubeSchedulerConfiguration."""
    state, registry = State(), new_in_tree_registry()
    state.replace("manifests", loaded.objects)
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **config,
    }
    configuration = from_document(document, registry.catalog(), kube_version=RELEASE)
    return build_engine(configuration, registry, state, LocalBinder(state), kube_version=RELEASE)


def attempts(log: str) -> list[str]:
    """Return the pods that kube-scheduler tried to place, in its order, as namespace/name."""
    return _ATTEMPT.findall(log)


def disagreements(engine: Engine, loaded: Manifests, pods: list[Manifest], tried: list[str]) -> list[str]:
    """Play a real scheduler's attempts offline; return a line for each that mooring would not have decided
    so.

    Args:
        engine: As ``engine_over`` gives it.
        loaded: The pods that were made offline; each stands for one of ``pods`` that is the same.
        pods: The cluster's pods afterwards.
        tried: The attempts.
    """
    twins: dict[str, list[Pod]] = defaultdict(list)
    for pod in reversed(loaded.pods):
        twins[identity(pod)].append(pod)
    there = {_key(pod): pod for pod in pods}
    own = {key: twins[identity(from_manifest(there[key]))].pop() for key in dict.fromkeys(tried)}
    last = {key: at for at, key in enumerate(tried)}
    found = []
    for at, key in enumerate(tried):
        pod = own[key]
        choice = engine.decide(pod, engine.profile("", pod), ALL_NODES, options=CycleOptions())
        node = there[key]["spec"].get("nodeName", "") if last[key] == at else ""
        if node not in best_nodes(choice):
            found.append(f"{key}: {node or 'none'}, where mooring takes one of {sorted(best_nodes(choice))}")
        elif at == last[key] and not node:
            found += _otherwise_said(key, _message(there[key]), choice.message)
        if node:
            engine.state.assume(pod, node)
    return found


def best_nodes(choice: Choice) -> set[str]:
    """Return the nodes with the highest total; "" alone = none takes the pod."""
    evaluation = choice.evaluation
    names = evaluation.snapshot.nodes.names
    return {names[row] for row in evaluation.rows[evaluation.best]} or {""}


def _otherwise_said(key: str, theirs: str, ours: str) -> list[str]:
    """Compares the reasons; what follows about preemption and devices is another decision."""
    first, second = (text.partition(". ")[0].rstrip(".") for text in (theirs, ours))
    return [] if first == second else [f"{key}: {first!r}, where mooring says {second!r}"]


def _message(pod: Manifest) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def _key(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
