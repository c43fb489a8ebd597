"""Important pods first. Mirrors ``plugins/queuesort/priority_sort.go``."""

from __future__ import annotations

from mooring.framework import Pod, QueueSortPlugin
from mooring.framework.upstream import Upstream


class PrioritySort(QueueSortPlugin[None]):
    """Higher priority first; among equals the one that was queued earlier. No priority counts as 0."""

    name = "PrioritySort"
    upstream = Upstream()

    def less(self, first: Pod, first_queued: float, second: Pod, second_queued: float) -> bool:
        return (-(first.spec.priority or 0), first_queued) < (-(second.spec.priority or 0), second_queued)
