"""Whether the state is young enough to act upon."""

from __future__ import annotations

import math
import time

from mooring.audit.trail import AuditTrail
from mooring.cluster.sources import Source
from mooring.framework.handle import Leadership


class Freshness:
    """How far a source's state may be behind the cluster. Safe from any thread.

    The state's age is read when it may have become too high, which is exact: an age grows with time at most.
    ``max_staleness`` is in seconds.
    """

    def __init__(self, source: Source, max_staleness: float) -> None:
        self._source = source
        self._max_staleness = max_staleness
        self._fresh_until = -math.inf

    def stale(self) -> str:
        """Why the state may be behind the cluster, or of another one; "" while it is not."""
        if doubt := self._source.doubt:
            return doubt
        now = time.monotonic()
        if now <= self._fresh_until:
            return ""
        staleness = self._source.staleness
        if staleness <= self._max_staleness:
            self._fresh_until = now + self._max_staleness - staleness
            return ""
        return f"{self._source.late} for {staleness:.0f} s"

    def not_ready(self) -> str:
        """Why no decisions can be made yet, or none that count; "" once they can."""
        return self.stale() if self._source.synced else "the state is not complete yet"


class FreshLeadership:
    """Leadership that counts only while the state is fresh and commits are audited. Safe from any thread.

    Attributes:
        election: Whether this process leads, whatever the state's age.
        freshness: Whether the state is recent enough to decide upon.
        audit: Whether commits will be audited, if nothing may be committed otherwise.
    """

    def __init__(self, election: Leadership, freshness: Freshness, audit: AuditTrail) -> None:
        self.election = election
        self.freshness = freshness
        self.audit = audit

    def is_leader(self) -> bool:
        """Return whether this process leads, by a state that is young enough to decide upon."""
        return not self.freshness.stale() and not self.audit.fault() and self.election.is_leader()

    def leader(self) -> str:
        """Who leads."""
        return self.election.leader()
