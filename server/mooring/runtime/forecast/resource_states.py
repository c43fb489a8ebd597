"""Resource states that nodes would be in: after one more pod, and shown to plugins on scratch nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import Int32s, NodeTable
from mooring.framework.node_table import PODS_ROW
from mooring.framework.pod_requests import PodUsage
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker


def state_after(tracker: ChangeTracker, resource_id: int, usage: PodUsage, table: NodeTable) -> int:
    """Return the id that rows with ``resource_id`` have once a pod takes ``usage``.

    ``table`` is that of the state. The caller holds the state's lock. Raises NotCachedError if columns have
    other meanings by now.
    """
    if table.resource_index is not tracker.resource_index:
        raise NotCachedError(Bypass.RESOURCES)
    amounts, width = np.frombuffer(tracker.key_of(resource_id), np.int64).copy(), len(table.requested)
    requested, non_zero = amounts[width : 2 * width], amounts[2 * width :]
    requested[PODS_ROW] += 1
    for position, amount in table.by_position(usage.requests):
        requested[position] += amount
    non_zero += (usage.non_zero_cpu, usage.non_zero_memory)
    after = tracker.id_of(amounts.tobytes())
    tracker.note_next(resource_id, after, usage)
    return after


def show_states(tracker: ChangeTracker, resource_ids: Sequence[int], table: NodeTable, rows: Int32s) -> None:
    """Give ``rows`` of ``table``, a scratch copy, the resource states with these ids.

    The caller holds the state's lock. Raises NotCachedError if columns have other meanings by now.
    """
    width = len(table.allocatable)
    keys = b"".join(map(tracker.key_of, resource_ids))
    if len(keys) != len(rows) * (2 * width + 2) * table.allocatable.itemsize:
        raise NotCachedError(Bypass.RESOURCES)
    resources = np.frombuffer(keys, np.int64).reshape(len(rows), -1).T
    table.allocatable[:, rows] = resources[:width]
    table.requested[:, rows] = resources[width : 2 * width]
    table.non_zero_requested[:, rows] = resources[2 * width :]
