"""Limits that clients share: places, sessions, bytes. No client can use up a limit alone."""

from __future__ import annotations

from collections.abc import Hashable


class Shares:
    """An amount of something, and how much of it each client has. Not thread-safe: its owner has a lock.

    A client has three quarters at most, so that some is left for others.

    Args:
        total: The amount, 1 or more.

    Attributes:
        total: As given.
        most: The most for one client.
        taken: The sum of all clients.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.most = total - total // 4
        self.taken = 0
        self._held: dict[Hashable, int] = {}

    def of(self, client: Hashable) -> int:
        """Return what a client has."""
        return self._held.get(client, 0)

    def has_room(self, client: Hashable, amount: int = 1) -> bool:
        """Return whether a client may take so much more now."""
        return self.taken + amount <= self.total and self.of(client) + amount <= self.most

    def take(self, client: Hashable, amount: int = 1) -> None:
        """Count what a client takes; a negative amount is given back."""
        self.taken += amount
        held = self._held.pop(client, 0) + amount
        if held:
            self._held[client] = held

    def greediest(self) -> Hashable:
        """Return the client that has most."""
        return max(self._held, key=self._held.__getitem__, default=None)
