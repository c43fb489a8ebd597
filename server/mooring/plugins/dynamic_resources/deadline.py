"""How long the search on one node may take."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from mooring.framework import Clock
from mooring.plugins.dynamic_resources.allocator import AllocationError


class TimedOutError(AllocationError):
    """The search took too long."""


def deadline(timeout: timedelta | None, clock: Clock) -> Callable[[], None]:
    """A check that raises ``TimedOutError`` once ``timeout`` has passed from now on; none or 0 = never."""
    if not timeout:
        return lambda: None
    end = clock.monotonic() + timeout.total_seconds()

    def check() -> None:
        if clock.monotonic() > end:
            raise TimedOutError("timed out trying to allocate devices")

    return check
