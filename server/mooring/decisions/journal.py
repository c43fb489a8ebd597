"""The newest decisions, numbered from 1, within budgets of bytes.

A decision only appends a record to a list, without a lock, a number, or a notification.
Records are taken from there in runs of some hundred, by whoever reads, or by the decision that makes the list
long. Only then they get their numbers, and the oldest go. A batch is one record that shares the lists of its
call.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, count
from operator import attrgetter
from typing import NamedTuple

import msgspec

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.pod_sizes import PodSizes
from mooring.decisions.records import BatchRecord, Record

RECORD_BYTES = 640
"""What a record takes without its pod, with the strings that nothing else has any more,"""
REASON_BYTES = 160
"""each reason why there is no node, which is also in the message,"""
BATCH_ROW_BYTES = 400
"""a pod of a batch,"""
PLACED_BYTES = 640
"""and the same pod as one that a dry run placed by itself."""

DEFAULT_BYTES = 48 << 20

RUN = 256
"""Records that are numbered together, if there are as many."""
RUN_SHARE = 8
"""A run takes at most one byte in this many of the budget."""

LOOK_SECONDS = 0.1
"""Between two looks of a reader that waits: decisions wake nobody, so they are not slowed down by readers."""

Entry = Record | BatchRecord

Numbered = tuple[int, Record]
"""A decision with its number."""


class Passage(NamedTuple):
    """Decisions that come after a number, in order.

    Attributes:
        decisions: The decisions.
        looked: Up to which number was looked at.
        missed: How many were forgotten before they could be looked at.
    """

    decisions: list[Numbered]
    looked: int
    missed: int


class _Run(msgspec.Struct, eq=False):
    """Decisions that were numbered together: records that came one after the other, or those of a batch.

    Attributes:
        first: The number of the first.
        size: What they take.
        records: The records; none with a batch.
        batch: The batch.
    """

    first: int
    size: int = 0
    records: list[Record] = msgspec.field(default_factory=list)
    batch: BatchRecord | None = None

    def find(self, seq: int) -> Record:
        """Return the decision of this number, which is one of them."""
        at = seq - self.first
        return self.records[at] if self.batch is None else self.batch.record(at)

    def after(self, seq: int) -> Iterator[tuple[int, Entry]]:
        """Yield the batch, or the records after number ``seq``, with the number of the first decision."""
        if self.batch is not None:
            yield self.first, self.batch
        else:
            at = max(0, seq + 1 - self.first)
            yield from zip(count(self.first + at), self.records[at:], strict=False)


class DecisionJournal:
    """Safe from any thread; adding never waits.

    Args:
        budget: Bytes that decisions may take, with their pods, about; above 0. The oldest go first.

    Attributes:
        id: Another one in each process.
        dropped: How many decisions were not written: batches that are larger than the budget.
    """

    def __init__(self, budget: int = DEFAULT_BYTES) -> None:
        self.id = secrets.token_hex(8)
        self.dropped = 0
        self._budget = budget
        self._longest = max(1, min(RUN, budget // RECORD_BYTES // RUN_SHARE))
        self._noted: list[Entry] = []
        self._runs: list[_Run] = []
        self._size = 0
        self._pods = PodSizes()
        self._last = 0
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Note what was decided."""
        noted = self._noted
        noted.append(entry)
        if len(noted) >= self._longest and self._lock.acquire(blocking=False):
            try:
                self._number()
            finally:
                self._lock.release()

    @property
    def first(self) -> int:
        """The number of the oldest decision that is kept; one more than ``last`` if none is."""
        with self._lock:
            self._number()
            return self._runs[0].first if self._runs else self._last + 1

    @property
    def last(self) -> int:
        """The number of the newest decision, 0 before the first."""
        with self._lock:
            self._number()
            return self._last

    @property
    def size(self) -> int:
        """Bytes that the entries take, about."""
        with self._lock:
            self._number()
            return self._size

    def find(self, seq: int) -> Record | None:
        """Return a decision; None when it was not made yet, or is forgotten."""
        run = self._run_of(seq)
        return None if run is None else run.find(seq)

    def batch_of(self, seq: int) -> BatchRecord | None:
        """Return the batch that a decision is part of; None when it was made alone, or is forgotten."""
        run = self._run_of(seq)
        return None if run is None else run.batch

    def number_of(self, record: Record) -> int | None:
        """Return the number of a record that was added; None when it is forgotten."""
        for run in reversed(self._runs_from(0)):
            if record in run.records:
                return run.first + run.records.index(record)
        return None

    def after(
        self, seq: int, limit: int, where: DecisionFilter | None = None, before: int | None = None
    ) -> Passage:
        """Return the first decisions after ``seq``."""
        found: list[Numbered] = []
        runs = self._runs_from(seq + 1)
        missed = max(0, runs[0].first - 1 - seq) if runs else 0
        looked = min(seq + missed, self.last)
        for first, entry in chain.from_iterable(run.after(seq) for run in runs):
            for number, record in _numbered(first, entry, where):
                if before is not None and number >= before:
                    return Passage(found, max(seq, before - 1), missed)
                if number > seq:
                    found.append((number, record))
                    if len(found) == limit:
                        return Passage(found, number, missed)
            looked = first + (len(entry) if isinstance(entry, BatchRecord) else 1) - 1
        return Passage(found, looked, missed)

    def newest(
        self, limit: int, where: DecisionFilter | None = None, before: int | None = None
    ) -> list[Numbered]:
        """Return the newest decisions before number ``before``, in order."""
        found: list[Numbered] = []
        for first, entry in self.newest_entries():
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
        while self.last <= seq and (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))

    def entries_after(self, seq: int) -> Iterator[tuple[int, Entry]]:
        """Yield the entries with decisions after ``seq``, each with the number of its first."""
        for run in self._runs_from(seq + 1):
            yield from run.after(seq)

    def newest_entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield the entries, the newest first, each with the number of its first decision."""
        for run in reversed(self._runs_from(0)):
            yield from reversed(list(run.after(0)))

    def _runs_from(self, seq: int) -> list[_Run]:
        """Return the runs from the one of ``seq`` on."""
        with self._lock:
            self._number()
            return self._runs[max(0, self._place_of(seq)) :]

    def _run_of(self, seq: int) -> _Run | None:
        with self._lock:
            self._number()
            at = self._place_of(seq)
            return self._runs[at] if at >= 0 and seq <= self._last else None

    def _place_of(self, seq: int) -> int:
        """Return where the last run is that begins with ``seq`` or before. The lock is held."""
        return bisect_right(self._runs, seq, key=attrgetter("first")) - 1

    def _number(self) -> None:
        """Give numbers to what was noted until now, and forget the oldest. The lock is held."""
        noted = self._noted
        # Each of the two is one step for other threads; what they append in between stays.
        taken = noted[:]
        del noted[: len(taken)]
        records: list[Record] = []
        for entry in taken:
            if isinstance(entry, BatchRecord):
                self._put_records(records)
                records = []
                self._put_batch(entry)
            else:
                records.append(entry)
        self._put_records(records)
        self._forget()

    def _put_records(self, records: list[Record]) -> None:
        if not records:
            return
        size = RECORD_BYTES * len(records) + self._pods.size([record.pod for record in records])
        details = [record.written for record in records if record.written is not None]
        size += REASON_BYTES * sum([len(why.reasons) for each in details if (why := each.why) is not None])
        run = self._runs[-1] if self._runs else None
        if run is None or run.batch is not None or len(run.records) >= self._longest:
            run = _Run(self._last + 1)
            self._runs.append(run)
        run.records += records
        run.size += size
        self._size += size
        self._last += len(records)

    def _put_batch(self, batch: BatchRecord) -> None:
        row = BATCH_ROW_BYTES + (PLACED_BYTES if batch.placed else 0)
        size = row * len(batch) + self._pods.size([pod for pod, _ in batch.templates])
        if size > self._budget:
            self.dropped += len(batch)
            return
        self._runs.append(_Run(self._last + 1, size, batch=batch))
        self._size += size
        self._last += len(batch)

    def _forget(self) -> None:
        """Forget the oldest runs, but for the newest one. The lock is held."""
        gone = 0
        while self._size > self._budget and gone < len(self._runs) - 1:
            self._size -= self._runs[gone].size
            gone += 1
        del self._runs[:gone]


def _numbered(first: int, entry: Entry, where: DecisionFilter | None) -> Iterator[Numbered]:
    if isinstance(entry, BatchRecord):
        if where is None or where.may_match(entry):
            for at, record in enumerate(entry.records()):
                if where is None or where.matches(record):
                    yield first + at, record
    elif where is None or where.matches(entry):
        yield first, entry
