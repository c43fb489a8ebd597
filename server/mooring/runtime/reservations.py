"""The pods that have a node and are not bound yet, by UID, and whose turn it is to do something about one.

No clock ends a reservation. It ends with the binding, with its release, or with the pod; while nobody knows
what became of a binding it stays.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from mooring.runtime.commit import Commit
from mooring.runtime.progress import Progress

_STEP = 0.1
"""Seconds after which it is looked whether somebody still waits for the turn."""


class Stage(Enum):
    """How far a reservation is."""

    RESERVED = "reserved"
    """Nothing is under way: Bind or Unreserve will end it."""

    BINDING = "binding"
    """Somebody is binding the pod."""

    UNKNOWN = "unknown"
    """A binding was sent, and nobody knows whether it took effect."""


@dataclass(slots=True, eq=False)
class Reservation:
    """A pod that keeps its place on a node.

    Attributes:
        commit: The pod, the node, the plugins and their notes.
        stage: How far it is.
        owner: Who asked for it; "" = nobody in particular, so anybody may end it.
        unknown_since: When the outcome of its binding became unknown, on the monotonic clock.
    """

    commit: Commit
    stage: Stage = Stage.BINDING
    owner: str = ""
    unknown_since: float = 0.0

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return self.commit.pod.metadata.uid


class Reservations:
    """All reservations. Safe from any thread.

    Whoever looks at a pod's reservation in order to change it takes the turn of its UID first, so that of
    several calls about one pod each sees what the one before it has done.
    """

    def __init__(self) -> None:
        self._reservations: dict[str, Reservation] = {}
        self._taken: set[str] = set()
        self._changed = threading.Condition()

    def __len__(self) -> int:
        """How many pods have a place and are not bound."""
        return len(self._reservations)

    def get(self, uid: str) -> Reservation | None:
        """The reservation of the pod with this UID."""
        with self._changed:
            return self._reservations.get(uid)

    def add(self, reservation: Reservation) -> None:
        """Keep it. For the holder of the turn."""
        with self._changed:
            self._reservations[reservation.uid] = reservation

    def remove(self, reservation: Reservation) -> None:
        """It has ended. For the holder of the turn."""
        with self._changed:
            self._reservations.pop(reservation.uid, None)

    def counts(self) -> Counter[Stage]:
        """How many there are in each stage."""
        with self._changed:
            return Counter(reservation.stage for reservation in self._reservations.values())

    def take_turn(self, uid: str, progress: Progress) -> None:
        """Wait for the turn. Any thread may end it.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        with self._changed:
            while uid in self._taken:
                self._changed.wait(_STEP)
                progress.check()
            self._taken.add(uid)

    def try_turn(self, uid: str) -> bool:
        """Take the turn if nobody has it."""
        with self._changed:
            free = uid not in self._taken
            self._taken.add(uid)
            return free

    def try_turns(self, uids: Sequence[str]) -> int:
        """Take the turns of the first of ``uids``, up to one that somebody has; how many."""
        with self._changed:
            count = len(uids)
            if not self._taken.isdisjoint(uids):
                count = next(at for at, uid in enumerate(uids) if uid in self._taken)
            self._taken.update(uids[:count])
            return count

    def end_turns(self, uids: Sequence[str]) -> None:
        """Let the next ones."""
        with self._changed:
            self._taken.difference_update(uids)
            self._changed.notify_all()

    def end_turn(self, uid: str) -> None:
        """Let the next one."""
        with self._changed:
            self._taken.discard(uid)
            self._changed.notify_all()

    @contextmanager
    def turn(self, uid: str, progress: Progress) -> Iterator[None]:
        """The turn, for the block.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        self.take_turn(uid, progress)
        try:
            yield
        finally:
            self.end_turn(uid)
