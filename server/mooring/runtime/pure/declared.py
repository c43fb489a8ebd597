"""The values that a rule declares to read: how they are written, where they are found, and their columns."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from mooring.framework import Int32s, Int64s, Node, NodeView, Pod, Snapshot, pods_by
from mooring.framework.objects import Object
from mooring.framework.pod_counter import PodCounter
from mooring.framework.pod_requests import pod_usage
from mooring.framework.resources import PODS as PODS_RESOURCE
from mooring.framework.view import NodesChangedError
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    COUNTED,
    ENTRY,
    MEASURED,
    NODE,
    POD,
    REQUESTED,
    WHOLE,
    Key,
    NotFollowedError,
    Reads,
)

ABSENT = int(np.iinfo(np.int64).min)
"""In a column of numbers: there is none."""

PodValue = str | int | None
"""A value of a pod: a text, a number, or none. Objects and lists are JSON documents."""

_WRITTEN = re.compile(r"([A-Za-z.]+)(?:\[([^\]]+)\])?")
_COUNTED = re.compile(r"(\S+) by (\S+)")
_OF_REQUESTS = (
    *[("spec", field) for field in ("containers", "init_containers", "overhead", "resources")],
    ("status",),
)
"""The fields that make up the requests of a pod."""


class DeclarationError(ValueError):
    """Something is declared that can't be read; the message names it."""


class PodField(msgspec.Struct, frozen=True):
    """A value of pods that a rule reads.

    Attributes:
        keys: The keys of its reads.
        value: Returns it.
    """

    keys: tuple[Key, ...]
    value: Callable[[Pod], PodValue]


class NodeColumn(msgspec.Struct, frozen=True):
    """A value of nodes that a rule reads.

    Attributes:
        key: The key of the read.
        value: Returns the text of a node; None if it is a column of numbers.
    """

    key: Key
    value: Callable[[Node], PodValue] | None = None

    def step(self, pod: Pod) -> int:
        """Return by how much the number grows on a node when a pod like ``pod`` comes."""
        if self.key[0] == REQUESTED:
            resource = str(self.key[2])
            return 1 if resource == PODS_RESOURCE else pod_usage(pod).request(resource)
        return int(self.key[0] == COUNTED)


def pod_field(written: str) -> PodField:
    """Return the field that is written so: ``metadata.labels[app]``, ``spec.priority``, ``requests[cpu]``.

    Raises:
        DeclarationError: There is no such field, or no two pods have it in common.
    """
    name, entry = _parted(written)
    if name == "requests" and entry:
        read = tuple([(POD, *field, WHOLE) for field in _OF_REQUESTS])
        return PodField(read, lambda pod: pod_usage(pod).request(entry))
    key, value = _found(POD, Pod, name, entry, written)
    return PodField((key,), value)


def node_column(written: str) -> NodeColumn:
    """Return the column that is written so: ``metadata.labels[rack]``, ``allocatable[cpu]`` and the like.

    Raises:
        DeclarationError: There is no such column.
    """
    name, entry = _parted(written)
    if name in (ALLOCATABLE, REQUESTED, MEASURED) and entry:
        return NodeColumn((name, ENTRY, entry))
    if name == COUNTED:
        labels = _COUNTED.fullmatch(entry or "")
        if labels is None:
            raise DeclarationError(f"{written!r} is not written as counted[LABEL by TOPOLOGY]")
        return NodeColumn((COUNTED, pods_by(label=labels[1], topology=labels[2])))
    key, value = _found(NODE, Node, name, entry, written)
    return NodeColumn(key, value)


def _parted(written: str) -> tuple[str, str | None]:
    parts = _WRITTEN.fullmatch(written)
    if parts is None:
        raise DeclarationError(f"{written!r} is not a path such as metadata.labels[app]")
    return parts[1], parts[2]


def _found(
    subject: str, kind: type[Object], name: str, entry: str | None, written: str
) -> tuple[Key, Callable[[Any], PodValue]]:
    """Return the key and the reader of a path of JSON names in objects of ``kind``."""
    path: list[str] = []
    hint: Any = kind
    for step in name.split("."):
        fields = {each.encode_name: each for each in msgspec.structs.fields(hint)} if _is_object(hint) else {}
        if step not in fields:
            known = ", ".join(sorted(fields)) or "nothing"
            raise DeclarationError(
                f"{written!r} is not read by scheduling: after {path or 'it'} come {known}"
            )
        path.append(fields[step].name)
        hint = _plain_hint(get_type_hints(hint)[fields[step].name])
    mapping = (get_origin(hint) or hint) not in (str, int, bool, float, tuple) and not _is_object(hint)
    if entry is not None and not mapping:
        raise DeclarationError(f"{written!r}: {name} has no entries by name")
    read = attrgetter(".".join(path))
    if entry is not None:
        return (subject, *path, ENTRY, entry), partial(_value, lambda item: read(item).get(entry))
    whole = mapping or _is_object(hint) or get_origin(hint) is tuple
    return (subject, *path, WHOLE) if whole else (subject, *path), partial(_value, read)


def _is_object(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Object)


def _plain_hint(hint: Any) -> Any:
    """Return the type that is there if there is anything."""
    if get_origin(hint) in (Union, UnionType):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _value(read: Callable[[Any], Any], item: Any) -> PodValue:
    try:
        found = read(item)
    except AttributeError:
        # An object on the way is absent.
        return None
    if found is None or type(found) in (str, int):
        return found  # type: ignore[no-any-return] # a text or a number
    return msgspec.json.encode(found).decode()


def declared_reads(fields: Sequence[PodField], columns: Sequence[NodeColumn]) -> Reads:
    """Return ``fields`` and ``columns`` as reads, which are all there will be.

    Raises:
        DeclarationError: One is such that no answer could be kept.
    """
    reads = Reads(complete=True)
    keys = [key for field in fields for key in field.keys] + [column.key for column in columns]
    counted = [column.key[1].label for column in columns if isinstance(column.key[1], PodCounter)]
    keys += [(POD, "metadata", "labels", ENTRY, label) for label in counted]
    try:
        reads.note(dict.fromkeys(keys))
    except NotFollowedError as error:
        raise DeclarationError(str(error)) from None
    return reads


class Texts:
    """The texts of a column, numbered from 1. Safe from any thread."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def number(self, text: PodValue) -> int:
        """Return the number of ``text``; 0 = there is none."""
        if text is None:
            return 0
        text = str(text)
        found = self._numbers.get(text)
        if found is None:
            with self._lock:
                if text not in self._numbers:
                    self.values.append(text)
                    self._numbers[text] = len(self.values)
                found = self._numbers[text]
        return found


def column_of(
    column: NodeColumn,
    snapshot: Snapshot,
    rows: Int32s,
    texts: Texts,
    counts: Callable[[PodCounter], Int64s],
) -> Int64s:
    """int64[K]: the values of ``rows``: numbers, ``ABSENT`` without one; or the numbers of texts.

    Raises:
        NodesChangedError: A node is gone.
    """
    subject, table = column.key[0], snapshot.nodes
    if column.value is not None:
        if column.key[:4] == (NODE, "metadata", "labels", ENTRY):
            return _labels(snapshot, str(column.key[4]), rows, texts)
        nodes = [table.nodes[row] for row in rows.tolist()]
        if None in nodes:
            raise NodesChangedError
        return np.array([texts.number(column.value(node)) for node in nodes], np.int64)
    if subject == COUNTED:
        return counts(column.key[1])[rows]  # type: ignore[arg-type] # the counter
    view = NodeView(snapshot, rows)
    if subject == MEASURED:
        values, there = view.measured(str(column.key[2]))
        return np.where(there, values, ABSENT)
    resource = str(column.key[2])
    return view.allocatable(resource) if subject == ALLOCATABLE else view.requested(resource)


def _labels(snapshot: Snapshot, label: str, rows: Int32s, texts: Texts) -> Int64s:
    # Ids mean other values in a fork, and once the column is built again: a text has its own number.
    column = snapshot.nodes.label(label)
    ids = column.ids[rows]
    numbers = np.zeros(int(ids.max(initial=0)) + 1, np.int64)
    present = np.flatnonzero(np.bincount(ids))
    numbers[present] = [texts.number(column.values[each]) if each else 0 for each in present.tolist()]
    return numbers[ids]


def distinct(matrix: Int64s) -> tuple[Int64s, Int64s]:
    """int64[U], int64[K]: where each distinct column of ``matrix`` (int64[C, K]) is first, and which of these
    each column equals.
    """
    count = matrix.shape[1]
    sizes = (matrix.max(axis=1, initial=0) + 1).tolist()
    if math.prod(sizes) <= count and matrix.min(initial=0) >= 0:
        return _distinct_of_few(np.ravel_multi_index(tuple(matrix), sizes), math.prod(sizes))
    mixed = np.zeros(count, np.uint64)
    for row in matrix:
        mixed = (mixed ^ row.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed, kind="stable")
    new = np.ones(count, np.bool_)
    new[1:] = mixed[order[1:]] != mixed[order[:-1]]
    first, which = order[new], np.empty(count, np.int64)
    which[order] = np.cumsum(new) - 1
    if not np.array_equal(matrix[:, first[which]], matrix):
        # Two that differ are mixed to the same.
        return np.arange(count), np.arange(count)
    return first, which


def _distinct_of_few(numbers: Int64s, size: int) -> tuple[Int64s, Int64s]:
    """Return what ``distinct`` does of ``numbers`` (int64[K], below ``size``), without sorting them."""
    first = np.full(size, -1)
    # The last one that is written stays.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    present = np.flatnonzero(first >= 0)
    places = np.zeros(size, np.int64)
    places[present] = np.arange(len(present))
    return first[present], places[numbers]
