"""How long everything takes, so that tests can be quick."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timers:
    """Times in seconds.

    Attributes:
        page_size: Objects of one page of a list.
        list_timeout: For one page.
        watch_shortest: The requested timeout of a watch is between this and ``watch_longest``.
        watch_longest: See above; spread, so that not all watches restart at once.
        watch_margin: A watch without a byte for this much longer than that is dead.
        backoff_first: The pause before the first retry; doubled with each failure in a row.
        backoff_longest: At most this much.
        unavailable_retry: At most this long before a kind that the server doesn't have or show is retried.
        probe_timeout: For one of the probes below.
        probe: Between two probes, small requests that show whether the server answers and no event was lost.
        compare: Between two comparisons of everything with a fresh list.
    """

    page_size: int = 500
    list_timeout: float = 60.0
    watch_shortest: float = 300.0
    watch_longest: float = 600.0
    watch_margin: float = 30.0
    backoff_first: float = 0.5
    backoff_longest: float = 3.0
    unavailable_retry: float = 60.0
    probe_timeout: float = 3.0
    probe: float = 2.0
    compare: float = 900.0

    def watch_seconds(self) -> int:
        """Return the timeout to request for one watch; at least 1."""
        return max(round(random.uniform(self.watch_shortest, self.watch_longest)), 1)  # noqa: S311 - no secret

    def backoff(self, failures: int, longest: float | None = None) -> float:
        """Return the pause after ``failures`` in a row, 1 or more: half to all of the doubled pause."""
        most = self.backoff_longest if longest is None else longest
        whole = min(self.backoff_first * 2.0 ** min(failures - 1, 30), most)
        return whole * random.uniform(0.5, 1.0)  # noqa: S311 - as above
