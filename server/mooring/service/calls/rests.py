"""Rests of threads whose work gives way to that of others."""

from __future__ import annotations

import time
from collections.abc import Callable

SHARE_BESIDE_OTHERS = 0.04
"""What slots that give way take of a processor while others need it: one thread at a time runs Python."""

MIN_WORK_SECONDS = 0.0005
LONGEST_REST_SECONDS = 0.25
"""Work between two rests of a call, at least, and a rest at most."""

CALL_SECONDS = 0.00025
"""What a call takes beside its work: threads are woken, and bytes become messages."""


class Rest:
    """Makes a thread sleep after it worked, for as long as others have work, too."""

    __slots__ = ("_began", "_others", "_times")

    def __init__(self, others: Callable[[], bool], threads: int) -> None:
        self._others = others
        self._times = threads / SHARE_BESIDE_OTHERS - 1
        self._began = 0.0

    def begin(self) -> None:
        """Work begins now."""
        self._began = time.perf_counter()

    def __call__(self) -> None:
        """Sleep, if it is time to."""
        worked = time.perf_counter() - self._began
        if worked >= MIN_WORK_SECONDS:
            self._sleep(worked)

    def end(self) -> None:
        """Work has ended: sleep for the rest of it, and for what the call took beside it."""
        self._sleep(time.perf_counter() - self._began + CALL_SECONDS)

    def _sleep(self, worked: float) -> None:
        if self._others():
            time.sleep(min(worked * self._times, LONGEST_REST_SECONDS))
            self.begin()
