"""Equal parts of objects, kept once: what many nodes or the pods of one template say alike takes room once.

Objects are immutable, so nobody can tell whether a part is shared. Safe from any thread: each step on the
known parts is one operation of a dict, and losing one of them only costs memory.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import intern
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from mooring.cluster.kinds import ClusterObject
from mooring.framework.objects import (
    ContainerImage,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
)

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=ClusterObject)

_MOST_KNOWN = 1 << 16
"""At this many known parts all are forgotten, with them those that no object has any more."""

_encode = msgspec.json.Encoder().encode
_known: dict[int, object] = {}


def shared(item: ObjectT) -> ObjectT:
    """``item``, made of the parts that equal ones before it were made of."""
    if isinstance(item, Pod):
        return replace(
            item,
            metadata=_shared_metadata(item.metadata),
            spec=_shared_pod_spec(item.spec),
            status=_shared_pod_status(item.status),
        )
    if isinstance(item, Node):
        return replace(
            item,
            metadata=replace(_shared_metadata(item.metadata), name=_text(item.metadata.name)),
            spec=_one(item.spec),
            status=_shared_node_status(item.status),
        )
    return item


def _one(value: T, rebuilt: Callable[[T], T] | None = None) -> T:
    """The value to keep for all those equal to ``value``; ``rebuilt`` shares the parts of a new one.

    Not all values can be hashed, so they are found again by the hash of their encoding; a number is also the
    smallest key, and many values, such as labels with a host name, turn out to have no equal.
    """
    try:
        key = hash((type(value), _encode(value)))
    except UnicodeEncodeError:
        return value
    known = _known.get(key)
    if isinstance(known, type(value)) and known == value:
        return known
    new = rebuilt(value) if rebuilt is not None else value
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = new
    return new


def _shared_metadata(meta: ObjectMeta) -> ObjectMeta:
    return replace(
        meta,
        namespace=_text(meta.namespace),
        labels=_one(meta.labels, _shared_texts),
        annotations=_one(meta.annotations, _shared_texts),
        owner_references=_one(meta.owner_references),
    )


def _shared_texts(texts: dict[str, str]) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in texts.items()}


def _shared_images(images: tuple[ContainerImage, ...]) -> tuple[ContainerImage, ...]:
    return tuple(map(_one, images))


def _shared_pod_spec(spec: PodSpec) -> PodSpec:
    """Where the pod runs and the names of its volumes are its own; the rest is the template's."""
    template = _one(replace(spec, node_name="", volumes=()))
    return replace(template, node_name=_text(spec.node_name), volumes=spec.volumes)


def _shared_pod_status(status: PodStatus) -> PodStatus:
    """When the pod started and which claims were made for it is its own; the rest is like its siblings'."""
    common = _one(
        replace(status, start_time=None, resource_claim_statuses=(), extended_resource_claim_status=None)
    )
    if common == status:
        return common
    return replace(
        common,
        start_time=status.start_time,
        resource_claim_statuses=status.resource_claim_statuses,
        extended_resource_claim_status=status.extended_resource_claim_status,
    )


def _shared_node_status(status: NodeStatus) -> NodeStatus:
    return replace(
        status,
        capacity=_one(status.capacity),
        allocatable=_one(status.allocatable),
        images=_one(status.images, _shared_images),
        conditions=_one(status.conditions),
        declared_features=_one(status.declared_features),
    )


def _text(text: str) -> str:
    """The one string of this content; a subclass, such as an enumeration's member, stays what it is."""
    return intern(text) if type(text) is str else text
