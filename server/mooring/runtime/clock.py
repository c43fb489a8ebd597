"""The real time."""

from __future__ import annotations

import time


class SystemClock:
    """Implements ``mooring.framework.Clock`` with the machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
