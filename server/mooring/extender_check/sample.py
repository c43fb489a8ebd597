"""The questions for an extender: a pod, nodes, and the same document in other forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from mooring.documents import DocumentError, read_documents
from mooring.framework.errors import InvalidArgumentError

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
    names = [f"node-{index:05d}" for index in range(count)]
    return ExtenderSample(_pod(), {name: _node(name, f"zone-{at % 5}") for at, name in enumerate(names)})


def sample_of(texts: Mapping[str, str]) -> ExtenderSample:
    """Return the nodes in files, and the first pod in them that has none.

    Args:
        texts: YAML or JSON, by the file's name.

    Raises:
        InvalidArgumentError: One can't be read, or there is no node in them.
    """
    objects = [found for path, text in texts.items() for found in _read(path, text)]
    nodes = {found["metadata"]["name"]: _bare(found) for found in objects if found.get("kind") == "Node"}
    if not nodes:
        raise InvalidArgumentError.at(
            ", ".join(texts), "there is no Node; add the nodes that the extender knows"
        )
    pods = (found for found in objects if found.get("kind") == "Pod" and not found["spec"].get("nodeName"))
    return ExtenderSample(_bare(next(pods, _pod())), nodes)


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


def _read(path: str, text: str) -> Iterator[Json]:
    try:
        for document in read_documents(text):
            yield from _objects(document.value)
    except DocumentError as error:
        raise InvalidArgumentError.at(path, str(error)) from None


def _objects(value: Any) -> Iterator[Json]:
    if not isinstance(value, dict):
        return
    if isinstance(value.get("items"), list):
        kind = str(value.get("kind", "")).removesuffix("List")
        for item in value["items"]:
            yield from _objects({"kind": kind, **item} if isinstance(item, dict) else item)
    elif isinstance(value.get("metadata"), dict):
        yield value


def _bare(found: Json) -> Json:
    """Return an object as kube-scheduler sends it: without its kind."""
    return {key: member for key, member in found.items() if key not in ("apiVersion", "kind")}


def _pod() -> Json:
    requests = {"cpu": "100m", "memory": "128Mi"}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    return {
        "metadata": {
            "name": "mooring-conformance",
            "namespace": "default",
            "uid": "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
            "labels": {"app": "mooring-conformance"},
        },
        "spec": {"containers": [container], "schedulerName": "default-scheduler", "priority": 1_000},
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _node(name: str, zone: str) -> Json:
    amounts = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "spec": {"providerID": f"example://{name}"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }
