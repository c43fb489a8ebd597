"""The scheduler's end, as what is under way sees it: what has not been sent by then is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


class StoppedError(Exception):
    """The scheduler is stopping: nothing new begins."""


def always() -> bool:
    """Return True."""
    return True


@dataclass(slots=True)
class UntilStopped:
    """Implements ``Progress`` for a binding cycle: it goes on until ``stopping`` is set.

    Attributes:
        stopping: Set when nothing new should begin.
        may_end: Whether the binding may still be given up.
        plugin: Which plugin runs.
        extension_point: The extension point at which it runs.
        answered_by: Stays empty: nothing is decided in a binding cycle.
    """

    stopping: threading.Event
    may_end: Callable[[], bool] = always
    plugin: str = ""
    extension_point: str = ""
    answered_by: str = ""
    may_call_plugins = True

    def check(self) -> None:
        """Go on only before the end.

        Raises:
            StoppedError: It has come.
        """
        if self.stopping.is_set() and self.may_end():
            raise StoppedError
