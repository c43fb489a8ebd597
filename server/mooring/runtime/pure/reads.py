"""The keys under which reads are noted, and what they mean to the cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from mooring.framework import Aspect, CycleState, Dependencies, Int64s, Part, Pod, Snapshot, hashable
from mooring.framework.measurements import NodeMeasurements
from mooring.framework.node_table import PODS_ROW
from mooring.framework.objects import Measurement, Object
from mooring.framework.pod_counter import PodCounter
from mooring.framework.view import NodesChangedError

Key = tuple[Hashable, ...]
"""A place that is read: the subject (``POD``, ``NODE``, ...), then the path from there."""

POD = "pod"
NODE = "node"
ALLOCATABLE, REQUESTED = "allocatable", "requested"
"""The amounts that a node offers, and those that its pods request, by resource."""
OFFERED = "offered"
"""Which resources any node offers: the others are in no node's amounts."""
PODS = "pods"
"""The pods on a node."""
MEASURED = "measured"
"""The measured values of a node, by name."""
MEASUREMENTS = "measurements"
"""The version of all measurements."""
COUNTED = "counted"
"""The pods that a ``PodCounter`` counts for the pod in a node's domain."""
STATE = "state"
"""The plugin's CycleState."""
OBJECTS = "objects"
"""Objects that are neither pods nor nodes, by kind."""
NODES = "nodes"
"""Which nodes there are."""
COLUMNS = "columns"
"""A column of the tables."""

ENTRY, WHOLE, PRESENT = "[]", "*", "?"
"""The steps of a path that aren't fields: one entry of a mapping, all there is, whether there is anything."""

MAX_ENTRIES = 256
"""A plugin that reads more entries of one mapping isn't followed: each new one costs its answers."""

_OWN = frozenset({"name", "uid", "resource_version", "creation_timestamp"})
"""The fields of metadata that no two objects have in common."""

_ALIKE_IN_SHAPE = frozenset({"tolerations", "node_selector", "priority", "scheduler_name", "host_network"})
"""Fields of a pod's spec that are equal in pods that differ in an ``Aspect`` alone."""

_encode = msgspec.msgpack.Encoder().encode
_PLAIN = (str, bytes, type(None))


class NotFollowedError(Exception):
    """A plugin can't be followed; the message names the cause."""


def noted(value: object) -> Hashable:
    """Return ``value`` as it is compared: values that a plugin may tell apart differ.

    Raises:
        NotFollowedError: It has no value to compare.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind in (int, bool, float):
        return kind.__name__, value
    try:
        return kind.__name__, _encode(value)
    except (TypeError, ValueError, UnicodeEncodeError, RecursionError) as error:
        raise NotFollowedError(f"reads a {kind.__name__}, which can't be compared: {error}") from None


def written(key: Key) -> str:
    """Return ``key`` as people write it: ``pod.metadata.labels[app]``."""
    text = str(key[0])
    steps = iter(key[1:])
    for step in steps:
        if isinstance(step, PodCounter):
            text += f"[{step.label} by {step.topology}]"
        elif step == ENTRY:
            text += f"[{next(steps)}]"
        elif step not in (WHOLE, PRESENT):
            text += f".{getattr(step, '__name__', step)}"
    return text


class Reads:
    """All that a plugin was seen to read. Safe from any thread.

    Args:
        complete: Whether it reads nothing but what is noted first.

    Attributes:
        followed: Whether its answers can be kept by the values read.
        number: Changes whenever it reads something that it did not read before, or is followed no more.
        aspects: The aspects of pods that it reads.
        labels: The labels of pods that it reads by key.
    """

    def __init__(self, *, complete: bool = False) -> None:
        self.followed = True
        self.number = 0
        self._complete = complete
        self.aspects = Aspect.NONE
        self.labels: frozenset[str] = frozenset()
        self._parts = Part.NONE
        self._counters: tuple[PodCounter, ...] = ()
        self._kinds: tuple[type[Object], ...] | None = ()
        self._pod: tuple[Callable[[Pod], object], ...] = ()
        self._keys: dict[Key, None] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._keys))

    def note(self, keys: Iterable[Key], beyond: Part = Part.NONE) -> None:
        """Note that it read ``keys``, and parts ``beyond``.

        Raises:
            NotFollowedError: It reads something that can't be followed.
        """
        known = self._keys
        new = [key for key in keys if key not in known]
        if not new and beyond in self._parts:
            return
        with self._lock:
            self._parts |= beyond
            for key in new:
                self._add(key)
            self.number += 1

    def begin_anew(self) -> None:
        """Use nothing that was cached up to now: the plugin answers otherwise from now on."""
        with self._lock:
            self.number += 1

    def stop(self) -> None:
        """Follow the plugin no more."""
        with self._lock:
            self.followed = False
            self.number += 1

    def dependencies(self, pod: Pod) -> Dependencies:
        """Return what the answers about ``pod`` depend on, as far as it was seen."""
        if not self.followed:
            return Dependencies()
        signature = hashable(*[value(pod) for value in self._pod])
        parts, counters = self._parts, self._counters
        if counters and Part.OTHER_NODES not in parts:
            parts |= Part.OTHER_NODES
        else:
            counters = ()
        return Dependencies(
            signature=signature,
            parts=parts,
            kinds=self._kinds,
            counters=counters,
            seen_so_far=not self._complete,
        )

    def _add(self, key: Key) -> None:
        subject, path = key[0], key[1:]
        if _tells_apart(subject, path):
            raise NotFollowedError(f"reads {written(key)}, which no two objects have in common")
        if ENTRY in path and sum(other[: len(key) - 1] == key[:-1] for other in self._keys) >= MAX_ENTRIES:
            raise NotFollowedError(f"reads more than {MAX_ENTRIES} entries of {written(key[:-2])}")
        self._keys[key] = None
        if subject == POD:
            self._pod += (value_of(path),)
            self.aspects |= _aspects(path)
            if path[:3] == ("metadata", "labels", ENTRY):
                self.labels |= {str(path[3])}
        elif subject in (OBJECTS, MEASURED):
            kind = Measurement if subject == MEASURED else path[0]
            self._parts |= _PARTS_OF[subject]
            if self._kinds is not None:
                self._kinds = (*self._kinds, kind) if isinstance(kind, type) else None
        elif subject == COLUMNS:
            self._parts |= _PARTS_OF_COLUMNS.get(path[0], _ANY_COLUMN)
        else:
            self._parts |= _PARTS_OF[subject]
            if subject == COUNTED:
                self._counters = (*self._counters, path[0])  # type: ignore[arg-type] # the counter
            if subject == NODE and path[:2] in (("status", "images"), ("status", WHOLE)):
                self._parts |= Part.IMAGES


_PARTS_OF: Mapping[Hashable, Part] = {
    NODE: Part.NODES_BUT_IMAGES,
    # With the nodes, since answers by resources alone are expected to be those of a compiled pass.
    ALLOCATABLE: Part.RESOURCES | Part.NODES_BUT_IMAGES,
    REQUESTED: Part.RESOURCES | Part.NODES_BUT_IMAGES,
    PODS: Part.PODS,
    OBJECTS: Part.OBJECTS,
    # A value measured over a time is corrected for the pods that came since.
    MEASURED: Part.OBJECTS | Part.RESOURCES | Part.NODES_BUT_IMAGES,
    NODES: Part.NODES_BUT_IMAGES,
    OFFERED: Part.NODES_BUT_IMAGES,
    COUNTED: Part.PODS | Part.NODES_BUT_IMAGES,
    STATE: Part.NONE,
}

_PARTS_OF_COLUMNS: Mapping[Hashable, Part] = {
    **dict.fromkeys(
        ("alive", "capacity", "epoch", "index", "label_keys", "names", "row_epoch", "rows", "taint_set"),
        Part.NODES_BUT_IMAGES,
    ),
    **dict.fromkeys(("taint_sets", "unschedulable", "version_but_images"), Part.NODES_BUT_IMAGES),
    **dict.fromkeys(("image_set", "image_set_nodes", "images"), Part.NODES | Part.OTHER_NODES),
    **dict.fromkeys(("allocatable", "requested", "non_zero_requested"), Part.RESOURCES),
    **dict.fromkeys(("by_position", "resource_index"), Part.RESOURCES),
    **dict.fromkeys(("classes", "claim_users", "ports", "records", "records_on", "with_storage"), Part.PODS),
    **dict.fromkeys(("affinities", "with_most_terms"), Part.AFFINITIES),
    "lock": Part.NONE,
}
_ANY_COLUMN = Part.NODES | Part.RESOURCES | Part.PODS | Part.AFFINITIES


def _tells_apart(subject: Hashable, path: Key) -> bool:
    """Return whether ``path`` leads to something that no two objects have in common."""
    if subject == POD:
        return (path[0] == "metadata" and path[1] in _OWN) or path in ((WHOLE,), ("metadata", WHOLE))
    # A node's name stays, and each row has one.
    return subject == NODE and path in ((WHOLE,), ("metadata", WHOLE), ("metadata", "resource_version"))


def _aspects(path: Key) -> Aspect:
    if path[:2] == ("metadata", "labels"):
        return Aspect.SELECTED_LABELS if ENTRY in path else Aspect.LABELS
    if path[0] == "metadata" or (path[0] == "spec" and path[1] in _ALIKE_IN_SHAPE):
        return Aspect.NONE
    return Aspect.ALL


@lru_cache(MAX_ENTRIES)
def value_of(path: Key) -> Callable[[object], Hashable]:
    """Return a function that returns the value at ``path`` of an object, as it is noted; None without one."""
    if ENTRY in path:
        at = path.index(ENTRY)
        mapping, name = attrgetter(".".join(map(str, path[:at]))), path[at + 1]

        def entry(item: object) -> Hashable:
            return noted(mapping(item).get(name))

        return _safe(entry)
    if path[-1] == WHOLE:
        whole = attrgetter(".".join(map(str, path[:-1])))
        return _safe(lambda item: encoded(whole(item)))
    if path[-1] == PRESENT:
        optional = attrgetter(".".join(map(str, path[:-1])))
        return _safe(lambda item: noted(optional(item) is not None))
    field = attrgetter(".".join(map(str, path)))
    return _safe(lambda item: noted(field(item)))


def _safe(read: Callable[[Any], Hashable]) -> Callable[[Any], Hashable]:
    def value(item: object) -> Hashable:
        try:
            return read(item)
        except AttributeError:
            # An object on the way is absent, which a read before this one has noted.
            return None

    return value


def encoded(value: object) -> Hashable:
    """Return all of ``value`` as one that can be compared."""
    if isinstance(value, Mapping):
        return _encode(list(value.items()))
    return _encode(value)


def column_of(key: Key, snapshot: Snapshot) -> Int64s | None:
    """int64[capacity]: the amounts of all rows under ``key``; None unless it is an amount that nodes have."""
    if key[0] not in (ALLOCATABLE, REQUESTED) or key[1] == WHOLE:
        return None
    columns = snapshot.nodes.allocatable if key[0] == ALLOCATABLE else snapshot.nodes.requested
    at = snapshot.nodes.resource_index.get(str(key[2]), -1)
    return columns[at] if 0 <= at < len(columns) else None


def row_reader(key: Key, snapshot: Snapshot) -> Callable[[int], Hashable]:
    """Return a function that returns the value of a row under ``key``, one that is read of nodes.

    It raises NodesChangedError if the node is gone.
    """
    subject, nodes = key[0], snapshot.nodes.nodes
    if subject in (ALLOCATABLE, REQUESTED):
        if key[1] == WHOLE:
            return lambda row: encoded(amounts(snapshot, str(subject), row))
        column = column_of(key, snapshot)
        return (lambda _: None) if column is None else column.item
    if subject == MEASURED:
        return lambda row: measurements(snapshot, row).get(str(key[2]))
    read = value_of(key[1:])

    def value(row: int) -> Hashable:
        node = nodes[row]
        if node is None:
            raise NodesChangedError
        return read(node)

    return value


def measurements(snapshot: Snapshot, row: int) -> NodeMeasurements:
    """Return the measured values of one row, as ``NodeInfo`` has them.

    Raises:
        NodesChangedError: The node is gone.
    """
    table = snapshot.nodes
    node = table.nodes[row]
    if node is None:
        raise NodesChangedError
    return NodeMeasurements(snapshot.objects, node, table.requested.item(PODS_ROW, row))


def amounts(snapshot: Snapshot, subject: str, row: int) -> dict[str, int]:
    """Return the amounts of one row by resource, as ``NodeInfo`` has them."""
    columns = snapshot.nodes.allocatable if subject == ALLOCATABLE else snapshot.nodes.requested
    index = snapshot.nodes.resource_index
    return {name: int(columns[at, row]) for name, at in list(index.items()) if at < len(columns)}


def offered(key: Key, snapshot: Snapshot) -> Hashable:
    """Return whether any node offers the resource of ``key``, or which resources are offered."""
    index = snapshot.nodes.resource_index
    return tuple(index) if key[1] == WHOLE else key[1] in index


def state_value(key: Key, state: CycleState) -> Hashable:
    """Return what the state has under ``key``, as it is noted."""
    value, path = state.get(key[1], object), key[2:]
    if not path:
        return noted(value)
    if not isinstance(value, dict):
        return None
    return encoded(value) if path == (WHOLE,) else noted(value.get(path[1]))
