"""Objects that were checked before anything is written, so that writing can't fail halfway."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mooring.cluster.kinds import ClusterObject, TabledObject, identity
from mooring.cluster.pod_kinds import PodKinds
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_table import PodKind, PodTable
from mooring.framework.resources import ResourceError, allocatable


@dataclass(slots=True)
class Batch:
    """Objects with the amounts that their tables need.

    Attributes:
        nodes: By name: the node and what it offers.
        pods: By UID: the pod and what it counts as.
        objects: The others, by kind and identity.
    """

    nodes: dict[str, tuple[Node, dict[str, int]]] = field(default_factory=dict)
    pods: dict[str, tuple[Pod, PodKind]] = field(default_factory=dict)
    objects: dict[tuple[str, str], TabledObject] = field(default_factory=dict)

    def has(self, kind: str, name: str) -> bool:
        """True when the object is here; ``name`` is the UID of a pod, the identity of another kind."""
        if kind == "Node":
            return name in self.nodes
        if kind == "Pod":
            return name in self.pods
        return (kind, name) in self.objects

    def identities(self) -> Iterable[tuple[str, str, Pod | None]]:
        """Kind, identity and, of pods, the pod; finished pods are left out: nobody holds them."""
        for name in self.nodes:
            yield "Node", name, None
        for uid, (pod, _) in self.pods.items():
            if not pod.finished:
                yield "Pod", uid, pod
        for kind, name in self.objects:
            yield kind, name, None


def prepare(objects: Iterable[ClusterObject], known: PodTable, kinds: PodKinds) -> Batch:
    """Works out what ``objects`` count as; of an object given twice the last one counts.

    A pod that ``known`` has just like this keeps its kind.

    Raises:
        InvalidArgumentError: Quantities can't be used; every such object is named.
    """
    batch = Batch()
    uids: dict[str, str] = {}
    violations = []
    for item in objects:
        try:
            if isinstance(item, Pod):
                if not item.finished:
                    same_name = uids.get(item.key, item.metadata.uid)
                    if same_name != item.metadata.uid:
                        batch.pods.pop(same_name, None)
                    uids[item.key] = item.metadata.uid
                record = known.get(item.metadata.uid)
                kind = record.kind if record is not None and record.pod == item else kinds.of(item)
                batch.pods[item.metadata.uid] = item, kind
            elif isinstance(item, Node):
                batch.nodes[item.metadata.name] = item, allocatable(item.status.allocatable)
            else:
                meta = item.metadata
                batch.objects[type(item).__name__, identity(meta.namespace, meta.name)] = item
        except ResourceError as error:
            name = item.key if isinstance(item, Pod) else item.metadata.name
            violations.append(FieldError(error.path, f"{type(item).__name__} {name}: {error}"))
    if violations:
        raise InvalidArgumentError(violations)
    return batch
