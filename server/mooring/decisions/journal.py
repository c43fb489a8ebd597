"""The newest decisions, numbered from 1, within a budget of bytes.

An entry is one record, or that of a whole batch, which shares the lists that the call has anyway: so noting a
decision costs no more than the entry's object, and a batch of thousands no more than a single pod. All else
happens when somebody reads.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.records import BatchRecord, Record

RECORD_BYTES = 640
"""What a record takes, with the strings that nothing else has any more,"""
BATCH_ROW_BYTES = 400
"""and a pod of a batch."""

DEFAULT_BYTES = 32 << 20

FORGOTTEN_SHARE = 8
"""One in so many bytes of the budget is freed when it is used up."""

LOOK_SECONDS = 0.1
"""Between two looks of a reader that waits: decisions wake nobody, so they are not slowed down by readers."""

Entry = Record | BatchRecord

Numbered = tuple[int, Record]
"""A decision with its number."""


class DecisionJournal:
    """Safe from any thread; adding never blocks for longer than a list is copied.

    Args:
        budget: Bytes that entries may take, above 0. The oldest go first.

    Attributes:
        id: Another one in each process.
        dropped: How many decisions were not written: batches that are larger than the budget.
    """

    def __init__(self, budget: int = DEFAULT_BYTES) -> None:
        self.id = secrets.token_hex(8)
        self.dropped = 0
        self._budget = budget
        self._size = 0
        self._entries: list[Entry] = []
        self._first_seqs: list[int] = []
        self._last = 0
        self._lock = threading.Lock()

    @property
    def first(self) -> int:
        """The number of the oldest decision that is kept; one more than ``last`` if none is."""
        with self._lock:
            return self._first_seqs[0] if self._first_seqs else self._last + 1

    @property
    def last(self) -> int:
        """The number of the newest decision, 0 before the first."""
        return self._last

    @property
    def size(self) -> int:
        """Bytes that the entries take, about."""
        return self._size

    def add(self, entry: Entry) -> int:
        """Note what was decided; returns its number, for a batch that of its last decision."""
        count, size = 1, RECORD_BYTES
        if isinstance(entry, BatchRecord):
            count = len(entry)
            size = BATCH_ROW_BYTES * count
            if size > self._budget:
                with self._lock:
                    self.dropped += count
                    return self._last
        with self._lock:
            self._entries.append(entry)
            self._first_seqs.append(self._last + 1)
            self._last += count
            self._size += size
            if self._size > self._budget:
                self._forget()
            return self._last

    def find(self, seq: int) -> Record | None:
        """Return a decision; None when it was not made yet, or is forgotten."""
        with self._lock:
            if not 0 < seq <= self._last:
                return None
            at = bisect_right(self._first_seqs, seq) - 1
            if at < 0:
                return None
            entry, first = self._entries[at], self._first_seqs[at]
        return entry.record(seq - first) if isinstance(entry, BatchRecord) else entry

    def batch_of(self, seq: int) -> BatchRecord | None:
        """Return the batch that a decision is part of; None when it was made alone, or is forgotten."""
        with self._lock:
            at = bisect_right(self._first_seqs, seq) - 1
            entry = self._entries[at] if at >= 0 else None
        return entry if isinstance(entry, BatchRecord) else None

    def after(
        self, seq: int, limit: int, where: DecisionFilter | None = None, before: int | None = None
    ) -> tuple[list[Numbered], int]:
        """Return the first decisions after ``seq``, in order, and up to which number was looked at."""
        found: list[Numbered] = []
        looked = max(seq, self.first - 1)
        for first, entry in self.entries_after(seq):
            for number, record in _numbered(first, entry, where):
                if before is not None and number >= before:
                    return found, before - 1
                if number > seq:
                    found.append((number, record))
                    if len(found) == limit:
                        return found, number
            looked = first + (len(entry) if isinstance(entry, BatchRecord) else 1) - 1
        return found, looked

    def newest(
        self, limit: int, where: DecisionFilter | None = None, before: int | None = None
    ) -> list[Numbered]:
        """Return the newest decisions before number ``before``, in order."""
        found: list[Numbered] = []
        for first, entry in reversed(self.entries_after(0)):
            if before is not None and first >= before:
                continue
            some = [one for one in _numbered(first, entry, where) if before is None or one[0] < before]
            found += reversed(some)
            if len(found) >= limit:
                break
        return found[:limit][::-1]

    def wait(self, seq: int, seconds: float) -> None:
        """Return when there is a decision after ``seq``, or the time is over."""
        end = time.monotonic() + seconds
        while self._last <= seq and (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))

    def entries_after(self, seq: int) -> Sequence[tuple[int, Entry]]:
        """Return the entries with decisions after ``seq``, each with the number of its first."""
        with self._lock:
            at = max(0, bisect_right(self._first_seqs, seq + 1) - 1)
            firsts, entries = self._first_seqs[at:], self._entries[at:]
        return list(zip(firsts, entries, strict=True))

    def _forget(self) -> None:
        """Forget the oldest entries, an eighth of the budget at once. The lock is held."""
        count = 0
        while self._size > self._budget - self._budget // FORGOTTEN_SHARE:
            entry = self._entries[count]
            self._size -= BATCH_ROW_BYTES * len(entry) if isinstance(entry, BatchRecord) else RECORD_BYTES
            count += 1
        del self._entries[:count], self._first_seqs[:count]


def _numbered(first: int, entry: Entry, where: DecisionFilter | None) -> Iterator[Numbered]:
    if isinstance(entry, BatchRecord):
        if where is None or where.may_match(entry):
            for at, record in enumerate(entry.records()):
                if where is None or where.matches(record):
                    yield first + at, record
    elif where is None or where.matches(entry):
        yield first, entry
