"""Important pods first. Mirrors ``plugins/queuesort/priority_sort.go``."""

from __future__ import annotations

from mooring.framework import Pod, QueueSortPlugin
from mooring.framework.batch import KeyedSort
from mooring.framework.upstream import Upstream


class PrioritySort(QueueSortPlugin[None], KeyedSort):
    """Higher priority first; among equals the one that was queued earlier. No priority counts as 0."""

    name = "PrioritySort"
    upstream = Upstream()

    def less(self, first: Pod, first_queued: float, second: Pod, second_queued: float) -> bool:
        return self.sort_key(first, first_queued) < self.sort_key(second, second_queued)

    def sort_key(self, pod: Pod, queued: float) -> tuple[int, float]:
        return -(pod.spec.priority or 0), queued
