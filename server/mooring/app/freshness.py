"""Whether the state is young enough to act upon."""

from __future__ import annotations

import time

from mooring.cluster.sources import Source
from mooring.framework.handle import Leadership

LOOK_SECONDS = 0.1
"""Between two looks at the state's age at most: finding out costs more than a pod should."""


class Freshness:
    """How far a source's state may be behind the cluster. Safe from any thread.

    Args:
        source: Where the state comes from.
        max_staleness: The seconds that it may be behind.
    """

    def __init__(self, source: Source, max_staleness: float) -> None:
        self._source = source
        self._max_staleness = max_staleness

    @property
    def seconds_left(self) -> float:
        """For how long the state stays young enough if nothing more is heard; negative once it is not."""
        return self._max_staleness - self._source.staleness

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
    """Leadership that counts only while the state is fresh. Safe from any thread.

    The state's age is read now and then and extrapolated, which is exact: an age only grows with time.

    Attributes:
        election: Whether this process leads, whatever the state's age.
        freshness: Whether the state is recent enough to decide upon.
    """

    def __init__(self, election: Leadership, freshness: Freshness) -> None:
        self.election = election
        self.freshness = freshness
        self._fresh = False
        self._look_at = 0.0

    def is_leader(self) -> bool:
        """Return whether this process leads, by a state that is young enough to decide upon."""
        now = time.monotonic()
        if now >= self._look_at:
            left = self.freshness.seconds_left
            self._fresh = left >= 0
            self._look_at = now + (min(left, LOOK_SECONDS) if self._fresh else LOOK_SECONDS)
        return self._fresh and self.election.is_leader()

    def leader(self) -> str:
        """Who leads."""
        return self.election.leader()
