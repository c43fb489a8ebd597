"""The evaluation of nodes for one pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from mooring.framework import SUCCESS, Code, CycleState, Int32s, Int64s, NodeView, Part, Pod, Snapshot, Status
from mooring.framework.preemption import Preemption
from mooring.framework.row_versions import AsOf
from mooring.framework.state import ClusterState
from mooring.runtime.profiles.profile import Profile

Document = dict[str, Any]
"""A JSON object."""

NOT_EVALUATED = Status.unresolvable("node(s) not evaluated, enough feasible ones were found before")
"""The verdict on nodes that sampling or a nominated node left out."""

NO_NODES = Status.unresolvable("no nodes available to schedule pods")
"""The verdict on a pod when there is no node at all."""


@dataclass(frozen=True, slots=True)
class PreFilterOutcome:
    """The result of one PreFilter plugin; ``nodes`` are the only possible names, None = all."""

    status: Status
    nodes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's scores of the F feasible nodes: int64[F] each; weighted = normalized * weight."""

    plugin: str
    weight: int
    raw: Int64s
    normalized: Int64s


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of the feasible nodes.

    Attributes:
        plugins: Those that didn't skip, in the profile's order.
        totals: int64[F], the sums of the weighted scores.
    """

    plugins: tuple[PluginScores, ...]
    totals: Int64s


class CycleInput(msgspec.Struct, eq=False, frozen=True):
    """The question of an evaluation. Never changed.

    Attributes:
        names: The names of its rows, which stay true when nodes go and others take their rows.
        rows: int32[N], the candidates' rows; none when the pod may not be scheduled yet.
        as_of: The versions of the state before; None if no answer is kept.
    """

    profile: Profile
    cluster: ClusterState
    snapshot: Snapshot
    names: Sequence[str]
    pod: Pod
    rows: Int32s
    as_of: AsOf | None = None


class Written(msgspec.Struct, eq=False):
    """The notes of plugins, and their effects.

    Attributes:
        state: The notes for later points.
        prefilter: By PreFilter plugin, in order, its result; those that skipped are absent.
        skipped: The PreFilter plugins that skipped, whose Filter is left out.
        limiting: The PreFilter plugins that left out nodes.
        filters_read: The parts that the Filter plugins read, once that is worked out.
    """

    state: CycleState
    prefilter: dict[str, PreFilterOutcome] = {}
    skipped: set[str] = set()
    limiting: set[str] = set()
    filters_read: Part | None = None


class Evaluation(msgspec.Struct, eq=False):
    """The answers about a pod on the candidate nodes. A struct, as every question makes one.

    Attributes:
        codes: int32[N], per candidate an index into ``statuses``.
        statuses: The distinct verdicts; number 0 is Success.
        rejections: With all rejections requested: per candidate, the status of every rejecting plugin.
        evaluated: How many candidates the Filter plugins evaluated.
        advance: By how many nodes the next search begins later; 0 when the nominated node was taken.
        extenders_reject: An extender rejected nodes that every Filter plugin passed.
        rejection: Why the pod as a whole was rejected before Filter, else Success.
        post_filter: The status of PostFilter for a pod that no node takes; Success when it wasn't called.
        room_is_made: The message about pods that leave for this one; "" = nothing.
        room_on: The node of the victims; "" = there are none.
        scores: None when scoring was not needed or not possible.
        preemption: The result of preemption for the pod; None unless it was run.
        nominated: The position of the nominated node, which is selected whatever the totals of others that
            were evaluated too; None = the totals decide.
        of_totals: It was made of cached totals, and does not have what each plugin said.
        recalled: How many candidates had a verdict that was known before.

    Once it is closed, the verdicts don't change, and they are counted once for all readers.
    """

    asked: CycleInput
    written: Written
    codes: Int32s
    statuses: list[Status]
    rejections: list[list[Status]] | None = None
    evaluated: int = 0
    advance: int = 0
    extenders_reject: bool = False
    rejection: Status = SUCCESS
    post_filter: Status = SUCCESS
    room_is_made: str = ""
    room_on: str = ""
    scores: Scores | None = None
    preemption: Preemption | None = None
    nominated: int | None = None
    of_totals: bool = False
    recalled: int = 0
    _candidates: NodeView | None = None
    _counts: list[int] | None = None
    _feasible_count: int | None = None
    _status: Status | None = None

    @property
    def pod(self) -> Pod:
        """The pod."""
        return self.asked.pod

    @property
    def profile(self) -> Profile:
        """The profile."""
        return self.asked.profile

    @property
    def cluster(self) -> ClusterState:
        """The state that was read."""
        return self.asked.cluster

    @property
    def snapshot(self) -> Snapshot:
        """The tables that were read."""
        return self.asked.snapshot

    @property
    def names(self) -> Sequence[str]:
        """The names of the snapshot's rows."""
        return self.asked.names

    @property
    def rows(self) -> Int32s:
        """int32[N]: the candidates' rows."""
        return self.asked.rows

    @property
    def state(self) -> CycleState:
        """The plugins' notes, for the points after the selection."""
        return self.written.state

    def by(self, profile: Profile) -> Evaluation:
        """Return this evaluation, to be gone on with by the plugins of another profile."""
        return msgspec.structs.replace(self, asked=msgspec.structs.replace(self.asked, profile=profile))

    def reject_before_nodes(self, status: Status) -> None:
        """Take in that the pod may not be scheduled yet: there are no candidates."""
        none = np.zeros(0, np.int32)
        self.asked = msgspec.structs.replace(self.asked, rows=none)
        self.codes, self.rejection = none, status

    def closed(self) -> Evaluation:
        """Make the verdicts read-only; returns the evaluation."""
        self.codes.flags.writeable = False
        return self

    def rejecting_too(self, other: Evaluation) -> Evaluation:
        """Return this evaluation, closed and without scores, minus the nodes that ``other`` rejects."""
        rejected = np.flatnonzero(other.codes)
        names = map(other.names.__getitem__, other.rows[rejected].tolist())
        said = dict(zip(names, other.codes[rejected].tolist(), strict=True))
        both = msgspec.structs.replace(
            self,
            codes=self.codes.copy(),
            statuses=list(self.statuses),
            rejection=other.rejection if self.rejection.ok else self.rejection,
            scores=None,
            _counts=None,
            _feasible_count=None,
            _status=None,
        )
        for position in self.feasible.tolist():
            code = said.get(self.names[self.rows[position]])
            if code is not None:
                both.codes[position] = both.number_of(other.statuses[code])
        return both.closed()

    def view(self, rows: Int32s) -> NodeView:
        """Return the view of ``rows``, all or some of the candidates in their order."""
        if len(rows) != len(self.rows):
            return NodeView(self.snapshot, rows)
        if self._candidates is None or self._candidates.rows is not self.rows:
            self._candidates = NodeView(self.snapshot, self.rows)
        return self._candidates

    @property
    def feasible(self) -> Int32s:
        """int32[F]: positions, among the candidates, of the feasible nodes."""
        found: Int32s = (self.codes == 0).nonzero()[0].astype(np.int32)
        return found

    @property
    def feasible_count(self) -> int:
        """How many candidates are feasible."""
        if self._feasible_count is not None:
            return self._feasible_count
        count = len(self.codes) - int(np.count_nonzero(self.codes))
        if not self.codes.flags.writeable:
            self._feasible_count = count
        return count

    @property
    def counts(self) -> list[int]:
        """By number of a status, how many candidates it is the verdict on."""
        if self.codes.flags.writeable:
            return self._counted()
        if self._counts is None:
            self._counts = self._counted()
        return self._counts

    @property
    def best(self) -> Int32s:
        """int32[T]: positions of the feasible candidates with the highest total, or the nominated one."""
        if self.nominated is not None:
            return np.array([self.nominated], np.int32)
        feasible = self.feasible
        if self.scores is None or not len(feasible):
            return feasible
        totals = self.scores.totals
        best: Int32s = feasible[totals == totals.max()]
        return best

    @property
    def best_total(self) -> int:
        """The total of the ``best``; 0 when scoring was not needed."""
        if self.scores is None:
            return 0
        totals = self.scores.totals
        if self.nominated is None:
            return int(totals.max())
        return int(totals[np.searchsorted(self.feasible, self.nominated)])

    @property
    def status(self) -> Status:
        """The verdict on the pod."""
        if not self.rejection.ok:
            return self.rejection
        if self.feasible_count:
            return SUCCESS
        if self.codes.flags.writeable:
            return self._rejected()
        if self._status is None:
            self._status = self._rejected()
        return self._status

    @property
    def warnings(self) -> tuple[str, ...]:
        """The profile's warnings to the caller."""
        return self.profile.warnings

    @property
    def message(self) -> str:
        """kube-scheduler's sentence for an unschedulable pod; "" when it has a node.

        It is the message of the condition PodScheduled; the scheduler cuts it for the event.
        Mirrors ``FitError.Error`` in ``framework/types.go``.
        """
        if self.rejection.ok and self.feasible_count:
            return ""
        if not len(self.rows):
            return self.rejection.message
        said = self.rejection.message
        if self.rejection.ok:
            said = ", ".join(sorted(f"{count} {reason}" for reason, count in self._reason_counts().items()))
        sentence = f"0/{len(self.rows)} nodes are available:{f' {said}.' if said else ''}"
        after = self.room_is_made if self.post_filter.ok else self.post_filter.message
        return f"{sentence} {after}" if after else sentence

    def number_of(self, status: Status) -> int:
        """Return the index of ``status`` in ``statuses``, where it is added if need be."""
        if status not in self.statuses:
            self.statuses.append(status)
        return self.statuses.index(status)

    def _reason_counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for status, amount in zip(self.statuses, self.counts, strict=False):
            for reason in status.reasons if amount else ():
                counts[reason] += amount
        return counts

    def _rejected(self) -> Status:
        return Status(Code.UNSCHEDULABLE, tuple(sorted(self._reason_counts())))

    def _counted(self) -> list[int]:
        counts: list[int] = np.bincount(self.codes, minlength=len(self.statuses)).tolist()
        return counts


def begin(
    profile: Profile,
    cluster: ClusterState,
    pod: Pod,
    rows: Int32s,
    view: NodeView | None = None,
    *,
    state: CycleState | None = None,
    as_of: AsOf | None = None,
) -> Evaluation:
    """Return an evaluation in which nothing has run yet and every candidate counts as feasible.

    ``view`` is the one of ``rows``, for callers that have it already; ``state`` is what plugins wrote before.
    """
    snapshot = cluster.snapshot
    asked = CycleInput(profile, cluster, snapshot, snapshot.nodes.names, pod, rows, as_of)
    written = Written(CycleState() if state is None else state)
    return Evaluation(asked, written, np.zeros(len(rows), np.int32), [SUCCESS], _candidates=view)


def begin_trial(base: Evaluation, snapshot: Snapshot, rows: Int32s, written: Written) -> Evaluation:
    """Return an evaluation of the pod of ``base`` on ``rows`` of a changed ``snapshot``, after PreFilter."""
    asked = msgspec.structs.replace(base.asked, snapshot=snapshot, rows=rows)
    return Evaluation(asked, written, np.zeros(len(rows), np.int32), [SUCCESS])
