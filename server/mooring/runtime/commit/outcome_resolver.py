"""Comes back to reservations later: to find out what became of a binding, or whether the pod still exists."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections.abc import Callable

from mooring.framework import Clock
from mooring.runtime.commit.reservations import Reservation, ReservedBatch

log = logging.getLogger(__name__)

AFTER_A_FAILURE = 1.0
"""Seconds until the next attempt when one raised something unexpected."""


class Resolver:
    """Calls ``resolve`` for each reservation, or batch of them, in a thread of its own, until it is settled.

    Args:
        resolve: Called with the reservation and the number of earlier calls; returns the seconds until the
            next call, None = it is settled.
    """

    def __init__(
        self, resolve: Callable[[Reservation | ReservedBatch, int], float | None], clock: Clock
    ) -> None:
        self._resolve = resolve
        self._clock = clock
        self._due: list[tuple[float, int, int, Reservation | ReservedBatch]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def resolve_later(self, reservation: Reservation | ReservedBatch, pause: float, attempt: int = 0) -> None:
        """Come back to it after ``pause`` seconds."""
        with self._changed:
            due = (self._clock.monotonic() + pause, next(self._numbers), attempt, reservation)
            heapq.heappush(self._due, due)
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="resolver", daemon=True)
                self._thread.start()
            if self._due[0] is due:
                self._changed.notify_all()

    def stop(self) -> None:
        """Resolve nothing more; what is under way is finished."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (found := self._next()) is not None:
            attempt, reservation = found
            try:
                pause = self._resolve(reservation, attempt)
            except Exception:
                log.exception("resolving the pods %s", ", ".join(reservation.uids))
                pause = AFTER_A_FAILURE
            if pause is not None:
                self.resolve_later(reservation, pause, attempt + 1)

    def _next(self) -> tuple[int, Reservation | ReservedBatch] | None:
        with self._changed:
            while not self._stopped:
                left = self._due[0][0] - self._clock.monotonic() if self._due else None
                if left is not None and left <= 0:
                    _, _, attempt, reservation = heapq.heappop(self._due)
                    return attempt, reservation
                self._changed.wait(left)
            return None
