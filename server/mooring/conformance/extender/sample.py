"""The questions for an extender: a pod, nodes, and the same document in other forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from mooring.cluster.manifests.documents import Document
from mooring.framework.errors import InvalidArgumentError
from mooring.testing import node_manifest, pod_manifest

Json = dict[str, Any]

FEW: Final = 8
"""Nodes in a question, unless the question is how long many take."""

_FREE_KEYS: Final = frozenset(
    ("labels", "annotations", "nodeSelector", "matchLabels", "requests", "limits", "capacity", "allocatable")
)
"""Fields whose keys users choose, in whose keys case counts."""


@dataclass(frozen=True, slots=True)
class ExtenderSample:
    """A pod and the nodes that it could be on, as the API server has them.

    Attributes:
        pod: A pod without a node.
        nodes: Nodes by name, at least one.
    """

    pod: Json
    nodes: Mapping[str, Json]

    def few(self) -> list[str]:
        """Return the names of a few nodes."""
        return list(islice(self.nodes, FEW))


def generated(count: int) -> ExtenderSample:
    """Return a pod and ``count`` nodes in five zones that a cluster could have."""
    nodes = (_node(f"node-{index:05d}", f"zone-{index % 5}") for index in range(count))
    return ExtenderSample(_pod(), {node["metadata"]["name"]: node for node in nodes})


def sample_of(documents: Iterable[Document]) -> ExtenderSample:
    """Return the nodes among manifests, and the first pod among them that has none. Raises
    InvalidArgumentError if there is no node.
    """
    of_kind: dict[str, list[Json]] = {"Node": [], "Pod": []}
    for document in documents:
        of_kind.setdefault(document.manifest.get("kind", ""), []).append(_bare(document.manifest))
    nodes = {node["metadata"]["name"]: node for node in of_kind["Node"]}
    if not nodes:
        raise InvalidArgumentError.at("manifests", "there is no Node; add the nodes that the extender knows")
    pods = (pod for pod in of_kind["Pod"] if not pod["spec"].get("nodeName"))
    return ExtenderSample(next(pods, _pod()), nodes)


def folded(value: Any) -> Any:
    """Return a document whose fields are written in lower case, which Go reads as the same.

    Mirrors ``TestCompatibility`` in ``k8s.io/kube-scheduler/extender/v1/types_test.go``.
    """
    if isinstance(value, list):
        return [folded(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key.lower(): member if key in _FREE_KEYS else folded(member) for key, member in value.items()}


def from_later(question: Json) -> Json:
    """Return a question with fields that a later release could add."""
    pod = question["Pod"]
    later = {**pod, "spec": {**pod["spec"], "fieldOfALaterRelease": {"values": [1, None]}}}
    return {**question, "Pod": later, "FieldOfALaterRelease": ["x"]}


def with_nulls(question: Json) -> Json:
    """Return a question in whose pod empty fields are null, as older releases write them."""
    pod = question["Pod"]
    metadata = {"creationTimestamp": None, "labels": None, "annotations": None, **pod["metadata"]}
    spec = {"volumes": None, "nodeSelector": None, "tolerations": None, "affinity": None, **pod["spec"]}
    return {**question, "Pod": {**pod, "metadata": metadata, "spec": spec}}


def _bare(found: Json) -> Json:
    """Return an object as kube-scheduler sends it: without its kind."""
    return {key: member for key, member in found.items() if key not in ("apiVersion", "kind")}


def _pod() -> Json:
    name = "mooring-conformance"
    return _bare(
        pod_manifest(
            name,
            labels={"app": name},
            requests={"cpu": "100m", "memory": "128Mi"},
            metadata={"uid": "6f9619ff-8b86-d011-b42d-00cf4fc964ff"},
            spec={"schedulerName": "default-scheduler", "priority": 1_000},
            status={"phase": "Pending", "qosClass": "Burstable"},
        )
    )


def _node(name: str, zone: str) -> Json:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return _bare(
        node_manifest(
            name,
            labels={"kubernetes.io/os": "linux", "topology.kubernetes.io/zone": zone},
            metadata={"uid": f"uid-{name}"},
            spec={"providerID": f"example://{name}"},
            status={"conditions": [ready]},
        )
    )
