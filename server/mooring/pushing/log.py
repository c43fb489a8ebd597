"""The last changes of a state, from which every replica reads at its own pace."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mooring.cluster.state import State
from mooring.pushing.batches import BATCH_BYTES, EventBatch, batches_of, changes_of, full_load
from mooring.recordings.playback import objects_of

MOST_BYTES: Final = 64 << 20
"""The bytes of events that are kept. A replica that lacks older ones gets a full load."""

JOURNAL_LENGTH: Final = 1 << 16
"""The least number of changes that the state's journal keeps."""

SENT_BYTES: Final = 4 * BATCH_BYTES
"""The bytes that a replica gets at once, but for its first batch."""


class PushLog:
    """Numbered batches. Safe from any thread; no replica waits for another one.

    Args:
        state: The state.
        most_bytes: The bytes that are kept.
    """

    def __init__(self, state: State, most_bytes: int = MOST_BYTES) -> None:
        self._state = state
        self._most_bytes = most_bytes
        self._grown = threading.Condition()
        self._batches: deque[EventBatch] = deque()
        self._first = 0
        self._bytes = 0
        self._position: int | None = None

    def read_changes(self) -> None:
        """Take in what the state has learned since the last call, or since the first full load."""
        with self._grown:
            if self._position is not None:
                self._read()

    def full_load(self) -> tuple[int, Iterator[EventBatch]]:
        """Return all objects as they are now, and the number of the first batch that they lack."""
        with self._grown:
            with self._state.lock:
                if self._position is None:
                    self._position = self._state.journal(JOURNAL_LENGTH).end
                self._read()
                objects = objects_of(self._state)
            return self._end, full_load(objects)

    def read_from(self, number: int, longest: float) -> Sequence[EventBatch] | None:
        """Return the next batches from ``number`` on; none if ``longest`` seconds bring none.

        None = the first of them are forgotten.
        """
        with self._grown:
            self._grown.wait_for(lambda: self._end > number, longest)
            if number < self._first:
                return None
            found: list[EventBatch] = []
            size = 0
            for at in range(number - self._first, len(self._batches)):
                size += len(self._batches[at].data)
                if found and size > SENT_BYTES:
                    break
                found.append(self._batches[at])
            return found

    @property
    def _end(self) -> int:
        return self._first + len(self._batches)

    def _read(self) -> None:
        """Add what the journal has, and wake the replicas that wait for it."""
        with self._state.lock:
            journal = self._state.journal()
            begin, self._position = self._position or 0, journal.end
            entries = journal.between(begin, journal.end)
        if entries is None:
            # No replica has what is lost here: all begin again.
            self._first, self._bytes = self._end + 1, 0
            self._batches.clear()
        elif entries:
            self._append(batches_of(changes_of(entries)))
        else:
            return
        self._grown.notify_all()

    def _append(self, batches: Iterable[EventBatch]) -> None:
        for batch in batches:
            self._batches.append(batch)
            self._bytes += len(batch.data)
        while self._bytes > self._most_bytes:
            self._bytes -= len(self._batches.popleft().data)
            self._first += 1
