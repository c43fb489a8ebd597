"""The newest decisions, numbered from 1, within budgets of bytes.

A decision only appends a record to a list, without a lock, a number, or a notification.
A reader, or the decision that makes the list long, takes records from it in runs of some hundred. Only then
they get their numbers, and the oldest go. They are of the sort with the most bytes, in it of the level with
the most for its weight, and in that of the client with the most. So questions, which every client may send,
push out no commits, and no other client's questions. A batch is one record that shares the lists of its call.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heapreplace
from itertools import chain, count, groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec

from mooring.decisions.filters import DecisionFilter
from mooring.decisions.pod_sizes import PodSizes
from mooring.decisions.records import BatchRecord, DecisionKind, Record
from mooring.serving.access.access import current_call
from mooring.serving.shares import WEIGHTS, Level, Shares, level_of

RECORD_BYTES = 640
"""The bytes of a record without its pod, with the strings that only the journal still holds,"""
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
SPARE_SHARE = 8
"""Once the budget is used up, one byte in this many of it is freed, so that this is done seldom."""

LOOK_SECONDS = 0.1
"""Seconds between two reads of a waiting reader: decisions are not slowed down by readers."""

SORTS: tuple[frozenset[DecisionKind], ...] = (
    frozenset({DecisionKind.SCHEDULE, DecisionKind.BIND}),
    frozenset({DecisionKind.OBSERVE}),
    frozenset({DecisionKind.DRY_RUN}),
    frozenset({DecisionKind.FILTER, DecisionKind.SCORE, DecisionKind.PREEMPT}),
)
"""Commits, observed decisions, dry runs and other questions."""

LARGEST_BATCH = 2
"""A batch takes at most one byte in this many of the budget, so that something is left for other sorts."""

_SORT_OF = {kind: number for number, kinds in enumerate(SORTS) for kind in kinds}

Entry = Record | BatchRecord

Numbered = tuple[int, Record]


class Passage(NamedTuple):
    """Decisions that come after a number, in order.

    Attributes:
        looked: The last number that was read.
        missed: How many were forgotten before they could be read.
    """

    decisions: list[Numbered]
    looked: int
    missed: int


class _Run(msgspec.Struct, eq=False):
    """Decisions that were numbered together: records that came one after the other, or those of a batch.

    Attributes:
        first: The number of the first.
        client: The client whose calls they answer.
    """

    first: int
    client: Hashable = None
    size: int = 0
    records: list[Record] = msgspec.field(default_factory=list)
    batch: BatchRecord | None = None

    @property
    def last(self) -> int:
        """The number of the last."""
        return self.first + (len(self.records) if self.batch is None else len(self.batch)) - 1

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


class _Sort:
    """The decisions of one sort that are kept."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []
        self.size = 0

    def runs_from(self, seq: int) -> list[_Run]:
        """Return the runs with numbers from ``seq`` on."""
        return self.runs[bisect_left(self.runs, seq, key=attrgetter("last")) :]

    def oldest(self, newest: _Run) -> Iterator[_Run]:
        """Yield the runs but ``newest``, in the order in which they go: of the level that has most for its
        weight, and there of the client that has most.
        """
        levels: dict[Level | None, list[_Run]] = {}
        sizes: Counter[Level | None] = Counter()
        for run in self.runs:
            level = level_of(run.client)
            levels.setdefault(level, []).append(run)
            sizes[level] += run.size
        left = {level: _of_greediest(runs, newest) for level, runs in levels.items()}
        while left:
            level = max(left, key=lambda level: sizes[level] / (WEIGHTS[level] if level else 1))
            oldest = next(left[level], None)
            if oldest is None:
                del left[level]
                continue
            sizes[level] -= oldest.size
            yield oldest


def _of_greediest(runs: list[_Run], newest: _Run) -> Iterator[_Run]:
    """Yield the runs but ``newest``: each is the oldest of the client that has most."""
    kept: dict[Hashable, deque[_Run]] = {}
    for run in runs:
        kept.setdefault(run.client, deque()).append(run)
    clients = [(-sum([run.size for run in own]), at, own) for at, own in enumerate(kept.values())]
    heapify(clients)
    while clients:
        size, at, own = clients[0]
        if not own or own[0] is newest:
            heappop(clients)
            continue
        run = own.popleft()
        heapreplace(clients, (size + run.size, at, own))
        yield run


class DecisionJournal:
    """Safe from any thread; adding never waits.

    Args:
        budget: Bytes that decisions may take, with their pods, about; above 0.

    Attributes:
        id: Another one in each process.
        dropped: How many decisions were not written: batches that are too large for the budget.
        shares: The shares of the budget. It is exceeded until decisions are forgotten.
    """

    def __init__(self, budget: int = DEFAULT_BYTES) -> None:
        self.id = secrets.token_hex(8)
        self.dropped = 0
        self.shares = Shares("bytes of decisions", budget)
        self._budget = budget
        self._longest = max(1, min(RUN, budget // RECORD_BYTES // RUN_SHARE))
        self._noted: list[tuple[Hashable, Entry]] = []
        self._sorts = tuple(_Sort() for _ in SORTS)
        self._newest = _Run(1)
        self._pods = PodSizes()
        self._last = 0
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Note what was decided for the client whose call is worked on here."""
        noted = self._noted
        noted.append((current_call().claimant, entry))
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
            kept = [sort.runs[0].first for sort in self._sorts if sort.runs]
            return min(kept, default=self._last + 1)

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
            return self.shares.taken

    def __len__(self) -> int:
        """How many decisions are kept."""
        return sum(run.last + 1 - run.first for run in self._runs_from(0))

    def find(self, seq: int) -> Record | None:
        """Return a decision; None when it was not made yet, or is forgotten."""
        run = self._run_of(seq)
        return None if run is None else run.find(seq)

    def batch_of(self, seq: int) -> BatchRecord | None:
        """Return the batch that a decision is part of; None when it was made alone, or is forgotten."""
        run = self._run_of(seq)
        return None if run is None else run.batch

    def number_of(self, entry: Entry) -> int | None:
        """Return the number of a record that was added, or of a batch's first; None if it is forgotten."""
        with self._lock:
            self._number()
            for run in reversed(self._sorts[_SORT_OF[entry.kind]].runs):
                if run.batch is entry:
                    return run.first
                if entry in run.records:
                    return run.first + run.records.index(entry)
        return None

    def after(
        self, seq: int, limit: int, where: DecisionFilter | None = None, before: int | None = None
    ) -> Passage:
        """Return the first decisions after ``seq``."""
        found: list[Numbered] = []
        looked, missed = min(seq, self.last), 0
        for first, entry in self.entries_after(seq):
            missed += max(0, first - 1 - looked)
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
        """Return the runs with numbers from ``seq`` on."""
        with self._lock:
            self._number()
            found = [run for sort in self._sorts for run in sort.runs_from(seq)]
        return sorted(found, key=attrgetter("first"))

    def _run_of(self, seq: int) -> _Run | None:
        with self._lock:
            self._number()
            found = [sort.runs_from(seq)[:1] for sort in self._sorts]
        return next((run for run in chain.from_iterable(found) if run.first <= seq), None)

    def _number(self) -> None:
        """Give numbers to the noted records, and forget the oldest. The lock is held."""
        noted = self._noted
        # Each of the two is one step for other threads; what they append in between stays.
        taken = noted[:]
        del noted[: len(taken)]
        for (client, _), entries in groupby(taken, key=lambda noted: (noted[0], _SORT_OF[noted[1].kind])):
            records: list[Record] = []
            for _, entry in entries:
                if isinstance(entry, BatchRecord):
                    self._put_records(client, records)
                    records = []
                    self._put_batch(client, entry)
                else:
                    records.append(entry)
            self._put_records(client, records)
        self._forget()

    def _put_records(self, client: Hashable, records: list[Record]) -> None:
        """Put records of one sort."""
        if not records:
            return
        size = RECORD_BYTES * len(records) + self._pods.size([record.pod for record in records])
        details = [record.written for record in records if record.written is not None]
        size += REASON_BYTES * sum([len(why.reasons) for each in details if (why := each.why) is not None])
        size += REASON_BYTES * sum([len(each.victims) + len(each.budgets) for each in details])
        sort, run = self._sorts[_SORT_OF[records[0].kind]], self._newest
        if (
            not (sort.runs and sort.runs[-1] is run)
            or run.client != client
            or run.batch is not None
            or len(run.records) >= self._longest
        ):
            run = self._begin(sort, _Run(self._last + 1, client))
        run.records += records
        self._last += len(records)
        self._grow(sort, run, size)

    def _put_batch(self, client: Hashable, batch: BatchRecord) -> None:
        row = BATCH_ROW_BYTES + (PLACED_BYTES if batch.placed else 0)
        size = row * len(batch) + self._pods.size([pod for pod, _ in batch.templates])
        if size > self._budget // LARGEST_BATCH:
            self.dropped += len(batch)
            return
        sort = self._sorts[_SORT_OF[batch.kind]]
        run = self._begin(sort, _Run(self._last + 1, client, batch=batch))
        self._last += len(batch)
        self._grow(sort, run, size)

    def _grow(self, sort: _Sort, run: _Run, size: int) -> None:
        run.size += size
        sort.size += size
        self.shares.take(run.client, size)

    def _begin(self, sort: _Sort, run: _Run) -> _Run:
        sort.runs.append(run)
        self._newest = run
        return run

    def _forget(self) -> None:
        """Forget runs of the sort that takes most, but for the newest of all. The lock is held."""
        excess = self.shares.taken - self._budget
        if excess <= 0:
            return
        excess += self._budget // SPARE_SHARE
        left = {sort: sort.oldest(self._newest) for sort in self._sorts}
        gone = set[int]()
        while excess > 0 and left:
            most = max(left, key=attrgetter("size"))
            run = next(left[most], None)
            if run is None:
                del left[most]
                continue
            gone.add(run.first)
            most.size -= run.size
            self.shares.take(run.client, -run.size)
            excess -= run.size
        for sort in self._sorts:
            sort.runs = [run for run in sort.runs if run.first not in gone]


def _numbered(first: int, entry: Entry, where: DecisionFilter | None) -> Iterator[Numbered]:
    if isinstance(entry, BatchRecord):
        if where is None or where.may_match(entry):
            for at, record in enumerate(entry.records()):
                if where is None or where.matches(record):
                    yield first + at, record
    elif where is None or where.matches(entry):
        yield first, entry
