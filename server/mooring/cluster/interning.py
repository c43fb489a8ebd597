"""Equal parts of objects, kept once: what many nodes or the pods of one template say alike takes room once.

Objects are immutable, so sharing a part is never noticed. Safe from any thread: each step on the
known parts is one operation of a dict or a list, and losing one of them only costs memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from sys import intern
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.cluster.kinds import ClusterObject
from mooring.framework.memory import share_of_memory
from mooring.framework.objects import (
    ContainerImage,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    Volume,
)
from mooring.framework.pod_table import bare_template_of, of_template

T = TypeVar("T")
KeyT = TypeVar("KeyT")
ObjectT = TypeVar("ObjectT", bound=ClusterObject)

_MAX_BYTES = share_of_memory(16, 256 << 20)
"""The most bytes of parts, which are found by the hash of their encoding."""

_OBJECT_BYTES = 8
"""The bytes that a byte of an encoding takes as objects: maps of short names to short amounts."""

_PART_BYTES = 256
"""The bytes that a part takes besides its encoding."""

_LARGEST_BYTES = 1 << 16
"""The longest encoding of a part that is kept. Pods hold on to a larger template by themselves."""

_LATELY = 1 << 12
"""How many values are remembered at most: most may have no equal."""

_LABELS_LATELY = 1 << 10
"""The same for the labels of pods, each in some 200 bytes. Pods of one template mostly come together."""

_LONGEST = 1 << 10
"""The most characters of such a part, so that all of a sort take some 4 MiB."""

_UNREAD = Volume()
_NO_STATUS = Pod().status

_encode = msgspec.json.Encoder().encode


class InternTable(Generic[KeyT, T]):
    """Parts by their look-up keys. Safe from any thread: losing one only costs time and memory.

    Args:
        most: At this many bytes all are forgotten, including those that no object has.
    """

    def __init__(self, most: int) -> None:
        self.parts: dict[KeyT, T] = {}
        self._most = most
        self._bytes = 0

    def keep(self, key: KeyT, part: T, size: int) -> None:
        """Keep a part whose encoding has ``size`` bytes, unless that is more than usual parts have."""
        if size > _LARGEST_BYTES:
            return
        size = size * _OBJECT_BYTES + _PART_BYTES
        self._bytes += size
        if self._bytes > self._most:
            self.parts.clear()
            self._bytes = size
        self.parts[key] = part


_known: InternTable[int, object] = InternTable(_MAX_BYTES)


class SeenLately(Generic[T]):
    """Parts of one sort that were seen lately, each in the slot of its hash.

    It is for parts that are mostly unique, such as the labels of a StatefulSet's pods: remembering all of
    them would take as much memory as the parts.
    """

    def __init__(self, most: int = _LATELY) -> None:
        self._places: list[T | None] = [None] * most

    def one(self, part: T, hashed: int, characters: int) -> T:
        """Return the part to keep for this one: an equal one, unless another took its place meanwhile."""
        if characters > _LONGEST:
            return part
        at = hashed % len(self._places)
        seen = self._places[at]
        if seen is not None and seen == part:
            return seen
        self._places[at] = part
        return part


_values: SeenLately[str] = SeenLately()
_NO_LABELS: dict[str, str] = {}
_labels: SeenLately[dict[str, str]] = SeenLately(_LABELS_LATELY)


def shared(item: ObjectT, check: Callable[[ClusterObject], None]) -> ObjectT:
    """``item``, made of the parts that equal ones before it were made of. ``check`` raises an error for an
    object that can't be used; of pods, it is called with new templates only.
    """
    if isinstance(item, Pod):
        return _shared_pod(item, check)  # type: ignore[return-value] # the object is a pod
    check(item)
    if isinstance(item, Node):
        return _shared_node(item)  # type: ignore[return-value] # the object is a node
    return item


def _shared_node(node: Node) -> Node:
    meta = node.metadata
    name = _text(meta.name)
    return replace(
        node,
        metadata=_shared_metadata(replace(meta, name=name), _node_labels(meta.labels, name)),
        spec=_one(node.spec),
        status=_shared_node_status(node.status),
    )


def _shared_pod(pod: Pod, check: Callable[[ClusterObject], None]) -> Pod:
    pod = _without_unread_volumes(pod)

    def checked(template: Pod) -> Pod:
        # Once it is shared, its spec mostly is one whose amounts are known.
        new = _shared_template(template)
        check(new)
        return new

    template = _one(bare_template_of(pod), checked)
    meta, node_name = pod.metadata, _text(pod.spec.node_name)
    labels = shared_labels(meta.labels, meta.name)
    return of_template(template, labels, meta, node_name, pod.status.start_time)


def _one(value: T, rebuilt: Callable[[T], T] | None = None) -> T:
    """Return the value to keep for all those equal to ``value``; ``rebuilt`` shares the parts of a new one.

    Some values have no hash, so all are found by the hash of their encoding. A number is also the smallest
    key, and many values, such as labels with a host name, turn out to have no equal.
    """
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        return rebuilt(value) if rebuilt is not None else value
    key = hash((type(value), encoded))
    known = _known.parts.get(key)
    if isinstance(known, type(value)) and known == value:
        return known
    new = rebuilt(value) if rebuilt is not None else value
    _known.keep(key, new, len(encoded))
    return new


def _shared_metadata(meta: ObjectMeta, labels: Mapping[str, str]) -> ObjectMeta:
    return replace(
        meta,
        namespace=_text(meta.namespace),
        labels=labels,
        annotations=_one(meta.annotations, _shared_texts),
        owner_references=_one(meta.owner_references),
    )


def _node_labels(labels: Mapping[str, str], name: str) -> NodeLabels:
    named = tuple(_text(key) for key, value in labels.items() if value == name)
    common = {key: value for key, value in labels.items() if value != name}
    return NodeLabels(_one(common, _shared_texts), _one(named), name)


def _shared_texts(texts: Mapping[str, str]) -> dict[str, str]:
    return {_text(key): _value(value) for key, value in texts.items()}


def shared_labels(labels: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the labels to keep of the pod of that name, which often is one of them and its own then."""
    if not labels:
        return _NO_LABELS
    if name and name in labels.values():
        return {_text(key): name if value == name else _value(value) for key, value in labels.items()}
    texts = _shared_texts(labels)
    pairs = tuple(texts.items())
    return _labels.one(texts, hash(pairs), sum(map(len, chain.from_iterable(pairs))))


def _shared_images(images: tuple[ContainerImage, ...]) -> tuple[ContainerImage, ...]:
    return tuple(map(_one, images))


def _shared_template(template: Pod) -> Pod:
    """Volumes and devices are often all in which bare templates differ; the rest is shared."""
    spec, status = template.spec, template.status
    common_spec = _one(replace(spec, volumes=()))
    common_status = replace(status, resource_claim_statuses=(), extended_resource_claim_status=None)
    # The default itself is left out of encodings, and so of the keys here; what is equal to it isn't.
    common_status = _NO_STATUS if common_status == _NO_STATUS else _one(common_status)
    return Pod(
        _shared_metadata(template.metadata, template.metadata.labels),
        replace(common_spec, volumes=spec.volumes) if spec.volumes else common_spec,
        common_status
        if common_status == status
        else replace(
            common_status,
            resource_claim_statuses=status.resource_claim_statuses,
            extended_resource_claim_status=status.extended_resource_claim_status,
        ),
    )


def _without_unread_volumes(pod: Pod) -> Pod:
    """Drop the volume of the token, which nearly every pod has and whose name is like no other."""
    volumes = pod.spec.volumes
    read = tuple(volume for volume in volumes if replace(volume, name="") != _UNREAD)
    return pod if len(read) == len(volumes) else replace(pod, spec=replace(pod.spec, volumes=read))


def same_template(template: Pod) -> Pod:
    """Return the one bare template that is equal to ``template``, as ``shared`` makes pods of it."""
    return _one(template, _shared_template)


def _shared_node_status(status: NodeStatus) -> NodeStatus:
    return replace(
        status,
        capacity=_one(status.capacity),
        allocatable=_one(status.allocatable),
        images=_one(status.images, _shared_images),
        conditions=_one(status.conditions),
        declared_features=_one(status.declared_features),
    )


def _value(text: str) -> str:
    """Return the string to keep for a value of a label or an annotation; a subclass stays what it is."""
    return _values.one(text, hash(text), len(text)) if type(text) is str else text


def _text(text: str) -> str:
    """Return the one string of this content; a subclass, such as an enumeration's member, stays as it is."""
    return intern(text) if type(text) is str else text


class NodeLabels(Mapping[str, str]):
    """Labels that many nodes share, and those whose value is the node's name, such as its host name.

    Immutable. Equal to a dict with the same labels.

    Args:
        common: The labels that are equal; shared.
        named: The keys of the others; shared.
        name: The node's name.
    """

    __slots__ = ("_common", "_name", "_named")

    def __init__(self, common: dict[str, str], named: tuple[str, ...], name: str) -> None:
        self._common = common
        self._named = named
        self._name = name

    def __getitem__(self, key: str) -> str:
        return self._name if key in self._named else self._common[key]

    def __contains__(self, key: object) -> bool:
        return key in self._common or key in self._named

    def __iter__(self) -> Iterator[str]:
        yield from self._common
        yield from self._named

    def __len__(self) -> int:
        return len(self._common) + len(self._named)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NodeLabels):
            mine, theirs = (self._common, self._named), (other._common, other._named)
            if mine == theirs:
                return self._name == other._name or not self._named
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as of a dict

    def __repr__(self) -> str:
        return repr(dict(self))
