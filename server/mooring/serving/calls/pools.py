"""How many calls are worked on at once. A pool is shared by its clients."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from mooring.framework.errors import ResourceExhaustedError
from mooring.serving.calls.threads import waiting
from mooring.serving.shares import Shares, level_of

QUEUE_SHARE: Final = 0.25
"""The part of its remaining time that a call may wait for a place,"""
QUEUE_SECONDS: Final = 1.0
"""and its upper bound."""

LEAST_PAUSE_SECONDS: Final = 0.1
"""The shortest pause after which a rejected call should be repeated."""

PACE_SHARE: Final = 0.1
"""The weight of the newest place that came free in the average time between two."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A call that waits for a place."""

    client: Hashable
    came: threading.Lock = field(default_factory=threading.Lock)
    has_place: bool = False


class CallPool:
    """Places for calls of one sort. Thread-safe.

    Clients share the places (``Shares``), so one whose calls hang leaves some to others. A call that finds
    no place waits for a short while. The next place goes to the client with the fewest, and if there are
    levels, to the level with the fewest. When too many wait, the newest call of the client with
    most of them is rejected.

    Args:
        calls: Their name, in the plural.
        places: How many there are, 1 or more; half as many calls may wait.

    Attributes:
        ended: When a call was last counted out, in seconds of ``time.monotonic``.
    """

    def __init__(self, calls: str, places: int, rejected: Callable[[], None]) -> None:
        self.places = Shares(calls, places)
        self._pace = QUEUE_SECONDS / places
        self._most_waiting = max(1, places // 2)
        self._rejected = rejected
        self._lock = threading.Lock()
        self.ended = -math.inf
        self._turns: list[_Turn] = []

    @property
    def inflight(self) -> int:
        """How many calls have a place."""
        return self.places.taken

    def enter(self, client: Hashable, deadline: float) -> None:
        """Count a call of ``client`` in, with its ``deadline`` in seconds of ``time.monotonic``. Raises
        ResourceExhaustedError if no place came free in time.
        """
        with self._lock:
            if self.places.has_room(client):
                self.places.take(client)
                return
            turn = self._queue(client)
        if turn is None or not self._wait(turn, deadline):
            self._rejected()
            with self._lock:
                self.places.rejections[level_of(client)] += 1
                pause = max(LEAST_PAUSE_SECONDS, (len(self._turns) + 1) * self._pace)
            raise ResourceExhaustedError(
                f"{self.places.total} {self.places.limit} are being worked on, {self.places.most} of a "
                f"client, which is the limit; retry after {pause:.1f} s",
                reason="OVERLOADED",
                retry_seconds=pause,
            )

    def leave(self, client: Hashable) -> None:
        """Count a call out, and give its place to one that waits."""
        now = time.monotonic()
        with self._lock:
            if self._turns:
                # How long one of those that wait waits for another, on average.
                self._pace += PACE_SHARE * (min(now - self.ended, QUEUE_SECONDS) - self._pace)
            self.ended = now
            self.places.take(client, -1)
            if self._turns:
                self._pass_on()

    def _pass_on(self) -> None:
        """Give a place that is free to a call that waits, if its client may have one more."""
        able = [turn for turn in self._turns if self.places.has_room(turn.client)]
        turn = min(able, key=lambda turn: self.places.order(turn.client), default=None)
        if turn is not None:
            self._turns.remove(turn)
            self.places.take(turn.client)
            turn.has_place = True
            turn.came.release()

    def _queue(self, client: Hashable) -> _Turn | None:
        """Let a call wait, perhaps in the place of another one; None if it can't."""
        if len(self._turns) >= self._most_waiting:
            shares = Counter(turn.client for turn in self._turns)
            greediest, most = shares.most_common(1)[0]
            if most <= shares[client] + 1:
                return None
            newest = next(turn for turn in reversed(self._turns) if turn.client == greediest)
            self._turns.remove(newest)
            newest.came.release()
        turn = _Turn(client)
        turn.came.acquire()
        self._turns.append(turn)
        return turn

    def _wait(self, turn: _Turn, deadline: float) -> bool:
        """Return whether the call got a place."""
        seconds = min(QUEUE_SECONDS, QUEUE_SHARE * (deadline - time.monotonic()))
        with waiting():
            turn.came.acquire(timeout=max(0.0, seconds))
        with self._lock:
            if turn in self._turns:
                self._turns.remove(turn)
            return turn.has_place
