"""Work that gives way to others: together it takes a small part of a processor while these have any."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SHARE_BESIDE_OTHERS = 0.03
"""What slots that give way take of a processor while others need it: one thread at a time runs Python."""

MIN_WORK_SECONDS = 0.0005
LONGEST_REST_SECONDS = 0.25
"""Work between two rests of a call, at least, and what is rested for it at most, so that all get on."""

CALL_SECONDS = 0.0075
"""What a call takes from others beside its work, as measured: threads are woken and leave the caches cold."""


class Ration:
    """What threads take together of a processor that others need, too. Thread-safe.

    Args:
        others: Returns whether they have work.
    """

    def __init__(self, others: Callable[[], bool]) -> None:
        self._others = others
        self._lock = threading.Lock()
        self._due = 0.0
        """When all that was worked is rested for, in seconds of `time.monotonic`."""

    def spend(self, worked: float) -> None:
        """Sleep for what ``worked`` seconds of processor time use up of the ration, and what came before."""
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
        """Work has ended: sleep for the rest of it, and for what the call took beside it."""
        self._ration.spend(time.thread_time() - self._began + CALL_SECONDS)
