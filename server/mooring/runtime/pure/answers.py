"""The answers of one method about nodes, by the values that it read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from mooring.framework import CycleState, Int32s, Int64s, NodeInfo, NodeView, Pod, Snapshot
from mooring.framework.deadline import check_deadline
from mooring.framework.objects import Measurement
from mooring.framework.pod_counter import CountsByRow, PodCounter
from mooring.framework.row_versions import RowBasis
from mooring.runtime.pure.node_views import NodeInfoView
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    COUNTED,
    MEASUREMENTS,
    NODE,
    OFFERED,
    POD,
    PODS,
    REQUESTED,
    STATE,
    Key,
    NotFollowedError,
    Reads,
    column_of,
    offered,
    row_reader,
    state_value,
    value_of,
)
from mooring.runtime.pure.views import Seen, StateView, pod_view

MAX_LEAVES = 1 << 16
"""With more combinations of values the tree begins again: a rule may have millions of them."""

MAX_COLUMN_BYTES = 32 << 20
"""The columns of answers of one method: each takes 16 bytes a node, and there is one for each combination of
values that are read of pod and state."""

FEW_ROWS = 4
"""Up to this many rows, finding answers one by one takes less time than in columns."""

CHECKED_FIRST, CHECK_EVERY = 64, 256
"""The number of questions at first after which a plain call has to give the same answer, and the interval of
such checks later."""

Call = Callable[[CycleState, Pod, NodeInfo], object]
"""The method, such as ``filter``."""

Number = Callable[[object, str], int]
"""Returns an answer about the node of that name as a number; raises as the engine does about a wrong one."""

_OF_ROWS = frozenset({NODE, ALLOCATABLE, REQUESTED, PODS, COUNTED})
"""The subjects with a value for each row. Changes show in the row's version, or are counts."""

_BESIDE_ROWS = frozenset({POD, STATE, OFFERED})
"""The subjects with the same value for all nodes."""


class NotPureError(NotFollowedError):
    """Equal reads led to another answer, or to another read."""


class _Read(msgspec.Struct, gc=False):
    """An inner node of the tree.

    Attributes:
        key: The key of the read.
        kids: By the value read, the next read or the answer.
    """

    key: Key
    kids: dict[Hashable, Any]


class _AnswerColumn:
    """Answers by row, for one combination of values read of pod and state.

    Attributes:
        answers: int64[capacity].
        basis: The basis of each answer.
    """

    __slots__ = ("answers", "basis")

    def __init__(self, capacity: int, counters: int) -> None:
        self.answers: Int64s = np.zeros(capacity, np.int64)
        self.basis = RowBasis(capacity, counters)

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self.answers.nbytes + self.basis.nbytes


class Answers:
    """The answers of one method about nodes. Safe from any thread.

    Args:
        call: The method.
        number: How its answers are numbered.
        reads: All that its plugin reads.
        begun_again: Called after answers were forgotten because there were too many.

    Attributes:
        calls: How often the method was called.
        given: How many answers were given.
    """

    def __init__(
        self, call: Call, number: Number, reads: Reads, begun_again: Callable[[], None] = lambda: None
    ) -> None:
        self.calls = self.given = 0
        self._call = call
        self._number = number
        self._reads = reads
        self._begun_again = begun_again
        self._tree: dict[Hashable, Any] = {}
        self._leaves = 0
        self._context: tuple[Key, ...] = ()
        self._counters: tuple[PodCounter, ...] = ()
        self._columns: OrderedDict[tuple[Hashable, ...], _AnswerColumn] = OrderedDict()
        self._column_bytes = 0
        self._checks = SpotChecks()
        self._lock = threading.Lock()

    def about(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """int64[K]: the numbers of the answers about ``nodes``.

        Raises:
            NotFollowedError: The method does what can't be followed.
            NodesChangedError: A node is gone.
        """
        table, rows = nodes.table, nodes.rows
        self.given += len(rows)
        question = PodInState(state, pod, nodes.snapshot)
        if len(table.row_version) < table.capacity:
            # The tables of a what-if evaluation: no version changes with its amounts.
            return self._found(question, rows)
        versions = nodes.take(table.row_version)
        if len(rows) <= FEW_ROWS:
            known = [self._remembered(question, row) for row in rows.tolist()]
            if None not in known:
                answers = np.array(known, np.int64)
                self._check(question, nodes, versions, answers)
                return answers
        context, counters = tuple([question.value(key) for key in self._context]), self._counters
        counts = question.counted(counters)
        column = self._column(context, table.capacity, len(counters))
        with self._lock:
            answers = nodes.take(column.answers)
            stale = column.basis.stale(nodes, versions, counts)
        if len(stale):
            some = rows[stale]
            answers[stale] = self._found(question, some)
            kept = table.unchanged(some, versions[stale])
            with self._lock:
                if len(context) == len(self._context) and len(counters) == len(self._counters):
                    column.answers[some[kept]] = answers[stale[kept]]
                    column.basis.put(some[kept], versions[stale[kept]], counts)
        self._check(question, nodes, versions, answers)
        return answers

    def forget(self) -> None:
        """Forget all answers."""
        with self._lock:
            self._tree, self._leaves = {}, 0
            self._columns, self._column_bytes = OrderedDict(), 0

    def _begin_again(self) -> None:
        self.forget()
        self._begun_again()

    def _column(self, context: tuple[Hashable, ...], capacity: int, counters: int) -> _AnswerColumn:
        with self._lock:
            column = self._columns.get(context)
            if column is not None and len(column.answers) >= capacity and column.basis.counters == counters:
                self._columns.move_to_end(context)
                return column
            if column is not None:
                self._column_bytes -= column.nbytes
            column = self._columns[context] = _AnswerColumn(capacity, counters)
            self._column_bytes += column.nbytes
            while self._column_bytes > MAX_COLUMN_BYTES and len(self._columns) > 1:
                self._column_bytes -= self._columns.popitem(last=False)[1].nbytes
            return column

    def _remembered(self, question: PodInState, row: int) -> int | None:
        """Return the answer about ``row`` if the method was called about equal values."""
        found = self._tree.get(None)
        while found is not None and type(found) is not int:
            key = found.key
            found = found.kids.get(
                question.value(key) if key[0] in _BESIDE_ROWS else question.row_value(key, row)
            )
        return found

    def _found(self, question: PodInState, rows: Int32s) -> Int64s:
        """int64[K]: the answers about ``rows``; the method is called for one of those that are alike."""
        if self._leaves >= MAX_LEAVES:
            self._begin_again()
        answers = np.zeros(len(rows), np.int64)
        waiting: list[tuple[dict[Hashable, Any], Hashable, Int64s]] = [
            (self._tree, None, np.arange(len(rows), dtype=np.int64))
        ]
        while waiting:
            kids, value, at = waiting.pop()
            found = kids.get(value)
            if found is None:
                check_deadline()
                answers[at[0]] = self._asked_about(question, int(rows[at[0]]))
                if len(at) > 1:
                    waiting.append((kids, value, at[1:]))
            elif type(found) is int:
                answers[at] = found
            elif found.key[0] in _BESIDE_ROWS:
                waiting.append((found.kids, question.value(found.key), at))
            else:
                values = question.row_values(found.key, rows[at])
                waiting.extend([(found.kids, value, at[part]) for value, part in _split(values)])
        return answers

    def _asked_about(self, question: PodInState, row: int) -> int:
        """Call the method about one row, and keep its reads and its answer."""
        seen: Seen = {}
        node = NodeInfoView(seen, question.snapshot, row, lambda counter, *_: question.counts(counter))
        state = StateView(seen, question.state, writable=False)
        answer = self._call(state, pod_view(seen, question.pod), node)  # type: ignore[arg-type] # a view of it
        self.calls += 1
        number = self._number(answer, question.snapshot.nodes.names[row])
        with self._lock:
            self._reads.note(seen)
            self._add_to_context(seen)
            self._counters += tuple(
                [key[1] for key in seen if key[0] == COUNTED and key[1] not in self._counters]  # type: ignore[misc]
            )
            if (PODS,) not in seen:
                self._put(seen, number)
        return number

    def _add_to_context(self, seen: Seen) -> None:
        keys = [key if key[0] in _BESIDE_ROWS else (MEASUREMENTS,) for key in seen if key[0] not in _OF_ROWS]
        new = tuple([key for key in dict.fromkeys(keys) if key not in self._context])
        if new:
            self._context += new
            self._columns, self._column_bytes = OrderedDict(), 0

    def _put(self, seen: Seen, number: int) -> None:
        kids: dict[Hashable, Any] = self._tree
        value: Hashable = None
        for key, read in seen.items():
            node = kids.get(value)
            if node is None:
                node = kids[value] = _Read(key, {})
            elif type(node) is int or node.key != key:
                raise NotPureError("reads other things after equal ones")
            kids, value = node.kids, read
        before = kids.setdefault(value, number)
        if before != number:
            raise NotPureError("gave two answers for equal reads")
        self._leaves += 1

    def _check(self, question: PodInState, nodes: NodeView, versions: Int64s, answers: Int64s) -> None:
        """Now and then call the method plainly about one of ``nodes``: it has to return the same."""
        at = self._checks.position(len(answers))
        if at is None:
            return
        rows = nodes.rows[at : at + 1]
        info = nodes.info(int(rows[0]))
        number = self._number(self._call(question.state, question.pod, info), info.name)
        if number != answers[at] and nodes.table.unchanged(rows, versions[at : at + 1]).all():
            raise NotPureError("gave two answers for equal reads")


class SpotChecks:
    """Selects answers that a second call has to confirm. Safe from any thread."""

    def __init__(self) -> None:
        self._questions = 0

    def position(self, count: int) -> int | None:
        """Return which of the ``count`` answers to the next question to check; None = none of them."""
        self._questions += 1
        if not count or (self._questions > CHECKED_FIRST and self._questions % CHECK_EVERY):
            return None
        return self._questions % count


class PodInState:
    """One pod in one state of the cluster.

    Args:
        state: The plugin's CycleState.
        pod: The pod.
        snapshot: The tables.
    """

    __slots__ = ("_counts", "_known", "pod", "snapshot", "state")

    def __init__(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> None:
        self.state, self.pod, self.snapshot = state, pod, snapshot
        self._known: dict[Key, Hashable] = {}
        self._counts: dict[PodCounter, Int64s] = {}

    def counts(self, counter: PodCounter) -> Int64s:
        """int64[capacity]: the counts of ``counter`` for the pod, the same whenever they are read."""
        counts = self._counts.get(counter)
        if counts is None:
            kept = self.state.get(CountsByRow, CountsByRow)
            found = None if kept is None else kept.by_counter.get(counter)
            counts = self._counts[counter] = (
                counter.by_row(self.snapshot, self.pod) if found is None else found
            )
        return counts

    def counted(self, counters: Iterable[PodCounter]) -> list[Int64s]:
        """Return the counts of each of ``counters``."""
        return [self.counts(counter) for counter in counters]

    def row_value(self, key: Key, row: int) -> Hashable:
        """Return the value of ``key``, which is read of nodes, for ``row``."""
        if key[0] == COUNTED:
            return self.counts(key[1]).item(row)  # type: ignore[arg-type] # the counter
        return row_reader(key, self.snapshot)(row)

    def row_values(self, key: Key, rows: Int32s) -> list[Hashable] | Int64s:
        """Return the values of ``key`` for ``rows`` (int32[K]); amounts and counts are int64[K]."""
        column = self.counts(key[1]) if key[0] == COUNTED else column_of(key, self.snapshot)  # type: ignore[arg-type] # the counter
        return list(map(row_reader(key, self.snapshot), rows.tolist())) if column is None else column[rows]

    def value(self, key: Key) -> Hashable:
        """Return the value of ``key``, which is the same for all nodes."""
        if key not in self._known:
            self._known[key] = self._read(key)
        return self._known[key]

    def _read(self, key: Key) -> Hashable:
        if key[0] == POD:
            return value_of(key[1:])(self.pod)
        if key[0] == MEASUREMENTS:
            return self.snapshot.objects.version(Measurement)
        return state_value(key, self.state) if key[0] == STATE else offered(key, self.snapshot)


def _split(values: list[Hashable] | Int64s) -> list[tuple[Hashable, Int64s]]:
    """Return each distinct value, with the positions that have it."""
    if isinstance(values, np.ndarray):
        if (values == values[0]).all():
            return [(values[0].item(), np.arange(len(values)))]
        order = np.argsort(values, kind="stable")
        ends = (np.flatnonzero(np.diff(values[order])) + 1).tolist()
        parts = [order[begin:end] for begin, end in pairwise([0, *ends, len(order)])]
        return [(values.item(part[0]), part) for part in parts]
    positions: dict[Hashable, list[int]] = {}
    for at, value in enumerate(values):
        positions.setdefault(value, []).append(at)
    return [(value, np.array(at, np.int64)) for value, at in positions.items()]
