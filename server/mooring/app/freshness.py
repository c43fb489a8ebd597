"""Whether the state is young enough to act upon."""

from __future__ import annotations

import time

from mooring.cluster.sources import Source
from mooring.framework.handle import Leadership

LOOK_SECONDS = 0.1
"""Between two looks whether the state is young enough: finding out costs more than a pod should."""


class Freshness:
    """How far a source's state may be behind the cluster. Safe from any thread.

    Args:
        source: Where the state comes from.
        max_staleness: How many seconds it may be behind.
    """

    def __init__(self, source: Source, max_staleness: float) -> None:
        self._source = source
        self._max_staleness = max_staleness

    @property
    def holds(self) -> bool:
        """Whether the state is young enough."""
        return self._source.staleness <= self._max_staleness

    def stale(self) -> str:
        """Why the state may be behind the cluster; "" while it is not."""
        staleness = self._source.staleness
        if staleness <= self._max_staleness:
            return ""
        return f"nothing was heard of the cluster for {staleness:.0f} s"

    def not_ready(self) -> str:
        """Why no decisions can be made yet, or none that count; "" once they can."""
        return self.stale() if self._source.synced else "the state is not complete yet"


class FreshLeadership:
    """Leadership that counts only while the state is fresh; that is looked at now and then.

    Args:
        leadership: Whether this process leads.
        freshness: Whether the state is young enough to decide upon.
    """

    def __init__(self, leadership: Leadership, freshness: Freshness) -> None:
        self._leadership = leadership
        self._freshness = freshness
        self._fresh = False
        self._look_at = 0.0

    def is_leader(self) -> bool:
        """Whether this process leads, by a state that is young enough to decide upon."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            self._fresh = self._freshness.holds
        return self._fresh and self._leadership.is_leader()

    def leader(self) -> str:
        """Who leads."""
        return self._leadership.leader()
