"""The changes after which a pod that a followed rule rejected is tried again: those of the rule's reads.

While a pure rule reads the same, it answers the same. Another plugin, which has events of its own, rejected
the nodes that the rule did not see.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mooring.framework import Node, Pod, QueueingHint
from mooring.framework.objects import Measurement
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    COLUMNS,
    COUNTED,
    ENTRY,
    MEASURED,
    NODE,
    NODES,
    OBJECTS,
    OFFERED,
    POD,
    PODS,
    REQUESTED,
    WHOLE,
    Key,
    Reads,
    value_of,
)

_OF_OTHER_PODS = frozenset({REQUESTED, PODS, COUNTED, MEASURED, COLUMNS})
_OF_ALL_NODES = frozenset({NODES, COUNTED, OFFERED, COLUMNS})


def hint(reads: Reads, pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Return whether a change may help ``pod``: it is one of the reads.

    Args:
        reads: All that the rule was seen to read.
        pod: A pod that it rejected.
        old: The object before; None = it is new.
        new: The object after; None = it is gone.
    """
    return QueueingHint.when(not reads.followed or _changes(tuple(reads), pod, old, new))


def _changes(keys: Collection[Key], pod: Pod, old: Any, new: Any) -> bool:
    item = old if new is None else new
    if isinstance(item, Node):
        return _changes_of_node(keys, old, new)
    if not isinstance(item, Pod):
        kind: Any = type(item)
        measured = kind is Measurement and (MEASURED, ENTRY, item.metadata.name) in keys
        return measured or (OBJECTS, kind) in keys or (OBJECTS, WHOLE) in keys
    if item.metadata.uid != pod.metadata.uid:
        return any(key[0] in _OF_OTHER_PODS for key in keys)
    return old is None or new is None or _differ(keys, POD, old, new)


def _changes_of_node(keys: Collection[Key], old: Node | None, new: Node | None) -> bool:
    subjects = {key[0] for key in keys}
    if old is None or new is None:
        return new is not None or not subjects.isdisjoint(_OF_ALL_NODES)
    return (
        _differ(keys, NODE, old, new)
        or COLUMNS in subjects
        or (COUNTED in subjects and old.metadata.labels != new.metadata.labels)
        or (bool(subjects & {ALLOCATABLE, OFFERED}) and old.status.allocatable != new.status.allocatable)
        or (MEASURED in subjects and old.status.addresses != new.status.addresses)
    )


def _differ(keys: Collection[Key], subject: str, old: Pod | Node, new: Pod | Node) -> bool:
    return any(value_of(key[1:])(old) != value_of(key[1:])(new) for key in keys if key[0] == subject)
