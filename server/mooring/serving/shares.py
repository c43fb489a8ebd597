"""Limits that clients share: places, sessions, bytes. No client and no role can use up a limit alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric


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
        limit: The name of the shared things, in the plural, for metrics.
        total: The amount, 1 or more.

    Attributes:
        most: The most for one client.
        taken: The sum of all clients.
        rejections: How often a client got no more, by level; its owner counts.
    """

    def __init__(self, limit: str, total: int) -> None:
        self.limit = limit
        self.total = total
        self.most = total - total // 4
        self.taken = 0
        self.rejections: Counter[Level | None] = Counter()
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


HALF_LIFE_SECONDS: Final = 5.0
"""After this, a second of a processor counts as half a second."""
MOST_CLIENTS: Final = 1024
"""Clients whose processor time is known. The others have used none."""
_MOST_HALVES: Final = 500.0
"""After this many half-lives a second is worth 1 again. A float overflows at twice as many."""


class ProcessorShares:
    """The processor time of clients in the last seconds. Not thread-safe: its owner has a lock.

    Attributes:
        seconds: The processor time since the start, by level.
    """

    def __init__(self) -> None:
        self.seconds: dict[Level | None, float] = {}
        self._used: dict[Hashable, float] = {}
        self._used_by_level: dict[Level | None, float] = {}
        self._began = time.monotonic()

    def add(self, client: Hashable, seconds: float) -> None:
        """Count what a client used."""
        level = level_of(client)
        self.seconds[level] = self.seconds.get(level, 0.0) + seconds
        # Later seconds count more: so earlier ones age without being touched.
        halves = min((time.monotonic() - self._began) / HALF_LIFE_SECONDS, _MOST_HALVES)
        worth = 2.0**halves
        self._used[client] = self.of(client) + seconds * worth
        self._used_by_level[level] = self._used_by_level.get(level, 0.0) + seconds * worth
        if halves == _MOST_HALVES or len(self._used) > MOST_CLIENTS:
            self._begin_again(worth)

    def of(self, client: Hashable) -> float:
        """Return what a client used, for comparisons."""
        return self._used.get(client, 0.0)

    def of_level(self, level: Level | None) -> float:
        """Return what the clients of a level used for its weight, for comparisons."""
        return self._used_by_level.get(level, 0.0) / (WEIGHTS[level] if level else 1)

    def _begin_again(self, worth: float) -> None:
        """Forget the half of the clients that used least, and let a second be worth 1."""
        self._began = time.monotonic()
        most = sorted(self._used.items(), key=lambda used: -used[1])[: MOST_CLIENTS // 2]
        self._used = {client: used / worth for client, used in most}
        self._used_by_level = {level: used / worth for level, used in self._used_by_level.items()}


def share_metrics(limits: Sequence[Shares], used: Sequence[ProcessorShares]) -> Iterator[Metric]:
    """Yield ``mooring_taken_shares`` and ``mooring_rejected_shares`` of each limit, and
    ``mooring_processor_share_seconds``, all by level.
    """
    labels = ("limit", "level")
    text = "Taken shares of a limit, by level."
    taken = GaugeMetricFamily("mooring_taken_shares", text, labels=labels)
    text = "Requests rejected by a limit, by level."
    rejected = CounterMetricFamily("mooring_rejected_shares", text, labels=labels)
    for shares in limits:
        for level in (None, *Level):
            name = "" if level is None else level.value
            if level is None or shares.of_level(level) or shares.rejections[level]:
                taken.add_metric((shares.limit, name), shares.of_level(level))
                rejected.add_metric((shares.limit, name), shares.rejections[level])
    yield taken
    yield rejected
    text = "Processor time of plugins, by level."
    seconds = CounterMetricFamily("mooring_processor_share_seconds", text, labels=("level",))
    for level in (None, *Level):
        total = sum(processor.seconds.get(level, 0.0) for processor in used)
        if level is None or total:
            seconds.add_metric(("" if level is None else level.value,), total)
    yield seconds
