"""Work that gives way to others: together it takes a small part of a processor while these have any."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SHARE_BESIDE_OTHERS = 0.03
"""The share of a processor that session slots take while others need it: one thread at a time runs Python."""

MIN_WORK_SECONDS = 0.0005
LONGEST_REST_SECONDS = 0.25
"""Work between two rests of a call, at least, and what is rested for it at most, so that all get on."""

CALL_SECONDS = 0.0075
"""The measured cost of a call for others besides its work: threads are woken and leave the caches cold."""


class Ration:
    """The share of a processor that threads may take together while others need it. Thread-safe. ``others``
    returns whether they have work.
    """

    def __init__(self, others: Callable[[], bool]) -> None:
        self._others = others
        self._lock = threading.Lock()
        self._due = 0.0
        """When all that was worked is rested for, in seconds of ``time.monotonic``."""

    def spend(self, worked: float) -> None:
        """Sleep until the ration allows ``worked`` seconds of processor time and the debt of earlier work."""
        if not self._others():
            return
        with self._lock:
            now = time.monotonic()
            self._due = max(self._due, now) + min(worked / SHARE_BESIDE_OTHERS, LONGEST_REST_SECONDS)
            rest = self._due - now
        time.sleep(rest)


class Rest:
    """Makes one thread sleep after it worked, by the processor time that it took."""

    __slots__ = ("_began", "_ration")

    def __init__(self, ration: Ration) -> None:
        self._ration = ration
        self._began = 0.0

    def begin(self) -> None:
        """Work begins now."""
        self._began = time.thread_time()

    def __call__(self) -> None:
        """Sleep, if it is time to."""
        worked = time.thread_time() - self._began
        if worked >= MIN_WORK_SECONDS:
            self._ration.spend(worked)
            self.begin()

    def end(self) -> None:
        """Sleep for the rest of the work, which has ended, and for the cost of its call."""
        self._ration.spend(time.thread_time() - self._began + CALL_SECONDS)
