"""Workloads to the pods that their controllers would make, under names that stay the same.

Old API groups count as well: only the kind matters, its template has stood at the same place in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from mooring.cluster.kinds import default_uid
from mooring.cluster.manifests.documents import Document
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Node, Pod
from mooring.framework.taints import tolerated

Manifest = dict[str, Any]

WORKLOADS = frozenset(
    {"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
)
"""The kinds that are expanded."""

_SELECTING = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})
"""The kinds whose selectors plugins read, so that they tell something without a template too."""

_MOST_PODS = 1_000_000

_DAEMON_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]
"""What the DaemonSet controller adds to its pods (pkg/controller/daemon/util/daemonset_util.go)."""


def owners(documents: Iterable[Document]) -> set[tuple[str, str, str]]:
    """Namespace, kind and name of whatever owns one of the documents: its pods are there already."""
    return {
        (namespace_of(document.manifest), str(owner.get("kind")), str(owner.get("name")))
        for document in documents
        for owner in _list(_field(document.manifest, "metadata"), "ownerReferences")
        if isinstance(owner, dict)
    }


def expanded(document: Document, nodes: Iterable[str]) -> Iterator[tuple[Manifest, str]]:
    """The pods of one workload; a DaemonSet's for each of ``nodes``, with its name; see ``runs_on``.

    A controller of pods that is there for its selector alone has none.

    Raises:
        InvalidArgumentError: The template is missing, or the number of replicas is unusable.
    """
    workload = document.manifest
    kind = str(workload["kind"])
    if kind in _SELECTING and _field(workload, "spec").get("template") is None:
        return
    if kind == "DaemonSet":
        for node in nodes:
            yield _daemon(document, node), node
        return
    first = _number(document, "ordinals", "start", default=0) if kind == "StatefulSet" else 0
    for ordinal in range(first, first + _count(document)):
        yield _pod(document, str(ordinal)), ""


def runs_on(pod: Pod, node: Node) -> bool:
    """True when the DaemonSet controller would make ``pod`` for ``node``: selector and taints allow it."""
    return pod.spec.node_selector.items() <= node.metadata.labels.items() and all(
        taint.effect == "PreferNoSchedule" or tolerated(taint, pod.spec.tolerations)
        for taint in node.spec.taints
    )


def namespace_of(manifest: Manifest) -> str:
    """The namespace that a namespaced manifest belongs to."""
    return str(_field(manifest, "metadata").get("namespace") or "default")


def _count(document: Document) -> int:
    kind, spec = document.manifest["kind"], _field(document.manifest, "spec")
    if kind != "Job":
        return _number(document, "replicas", default=1)
    if spec.get("suspend"):
        return 0
    parallelism = _number(document, "parallelism", default=1)
    return min(parallelism, _number(document, "completions", default=parallelism))


def _number(document: Document, *path: str, default: int) -> int:
    value: Any = _field(document.manifest, "spec")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_PODS:
        where = f"{document.origin}: spec.{'.'.join(path)}"
        raise InvalidArgumentError([FieldError(where, f"{value!r} is no number from 0 to {_MOST_PODS}")])
    return value


def _template(document: Document) -> Manifest:
    template = _field(document.manifest, "spec").get("template")
    if not isinstance(template, dict):
        raise InvalidArgumentError(
            [FieldError(f"{document.origin}: spec.template", "a pod template is required")]
        )
    return template


def _pod(document: Document, suffix: str) -> Manifest:
    workload = document.manifest
    kind = str(workload["kind"])
    namespace, template = namespace_of(workload), _template(document)
    metadata, of_template = _field(workload, "metadata"), _field(template, "metadata")
    owner = str(metadata.get("name") or "")
    # Only a StatefulSet's names are promised; the others get what keeps them apart from a namesake's.
    name = (
        f"{owner}-{suffix}" if kind == "StatefulSet" else f"{owner}-{_tag(kind, namespace, owner)}-{suffix}"
    )
    labels = dict(_field(of_template, "labels"))
    if kind == "StatefulSet":
        labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": suffix}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": of_template.get("annotations"),
            "ownerReferences": [
                {
                    "apiVersion": workload.get("apiVersion"),
                    "kind": kind,
                    "name": owner,
                    "uid": metadata.get("uid") or default_uid(kind, namespace, owner),
                    "controller": True,
                }
            ],
        },
        "spec": _field(template, "spec"),
    }


def _tag(kind: str, namespace: str, name: str) -> str:
    return sha256(f"{kind}/{namespace}/{name}".encode()).hexdigest()[:5]


def _daemon(document: Document, node: str) -> Manifest:
    """A DaemonSet's pod asks for its node by name, in every required term, as the controller writes it."""
    pod = _pod(document, node)
    spec = dict(pod["spec"])
    affinity = dict(_field(spec, "affinity"))
    node_affinity = dict(_field(affinity, "nodeAffinity"))
    pinned = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [pinned]}
    affinity["nodeAffinity"] = node_affinity
    spec["affinity"] = affinity
    spec["tolerations"] = [*_list(spec, "tolerations"), *_DAEMON_TOLERATIONS]
    return {**pod, "spec": spec}


def _field(manifest: Manifest, name: str) -> Manifest:
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def _list(manifest: Manifest, name: str) -> list[Any]:
    value = manifest.get(name)
    return value if isinstance(value, list) else []
