"""The node selected for a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from mooring.framework import SUCCESS, CycleState, Int32s, Status
from mooring.framework.groups import MadeOnUse
from mooring.runtime.cycle.evaluation import Evaluation


class Choice(msgspec.Struct, frozen=True):
    """The node selected for a pod, or none.

    Attributes:
        node_name: The node; None when none is feasible.
        row: Its row, -1 without one.
        total: Its total; 0 when scoring was not needed.
        tie_count: How many nodes have the highest total.
        evaluated: How many nodes Filter evaluated.
        feasible: How many of them can take the pod.
        state_version: The version of the state that was evaluated.
        source: The full evaluation, or the cycle state of a cached one.
    """

    node_name: str | None
    row: int
    total: int
    tie_count: int
    evaluated: int
    feasible: int
    state_version: int
    source: Evaluation | CycleState

    @property
    def evaluation(self) -> Evaluation:
        """The full evaluation; there is one when no node was found, or when it was requested. Raises
        LookupError if it comes from a cached evaluation.
        """
        if isinstance(self.source, Evaluation):
            return self.source
        raise LookupError("selected from a cached evaluation; decide in full to see all of it")

    @property
    def status(self) -> Status:
        """The verdict on the pod."""
        return self.source.status if isinstance(self.source, Evaluation) else SUCCESS

    @property
    def message(self) -> str:
        """kube-scheduler's sentence for an unschedulable pod; "" when it has a node."""
        return self.source.message if isinstance(self.source, Evaluation) else ""

    @property
    def written(self) -> CycleState:
        """The plugins' notes, which other choices may share: the points after this one use a copy."""
        return self.source.state if isinstance(self.source, Evaluation) else self.source

    @property
    def ties(self) -> Int32s:
        """int32[tie_count]: the rows of all nodes with the highest total, in the evaluation's order. Raises
        LookupError if it comes from a cached evaluation.
        """
        evaluation = self.evaluation
        rows: Int32s = evaluation.rows[evaluation.best]
        return rows


class ChoiceColumns(msgspec.Struct):
    """The nodes selected for pods that all have one; every list has one entry per pod.

    Attributes:
        version: The version of the state that was evaluated.
        epoch: The node epoch that ``rows`` belong to.
        names: The nodes.
        totals, tie_counts, feasible, evaluated: As in ``Choice``.
    """

    version: int
    epoch: int
    names: list[str] = msgspec.field(default_factory=list)
    rows: list[int] = msgspec.field(default_factory=list)
    totals: list[int] = msgspec.field(default_factory=list)
    tie_counts: list[int] = msgspec.field(default_factory=list)
    feasible: list[int] = msgspec.field(default_factory=list)
    evaluated: list[int] = msgspec.field(default_factory=list)

    def choice(self, at: int) -> Choice:
        """Return that of one pod; what plugins wrote is not in it."""
        return _choice_at(self, at, self.version, CycleState())

    @classmethod
    def of(cls, choice: Choice, epoch: int) -> ChoiceColumns:
        """Return columns with one choice, of a pod that has a node."""
        return cls(
            choice.state_version,
            epoch,
            [choice.node_name or ""],
            [choice.row],
            [choice.total],
            [choice.tie_count],
            [choice.feasible],
            [choice.evaluated],
        )


@dataclass(slots=True)
class PlacedColumns(MadeOnUse[Choice]):
    """The choices of pods that were assumed one after the other; every list has one entry per pod.

    Attributes:
        names: The nodes.
        totals, tie_counts, evaluated, feasible, versions, sources: As in ``Choice``.
    """

    names: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    tie_counts: list[int] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)
    feasible: list[int] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    sources: list[CycleState] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Choice]:
        columns = (
            *(self.names, self.rows, self.totals, self.tie_counts, self.evaluated, self.feasible),
            *(self.versions, self.sources),
        )
        return map(Choice, *columns)

    def made(self, at: int) -> Choice:
        return _choice_at(self, at, self.versions[at], self.sources[at])


def _choice_at(columns: ChoiceColumns | PlacedColumns, at: int, version: int, source: CycleState) -> Choice:
    return Choice(
        columns.names[at],
        columns.rows[at],
        columns.totals[at],
        columns.tie_counts[at],
        columns.evaluated[at],
        columns.feasible[at],
        version,
        source,
    )


NO_CHOICES = ChoiceColumns(-1, -1)
"""Those of no pod."""

IN_FULL = -1
"""Stands for the number of pods that have a node in a placement."""


@dataclass(frozen=True, slots=True)
class FirstChoices:
    """The nodes of the first pods of a group in each of P placements; it gets at most one of these.

    Attributes:
        counts: int32[P], how many pods have one; ``IN_FULL`` where they have to be evaluated in full.
        columns: Returns those in one placement, which takes longer than finding them.
    """

    counts: Int32s
    columns: Callable[[int], ChoiceColumns]

    @classmethod
    def none(cls, placements: int) -> FirstChoices:
        """Return those of a group whose pods are all evaluated in full in each of the placements."""
        return cls(np.full(placements, IN_FULL, np.int32), lambda _: NO_CHOICES)

    def listed(self, at: int) -> list[Choice]:
        """Return those in one placement, one by one."""
        if self.counts[at] == IN_FULL:
            return []
        columns = self.columns(at)
        return [columns.choice(pod) for pod in range(len(columns.rows))]


def choice_of(evaluation: Evaluation, best: Int32s, position: int, version: int) -> Choice:
    """Return the choice of one of the ``best`` of an evaluation, the ``position``-th in row order."""
    ties = evaluation.rows[best]
    row = int(np.partition(ties, position)[position])
    name, total = evaluation.names[row], evaluation.best_total
    feasible = evaluation.feasible_count
    return Choice(name, row, total, len(ties), evaluation.evaluated, feasible, version, evaluation)


def no_choice(evaluation: Evaluation, version: int) -> Choice:
    """Return the choice of none of the nodes."""
    return Choice(None, -1, 0, 0, evaluation.evaluated, evaluation.feasible_count, version, evaluation)
