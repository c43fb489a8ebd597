"""How long the search on one node may take: no longer than filterTimeout, nor than the caller waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from mooring.framework import Clock
from mooring.framework.deadline import check_deadline
from mooring.plugins.dynamic_resources.search.allocator import AllocationError


class TimedOutError(AllocationError):
    """The search took too long."""


def deadline(timeout: timedelta | None, clock: Clock) -> Callable[[], None]:
    """``check_deadline``, which also raises ``TimedOutError`` once ``timeout`` has passed from now on.

    None or 0 = never.
    """
    if not timeout:
        return check_deadline
    end = clock.monotonic() + timeout.total_seconds()

    def check() -> None:
        check_deadline()
        if clock.monotonic() > end:
            raise TimedOutError("timed out trying to allocate devices")

    return check
