"""Outcomes of the search for victims on each node, reused for equal pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mooring.framework import Bools, Code, Int32s, Int64s, Status
from mooring.framework.columns import grown
from mooring.framework.preemption import Candidate, RejectedNodes
from mooring.framework.row_versions import LikePods
from mooring.kernels.arrays import Float64s
from mooring.plugins.default_preemption.importance import COSTS, cost_of

Outcome = Candidate | Status
"""The victims on a node, or why it is not a candidate."""

UNKNOWN, CANDIDATE, VIOLATING, REJECTED = range(4)
"""The knowledge about a node: none, a candidate, one with violations, or no candidate. From ``REJECTED``
on, the numbers are those of statuses."""

_MAX_BYTES = 64 << 20
"""When the outcomes take more bytes than this, by the estimates below, all are forgotten."""

_VICTIM_BYTES, _CANDIDATE_BYTES, _ROW_BYTES = 1 << 10, 1 << 8, 20 + 8 * COSTS

_NEVER = -1
"""No version of a row."""


@dataclass(slots=True)
class Columns:
    """Outcomes by row. Those of one search at a time.

    Attributes:
        versions: int64[capacity], the version of the row that was read.
        codes: int32[capacity], ``CANDIDATE``, ``VIOLATING``, or ``REJECTED`` and more.
        candidates: object[capacity], the candidates.
        costs: float64[6, capacity], what they cost, as ``cost_of`` has it.
        statuses: The statuses of the codes from ``REJECTED`` on.
        bytes: The size of all of it.
    """

    versions: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    codes: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    candidates: npt.NDArray[np.object_] = field(default_factory=lambda: np.zeros(0, np.object_))
    costs: Float64s = field(default_factory=lambda: np.zeros((COSTS, 0)))
    statuses: list[Status] = field(default_factory=list)
    bytes: int = 0

    def make_room(self, capacity: int) -> None:
        """Have room for ``capacity`` rows at least."""
        before = len(self.versions)
        if before < capacity:
            self.versions = grown(self.versions, capacity)
            self.versions[before:] = _NEVER
            self.codes = grown(self.codes, capacity)
            self.candidates = grown(self.candidates, capacity)
            self.costs = grown(self.costs, capacity)
            self.bytes += _ROW_BYTES * (capacity - before)


class Outcomes:
    """Outcomes by the pod's content apart from its name, and by node. Safe from any thread.

    An outcome is true for as long as neither the node, its pods and the pods nominated for it change
    (``NodeTable.row_version``), nor any object other than nodes and pods.
    """

    def __init__(self) -> None:
        self._known: dict[LikePods, Columns] = {}
        self._bytes = 0

    @contextmanager
    def of(self, nodes: RejectedNodes) -> Iterator[KnownOutcomes]:
        """Lend a search those for the pod of ``nodes``, and keep its new ones; none if an outcome may
        change by itself.

        A search at the same time for a pod like it begins with none.
        """
        if not nodes.lasting:
            yield KnownOutcomes(Columns(), nodes)
            return
        known = KnownOutcomes(self._taken(nodes.as_of.like), nodes)
        try:
            yield known
        finally:
            self._keep(nodes.as_of.like, known.lasting())

    def _taken(self, key: LikePods) -> Columns:
        columns = self._known.pop(key, None) or Columns()
        self._bytes -= columns.bytes
        return columns

    def _keep(self, key: LikePods, found: Columns) -> None:
        self._taken(key)
        if self._bytes + found.bytes > _MAX_BYTES:
            self._known.clear()
            self._bytes = 0
        self._bytes += found.bytes
        self._known[key] = found


class KnownOutcomes:
    """The outcomes for one pod. For one search, before which it is made.

    Args:
        columns: Those of earlier searches.
        nodes: The nodes of this one.
    """

    def __init__(self, columns: Columns, nodes: RejectedNodes) -> None:
        self._versions = nodes.as_of.versions
        self._columns = columns
        self._snapshot = nodes.snapshot
        self._passing: list[int] = []
        columns.make_room(len(self._versions))

    def codes(self, rows: Int32s) -> Int32s:
        """int32[K]: the codes of the nodes on ``rows`` (int32[K])."""
        columns = self._columns
        codes = columns.codes.take(rows)
        codes[columns.versions.take(rows) != self._versions.take(rows)] = UNKNOWN
        return codes

    def candidates(self, rows: Int32s) -> list[Candidate]:
        """Return the candidates on ``rows``; each row has one."""
        found: list[Candidate] = self._columns.candidates[rows].tolist()
        return found

    def costs(self, rows: Int32s) -> Float64s:
        """float64[6, K]: what the candidates on ``rows`` cost."""
        return self._columns.costs[:, rows]

    def rejections(self, rows: Int32s) -> Counter[Status]:
        """Return how many of the known nodes on ``rows`` are rejected, by status."""
        counts = np.bincount(self.codes(rows), minlength=REJECTED)[REJECTED:].tolist()
        pairs = zip(self._columns.statuses, counts, strict=False)
        return Counter({status: count for status, count in pairs if count})

    def without_room(self, rows: Int32s) -> Callable[[], dict[int, Status]]:
        """Return, as they are now, the known nodes on ``rows`` that are rejected, with the status of each."""
        codes, statuses = self.codes(rows), tuple(self._columns.statuses)
        return lambda: {
            row: statuses[code - REJECTED]
            for row, code in zip(rows.tolist(), codes.tolist(), strict=True)
            if code >= REJECTED
        }

    def put(self, rows: Int32s, outcomes: Sequence[Outcome]) -> None:
        """Take in what the search found on ``rows`` (int32[K])."""
        costs = np.zeros((COSTS, len(rows)))
        for at, outcome in enumerate(outcomes):
            if isinstance(outcome, Candidate):
                costs[:, at] = cost_of(outcome)
        stays = map(self._stays, rows.tolist(), outcomes)
        self.put_found(rows, outcomes, costs, ~np.fromiter(stays, np.bool_, len(rows)))

    def put_found(self, rows: Int32s, outcomes: Sequence[Outcome], costs: Float64s, passing: Bools) -> None:
        """As ``put``; ``costs`` (float64[6, K]) are those of candidates, and the outcomes of the rows
        ``passing`` (bool[K]) may be different later.
        """
        columns = self._columns
        numbers = {status: number for number, status in enumerate(columns.statuses, REJECTED)}
        for at, (row, outcome) in enumerate(zip(rows.tolist(), outcomes, strict=True)):
            if isinstance(outcome, Status):
                columns.codes[row] = numbers.setdefault(outcome, REJECTED + len(numbers))
                if outcome.code is Code.ERROR:
                    self._passing.append(row)
            else:
                columns.codes[row] = VIOLATING if outcome.violations else CANDIDATE
                columns.candidates[row] = outcome
                columns.bytes += _CANDIDATE_BYTES + int(costs[3, at]) * _VICTIM_BYTES
        columns.costs[:, rows] = costs
        columns.versions[rows] = self._versions[rows]
        self._passing += rows[passing].tolist()
        columns.statuses = list(numbers)

    def lasting(self) -> Columns:
        """Return all that stays true later. The search is over then."""
        self._columns.versions[self._passing] = _NEVER
        return self._columns

    def _stays(self, row: int, outcome: Outcome) -> bool:
        """Return whether the outcome, if it's no failure, is the same later. A group's pods may be preempted
        with new ones on other nodes, and if only some pods have started, the clock decides which is oldest.
        """
        records = tuple(self._snapshot.pods.records_on(row))
        if any(record.kind.base.template.group is not None for record in records):
            return False
        return isinstance(outcome, Status) or len({record.start_time is None for record in records}) < 2
