"""How much memory the bodies of all requests together may take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final

from mooring.framework.errors import ResourceExhaustedError
from mooring.framework.memory import share_of_memory
from mooring.serving.shares import Shares, level_of

_SHARE: Final = 8
"""A call takes several times its body: as it came, as a message, as objects, and what is remembered."""

_MAX_BYTES: Final = 512 * 2**20

PAUSE_SECONDS: Final = 1.0
"""After this, a call whose body found no room should be repeated."""

FREE_BYTES: Final = 256 * 2**10
"""So much of each body is not counted: a small one is read however much memory others take."""


def body_budget_bytes() -> int:
    """Return what all bodies together may take by default: an eighth of the memory, 512 MiB at most."""
    return share_of_memory(_SHARE, _MAX_BYTES)


class MemoryBudget:
    """Bytes that the bodies of all calls share. Thread-safe.

    A client has one body, or three quarters of the bytes at most, so that it leaves some to others. ``total``
    does not include FREE_BYTES for each body.
    """

    def __init__(self, total: int) -> None:
        self._lock = threading.Lock()
        self.bytes = Shares("bytes of bodies", total)

    @property
    def left(self) -> int:
        """How many are free."""
        return self.bytes.total - self.bytes.taken

    def take(self, client: Hashable, size: int, taken: int) -> None:
        """Take bytes for a body of ``client`` that has ``taken`` some before. Raises ResourceExhaustedError
        if too few are left for now.
        """
        with self._lock:
            alone = self.bytes.of(client) == taken and size <= self.left
            if alone or self.bytes.has_room(client, size):
                self.bytes.take(client, size)
                return
            self.bytes.rejections[level_of(client)] += 1
        raise ResourceExhaustedError(
            f"the bodies of all calls together take more than {self.bytes.total} bytes, or those of one "
            f"client more than {self.bytes.most}; retry after a pause",
            reason="OVERLOADED",
            retry_seconds=PAUSE_SECONDS,
        )

    def give(self, client: Hashable, size: int) -> None:
        """Give back a share of the budget."""
        with self._lock:
            self.bytes.take(client, -size)


class Share:
    """One call's share of a budget. For one thread. ``client`` returns the client of the call; it is called
    once the body counts.
    """

    __slots__ = ("_budget", "_claimant", "_client", "_taken")

    def __init__(self, budget: MemoryBudget, client: Callable[[], Hashable] = lambda: None) -> None:
        self._budget = budget
        self._client = client
        self._claimant: Hashable = None
        self._taken = 0

    def grow_to(self, size: int) -> None:
        """Take what a body of ``size`` bytes needs. Raises ResourceExhaustedError if that is too much now."""
        more = size - FREE_BYTES - self._taken
        if more > 0:
            if not self._taken:
                self._claimant = self._client()
            self._budget.take(self._claimant, more, self._taken)
            self._taken += more

    def end(self) -> None:
        """Give everything back."""
        if self._taken:
            self._budget.give(self._claimant, self._taken)
            self._taken = 0
