"""How much memory the bodies of all requests together may take."""

from __future__ import annotations

import threading
from typing import Final

from mooring.framework.errors import ResourceExhaustedError
from mooring.framework.memory import share_of_memory

_SHARE: Final = 8
"""A call takes several times its body: as it came, as a message, as objects, and what is remembered."""

_MAX_BYTES: Final = 512 * 2**20

FREE_BYTES: Final = 256 * 2**10
"""So much of each body is not counted: a small one is read however much memory others take."""


def body_budget_bytes() -> int:
    """Return what all bodies together may take by default: an eighth of the memory, 512 MiB at most."""
    return share_of_memory(_SHARE, _MAX_BYTES)


class MemoryBudget:
    """Bytes that the bodies of all calls share. Thread-safe.

    Args:
        total: How many there are, beside FREE_BYTES for each body.
    """

    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self._total = self._left = total

    def take(self, size: int) -> None:
        """Take bytes for one body. Raises ResourceExhaustedError if too few are left for now."""
        with self._lock:
            if size <= self._left:
                self._left -= size
                return
        raise ResourceExhaustedError(
            f"the bodies of all calls together take more than {self._total} bytes; retry after a pause",
            reason="OVERLOADED",
        )

    def give(self, size: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._left += size


class Share:
    """One call's share of a budget. For one thread."""

    __slots__ = ("_budget", "_taken")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._taken = 0

    def grow_to(self, size: int) -> None:
        """Take what a body of ``size`` bytes needs. Raises ResourceExhaustedError if that is too much now."""
        more = size - FREE_BYTES - self._taken
        if more > 0:
            self._budget.take(more)
            self._taken += more

    def end(self) -> None:
        """Give everything back."""
        if self._taken:
            self._budget.give(self._taken)
            self._taken = 0
