"""Possible nodes for pods that leave theirs, by free amounts and earlier trials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mooring.framework import Int32s, Int64s
from mooring.framework.errors import NotFoundError
from mooring.framework.node_table import NodeTable
from mooring.framework.pod_table import PodBase, PodKind, PodRecord
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from mooring.sessions.pending import ProfileOf

_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
_ROOM = "NodeResourcesFit"
_MUCH = 2**60
"""More than there is of anything."""
_FEW = 8
"""The most nodes that are listed: if more may take a pod, one of them is not its own."""


class Homes:
    """Bounds which nodes may take pods that leave theirs. For one thread, while the cluster stays as it is.

    It never leaves out a node that takes one, but may include others: it checks free resources only.
    """

    def __init__(self, nodes: NodeTable, profile_of: ProfileOf) -> None:
        self._nodes = nodes
        self._profile_of = profile_of
        self._rows: dict[int, frozenset[int] | None] = {}
        self._noted: dict[int, frozenset[int]] = {}
        self._amounts: dict[int, Int64s] = {}

    def elsewhere(self, record: PodRecord) -> bool:
        """Return whether another node may take the pod as long as no other pod leaves one."""
        rows = self._of(record.kind)
        return rows is None or not rows <= {record.row}

    def any_has_room(self, base: PodBase) -> bool:
        """Return whether any node may have room for a pod of a base as long as no pod leaves one."""
        return self._with_room(base) != frozenset()

    def among(self, groups: Sequence[list[PodRecord]], count: int) -> list[list[PodRecord]]:
        """Return which of these may find another node when ``count`` of all their pods leave. The pods of a
        group are of one kind and node; ``count`` is 1 or more.
        """
        rows, room = self._emptied(groups, count - 1)
        fitting: dict[int, frozenset[int]] = {}

        def may_go(record: PodRecord) -> bool:
            key = id(record.kind.base)
            if self.elsewhere(record):
                return True
            if key not in fitting:
                fits = (room >= self._amounts_of(record.kind.base)[:, None]).all(axis=0)
                fitting[key] = frozenset(rows[fits].tolist())
            return not fitting[key] <= {record.row}

        return [records for records in groups if may_go(records[0])]

    def note(self, record: PodRecord, but_for: frozenset[int]) -> None:
        """Note that no node takes a pod of this kind, but for those of these rows, as long as none leaves."""
        rows = self._of(record.kind)
        self._noted[id(record.kind)] = but_for if rows is None else rows & but_for

    def _of(self, kind: PodKind) -> frozenset[int] | None:
        """Return the rows of the nodes that may take a pod of a kind; None = too many to list."""
        noted = self._noted.get(id(kind))
        return self._with_room(kind.base) if noted is None else noted

    def _with_room(self, base: PodBase) -> frozenset[int] | None:
        """Return the rows of the nodes with room for a pod of a base; None = too many to list."""
        key = id(base)
        if key not in self._rows:
            fits = (self._left >= self._amounts_of(base)[:, None]).all(axis=0)
            rows = np.flatnonzero(fits)
            self._rows[key] = frozenset(rows.tolist()) if len(rows) <= _FEW else None
        return self._rows[key]

    @cached_property
    def _left(self) -> Int64s:
        """int64[4, capacity], what nodes have left of the resources."""
        nodes = self._nodes
        columns = [nodes.resource_index[name] for name in _RESOURCES]
        return np.where(nodes.alive, nodes.allocatable[columns] - nodes.requested[columns], -_MUCH)

    def _amounts_of(self, base: PodBase) -> Int64s:
        """Return int64[4], what a node must have left for a pod of a base; less than any has = nothing."""
        key = id(base)
        if key not in self._amounts:
            requests = {**dict(base.usage.requests), PODS: 1}
            amounts = [requests.get(name) or 1 - _MUCH for name in _RESOURCES]
            try:
                checked = any(each.name == _ROOM for each in self._profile_of(base.template).filter)
            except NotFoundError:
                amounts, checked = [_MUCH] * len(_RESOURCES), True
            self._amounts[key] = np.array(amounts if checked else [1 - _MUCH] * len(_RESOURCES), np.int64)
        return self._amounts[key]

    def _emptied(self, groups: Sequence[list[PodRecord]], count: int) -> tuple[Int32s, Int64s]:
        """Return the pods' rows, and int64[4, rows], what these have left at most without ``count`` pods."""
        leaving: dict[int, list[Int64s]] = {}
        for records in groups if count else ():
            amounts = np.maximum(self._amounts_of(records[0].kind.base), 0)
            leaving.setdefault(records[0].row, []).extend([amounts] * min(count, len(records)))
        rows = np.array(list(leaving), np.int32)
        freed = [np.sort(np.array(each), axis=0)[-count:].sum(axis=0) for each in leaving.values()]
        return rows, self._left[:, rows] + np.array(freed, np.int64).reshape(-1, len(_RESOURCES)).T
