"""Objects that were checked before anything is written, so that writing can't fail halfway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mooring.cluster.kinds import ClusterObject, TabledObject, identity
from mooring.cluster.pod_kinds import PodKinds
from mooring.cluster.pod_parts import PodParts
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_table import UNPLACED, PodRecord
from mooring.framework.resources import ResourceError, allocatable

Identity = tuple[str, str, PodRecord | None]
"""An object's kind; a pod's UID, or the identity within another kind; and of pods the record."""


@dataclass(slots=True)
class ValidatedObjects:
    """Objects with the amounts that their tables need.

    Attributes:
        nodes: By name: the node and what it offers.
        pods: By UID, on no row yet.
        objects: The others, by kind and identity.
    """

    nodes: dict[str, tuple[Node, dict[str, int]]] = field(default_factory=dict)
    pods: dict[str, PodRecord] = field(default_factory=dict)
    objects: dict[tuple[str, str], TabledObject] = field(default_factory=dict)

    def has(self, kind: str, name: str) -> bool:
        """Return whether the object is here; ``name`` is the UID of a pod, the identity of another kind."""
        if kind == "Node":
            return name in self.nodes
        if kind == "Pod":
            return name in self.pods
        return (kind, name) in self.objects

    def identities(self) -> Iterable[Identity]:
        """Return those of all objects; finished pods have none: no source holds them."""
        for record in self.pods.values():
            yield from identities_of(record)
        yield from self.identities_but_pods()

    def identities_but_pods(self) -> Iterable[Identity]:
        """Return the identities of non-pods."""
        for name in self.nodes:
            yield "Node", name, None
        for kind, name in self.objects:
            yield kind, name, None


def validate_pod(parts: PodParts, kinds: PodKinds) -> PodRecord:
    """Works out what the pod of these ``parts`` counts as, on no row yet. Raises InvalidArgumentError if a
    quantity can't be used.
    """
    try:
        kind = kinds.of_template(parts.template, parts.labels)
    except ResourceError as error:
        raise InvalidArgumentError([_violation(parts.pod, error)]) from None
    own = parts.own
    return PodRecord(
        kind,
        UNPLACED,
        False,
        own.name,
        own.uid,
        parts.node_name,
        own.resource_version,
        own.creation_timestamp,
        parts.start_time,
    )


def validate(objects: Iterable[ClusterObject], kinds: PodKinds) -> ValidatedObjects:
    """Works out what ``objects`` count as; of an object given twice the last one counts. Raises
    InvalidArgumentError if quantities can't be used; every such object is named.
    """
    batch = ValidatedObjects()
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
                batch.pods[item.metadata.uid] = PodRecord.of(item, kinds.of(item), UNPLACED)
            elif isinstance(item, Node):
                batch.nodes[item.metadata.name] = item, allocatable(item.status.allocatable)
            else:
                meta = item.metadata
                batch.objects[type(item).__name__, identity(meta.namespace, meta.name)] = item
        except ResourceError as error:
            violations.append(_violation(item, error))
    InvalidArgumentError.raise_if_any(violations)
    return batch


def identities_of(record: PodRecord) -> Sequence[Identity]:
    """Return its identity; none of a finished pod, which no source holds."""
    return () if record.kind.base.finished else (("Pod", record.uid, record),)


def _violation(item: ClusterObject, error: ResourceError) -> FieldError:
    name = item.key if isinstance(item, Pod) else item.metadata.name
    return FieldError(error.path, f"{type(item).__name__} {name}: {error}")
