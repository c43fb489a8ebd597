"""The deadline of the decision that a plugin works for: loops over what others wrote look at it.

A pod may have ten thousands of resources or terms, and a claim's search any length. Nothing can stop a thread
from outside, so code that loops checks whether the caller still waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

LOOK_EVERY = 8
"""After how many rounds ``timely`` looks: one over the columns of 5,000 nodes takes some 10 microseconds."""


def _in_no_hurry() -> None:
    """There is no deadline."""


class _Running(threading.local):
    check: Callable[[], None] = staticmethod(_in_no_hurry)


RUNNING = _Running()
"""For the runtime: the ``check`` of the decision for which this thread runs a plugin."""


def check_deadline() -> None:
    """Go on only if the caller still waits for the decision; takes some 100 ns, never blocks.

    For plugins with a loop whose rounds take long. Outside of a plugin's call it does nothing.

    Raises:
        DeadlineExceededError: It doesn't; a plugin lets that pass.
    """
    RUNNING.check()


def timely(items: Collection[T]) -> Iterable[T]:
    """``items`` as they are, with ``check_deadline`` now and then; costs nothing for few.

    For loops over what a pod or another object lists, however long it is.
    """
    return items if len(items) <= LOOK_EVERY else _looking(items)


def _looking(items: Iterable[T]) -> Iterator[T]:
    for at, item in enumerate(items):
        if at % LOOK_EVERY == 0:
            RUNNING.check()
        yield item
