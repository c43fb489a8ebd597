"""The processor time that a search for changes takes at most."""

from __future__ import annotations

import time

from mooring.framework.errors import DeadlineExceededError
from mooring.runtime.answers import Progress

FACTOR = 2.0
"""How many times the limit a step may last that began before it."""


class TimeIsUpError(DeadlineExceededError):
    """The search has taken its processor time."""


class TimeLimit:
    """The progress of a search whose caller gives it some processor time. For the thread that makes it.

    Args:
        progress: The caller's.
        seconds: The processor time after which no step begins; inf = any.
    """

    def __init__(self, progress: Progress, seconds: float) -> None:
        self._progress = progress
        self._begin = time.thread_time()
        self._seconds = seconds

    @property
    def is_over(self) -> bool:
        """Whether no step may begin."""
        return time.thread_time() >= self._begin + self._seconds

    @property
    def may_call_plugins(self) -> bool:
        return self._progress.may_call_plugins

    @property
    def plugin(self) -> str:
        return self._progress.plugin

    @plugin.setter
    def plugin(self, name: str) -> None:
        self._progress.plugin = name

    @property
    def extension_point(self) -> str:
        return self._progress.extension_point

    @extension_point.setter
    def extension_point(self, name: str) -> None:
        self._progress.extension_point = name

    @property
    def answered_by(self) -> str:
        return self._progress.answered_by

    @answered_by.setter
    def answered_by(self, name: str) -> None:
        self._progress.answered_by = name

    def check(self) -> None:
        """Raise TimeIsUpError if the running step lasts too long, and as the caller's progress does."""
        self._progress.check()
        if time.thread_time() >= self._begin + FACTOR * self._seconds:
            raise TimeIsUpError("the time for the search is over")
