"""A pod on every node. Mirrors pkg/controller/daemon."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.cluster.decoding import from_manifest
from mooring.cluster.manifests.controllers.known import KnownManifests
from mooring.cluster.manifests.controllers.workload import WorkloadManifest
from mooring.cluster.manifests.documents import Document
from mooring.cluster.manifests.fields import Manifest, mapping, mappings, sequence
from mooring.framework.daemons import added_tolerations, runs_on
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.node_selector import NAME_FIELD
from mooring.framework.objects import Pod

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_GENERATION = "deprecated.daemonset.template.generation"


def daemon_set_pods(owner: WorkloadManifest, known: KnownManifests) -> Iterator[Document]:
    """Yield a pod for each eligible node that has none yet."""
    spec = mapping(owner.template, "spec")
    added: list[Manifest] = [
        {"key": each.key, "operator": each.operator, "effect": each.effect}
        for each in added_tolerations(host_network=spec.get("hostNetwork") is True)
    ]
    kept = [one for one in sequence(spec, "tolerations") if _without_value(one) not in added]
    spec = {**spec, "tolerations": [*kept, *added]}
    pattern = _decoded(owner, spec)
    served = {_node_of(pod) for pod in known.active_pods(owner)}
    labels = {
        "controller-revision-hash": owner.template_hash,
        "pod-template-generation": str(mapping(owner.metadata, "annotations").get(_GENERATION) or "1"),
    }
    for node in known.nodes:
        name = node.metadata.name
        if pattern is not None and name not in served and runs_on(pattern, node):
            yield owner.pod(owner.pod_name(name), labels, **{**spec, "affinity": _pinned(spec, name)})


def _decoded(owner: WorkloadManifest, spec: Manifest) -> Pod | None:
    """Return the pod; None if the template has a fault, which the decoding of the DaemonSet reports."""
    try:
        pattern = from_manifest(owner.pod(owner.name, **spec).manifest)
    except InvalidArgumentError:
        return None
    return pattern if isinstance(pattern, Pod) else None


def _without_value(toleration: object) -> object:
    """Return the toleration as the controller compares it: it replaces an equal one."""
    if not isinstance(toleration, dict):
        return toleration
    return {key: value for key, value in toleration.items() if key in ("key", "operator", "effect")}


def _pinned(spec: Manifest, node: str) -> Manifest:
    """Return the affinity to one node by its name, which replaces the required one."""
    affinity = mapping(spec, "affinity")
    pinned = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    required = {**mapping(affinity, "nodeAffinity"), _REQUIRED: {"nodeSelectorTerms": [pinned]}}
    return {**affinity, "nodeAffinity": required}


def _node_of(pod: Document) -> str:
    """Return the node that a pod of a DaemonSet runs on, or is meant for."""
    spec = mapping(pod.manifest, "spec")
    required = mapping(mapping(mapping(spec, "affinity"), "nodeAffinity"), _REQUIRED)
    for term in mappings(required, "nodeSelectorTerms"):
        for field in mappings(term, "matchFields"):
            if field.get("key") == NAME_FIELD:
                return str(next(iter(sequence(field, "values")), ""))
    return str(spec.get("nodeName") or "")
