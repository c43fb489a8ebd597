"""The deadline of the decision that a plugin works for, checked while iterating untrusted input.

A pod may have ten thousands of resources or terms, and a claim's search any length. Nothing can stop a thread
from outside, so code that loops checks whether the caller still waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from mooring.framework.objects import Pod

T = TypeVar("T")
Payer = Callable[[], Pod | None]
"""Finds the pod whose requests cause most of the work; None = it is gone."""

LOOK_EVERY = 8
"""The number of rounds after which ``timely`` checks: one over 5,000 nodes' columns takes some 10
microseconds."""


def _in_no_hurry() -> None:
    """There is no deadline."""


class _Running(threading.local):
    check: Callable[[], None] = staticmethod(_in_no_hurry)
    charge_others: Callable[[Payer], AbstractContextManager[object]] = staticmethod(lambda _: nullcontext())


RUNNING = _Running()
"""The ``check`` of the decision for which this thread runs a plugin, and the work of
``at_others_expense``."""


def at_others_expense(payer: Payer) -> AbstractContextManager[object]:
    """Enter for work that placed pods' requests cause: an attempt of the scheduler to place another one is
    not charged for it, and reports the pod to blame if it takes long. A caller's deadline still holds.
    """
    return RUNNING.charge_others(payer)


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
