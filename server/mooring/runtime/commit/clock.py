"""The real clock, and one that is set by hand."""

from __future__ import annotations

import time


class SystemClock:
    """Implements ``mooring.framework.Clock`` with the machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """Implements ``mooring.framework.Clock``; its time passes only when it is set."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    def advance_to(self, seconds: float) -> None:
        """Move the time forward to this; it never goes back."""
        self._seconds = max(self._seconds, seconds)
