"""Limits that clients share: places, sessions, bytes. No client and no role can use up a limit alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple


class Level(Enum):
    """A group of clients by their roles, if a policy gives them roles; its value is that in metrics."""

    CHANGING = "changing"
    """Clients that may reserve, bind or push."""
    ASKING = "asking"
    """Clients that only ask."""


KEPT: Final[Mapping[Level, int]] = MappingProxyType({Level.CHANGING: 4, Level.ASKING: 8})
"""One part in this many is kept for an idle level. The others may borrow the rest."""

WEIGHTS: Final[Mapping[Level, int]] = MappingProxyType({Level.CHANGING: 2, Level.ASKING: 1})
"""How levels that wait for a limit share it."""


class Claimant(NamedTuple):
    """A client with a level, for limits."""

    client: Hashable
    level: Level


def level_of(client: Hashable) -> Level | None:
    """Return a client's level; None = no policy gives it one."""
    return client.level if isinstance(client, Claimant) else None


class Shares:
    """An amount of something, and how much of it each client has. Not thread-safe: its owner has a lock.

    A client has three quarters at most, so that some is left for others. A level borrows what others leave
    idle, but for a part that is kept for each. Mirrors the model of API Priority and Fairness.

    Args:
        total: The amount, 1 or more.

    Attributes:
        most: The most for one client.
        taken: The sum of all clients.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.most = total - total // 4
        self.taken = 0
        self._held: dict[Hashable, int] = {}
        self._by_level: Counter[Level] = Counter()

    def of(self, client: Hashable) -> int:
        """Return what a client has."""
        return self._held.get(client, 0)

    def of_level(self, level: Level | None) -> int:
        """Return what the clients of a level have; None = those without one."""
        return self.taken - self._by_level.total() if level is None else self._by_level[level]

    def has_room(self, client: Hashable, amount: int = 1) -> bool:
        """Return whether a client may take so much more now."""
        left = self.total - self.taken - self._kept_from(client)
        return amount <= left and self.of(client) + amount <= self.most

    def take(self, client: Hashable, amount: int = 1) -> None:
        """Count what a client takes; a negative amount is given back."""
        self.taken += amount
        held = self._held.pop(client, 0) + amount
        if held:
            self._held[client] = held
        level = level_of(client)
        if level is not None:
            self._by_level[level] += amount

    def greediest(self) -> Hashable:
        """Return the client that has most."""
        return max(self._held, key=self._held.__getitem__, default=None)

    def order(self, client: Hashable) -> tuple[float, int]:
        """Return the key by which waiting clients are ordered: by their levels' shares, then by their own."""
        level = level_of(client)
        return 0.0 if level is None else self._by_level[level] / WEIGHTS[level], self.of(client)

    def _kept_from(self, client: Hashable) -> int:
        """Return what is kept for the other levels."""
        own = level_of(client)
        if own is None:
            return 0
        return sum(
            max(0, self.total // part - self._by_level[level])
            for level, part in KEPT.items()
            if level is not own
        )
