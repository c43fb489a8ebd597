"""Which pods would have to go, on many nodes at once, where filters look only at what pods take.

As ``victims`` has it node by node: all less important pods go; if the node does then, they come back one
after the other, those first whose going violates a budget, as long as the node still does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, Pod, Status
from mooring.framework.preemption import Candidate, NodeSums
from mooring.framework.remembering import ByIdentity
from mooring.plugins.default_preemption.importance import OFFSET, Float64s, by_importance
from mooring.plugins.default_preemption.row_pods import LowerPods
from mooring.plugins.default_preemption.victims import AGES_ONCE_SINCE, NO_VICTIMS, VictimSearch, nobody_goes

_MAX_KINDS = 1 << 12


@dataclass
class SumsSearch:
    """The search on some nodes.

    Attributes:
        sums: The nodes.
        rows: int32[K], their rows.
        search: For whom.
        lower: Their less important pods.
    """

    sums: NodeSums
    rows: Int32s
    search: VictimSearch
    lower: LowerPods

    def run(self) -> tuple[list[Candidate | Status], Float64s]:
        """Return what is said of each node, and float64[6, K] what the candidates cost, see ``cost_of``."""
        lower, rows = self.lower, self.rows
        said: list[Candidate | Status] = [NO_VICTIMS] * len(rows)
        with_pods = np.flatnonzero(lower.counts)
        costs: Float64s = np.zeros((6, len(rows)))
        if not len(with_pods):
            return said, costs
        amount_of = ByIdentity(self.sums.amounts, most=_MAX_KINDS)
        amounts: Int64s = np.stack([amount_of(record.kind.usage) for record in lower.records], axis=1)
        taken = self.sums.taken(rows)
        taken[:, with_pods] -= np.add.reduceat(amounts, lower.firsts[with_pods], axis=1)
        codes, statuses = self.sums.statuses(rows[with_pods], taken[:, with_pods], again=False)
        for at, code in zip(with_pods.tolist(), codes.tolist(), strict=True):
            said[at] = statuses[code]
        fitting = with_pods[codes == 0]
        turns, violating = self._turns(fitting)
        gone = self._gone(fitting, turns, amounts, taken)
        self._weigh(fitting, gone, violating, costs)
        for at in fitting.tolist():
            said[at] = self._outcome(at, turns, gone, violating, int(costs[0, at]))
        return said, costs

    def _turns(self, fitting: Int64s) -> tuple[Int64s, Bools]:
        """int64[P], bool[P]: in which order the pods of each node come back, and whose going violates a
        budget.
        """
        lower = self.lower
        turns = np.arange(len(lower.records))
        violating = np.zeros(len(lower.records), np.bool_)
        if self.search.budgets.empty:
            return turns, violating
        guards = ByIdentity(self.search.budgets.guards, most=_MAX_KINDS)
        guarded = np.array([guards(record.kind.template) for record in lower.records], np.bool_)
        for at in fitting.tolist():
            first, count = int(lower.firsts[at]), int(lower.counts[at])
            span = slice(first, first + count)
            if guarded[span].any():
                used: Counter[tuple[str, str]] = Counter()
                for number in (np.flatnonzero(guarded[span]) + first).tolist():
                    violating[number] = self.search.budgets.violates(lower.records[number].pod, used)
                turns[span] = first + np.argsort(~violating[span], kind="stable")
        return turns, violating

    def _gone(self, fitting: Int64s, turns: Int64s, amounts: Int64s, taken: Int64s) -> Bools:
        """bool[P]: the pods that can't come back."""
        lower = self.lower
        gone = np.zeros(len(lower.records), np.bool_)
        for turn in range(int(lower.counts[fitting].max(initial=0))):
            some = fitting[lower.counts[fitting] > turn]
            back = turns[lower.firsts[some] + turn]
            taken[:, some] += amounts[:, back]
            codes, _ = self.sums.statuses(self.rows[some], taken[:, some], again=True)
            stays_out = codes != 0
            taken[:, some[stays_out]] -= amounts[:, back[stays_out]]
            gone[back[stays_out]] = True
        return gone

    def _weigh(self, fitting: Int64s, gone: Bools, violating: Bools, costs: Float64s) -> None:
        """Fill in what the candidates among ``fitting`` cost."""
        lower, infinite = self.lower, np.inf
        if not len(fitting):
            return
        firsts = lower.firsts[lower.counts > 0]
        where = np.flatnonzero(lower.counts)
        top = np.maximum.reduceat(np.where(gone, lower.priorities, -OFFSET), firsts)
        tops = gone & (lower.priorities == np.repeat(top, lower.counts[where]))
        waiting = np.add.reduceat(tops & (lower.starts == infinite), firsts) > 0
        every = (
            np.add.reduceat(gone & violating, firsts),
            top,
            np.add.reduceat(np.where(gone, lower.priorities + OFFSET, 0), firsts),
            np.add.reduceat(gone, firsts, dtype=np.int64),
            np.minimum.reduceat(np.where(tops, lower.starts, infinite), firsts),
            waiting,
        )
        for cost, values in zip(costs, every, strict=True):
            cost[where] = values

    def _outcome(
        self, at: int, turns: Int64s, gone: Bools, violating: Bools, violations: int
    ) -> Candidate | Status:
        first, count = int(self.lower.firsts[at]), int(self.lower.counts[at])
        span = slice(first, first + count)
        order, name = turns[span][gone[turns[span]]], self.search.nodes.snapshot.nodes.names[self.rows[at]]
        if not len(order):
            return nobody_goes(name)
        some = violating[span]
        mixed = bool(some.any() and not some.all())
        return Candidate(name, partial(self._victims, order.tolist(), span, mixed), violations)

    def _victims(self, order: Sequence[int], span: slice, mixed: bool) -> tuple[Pod, ...]:
        """Return the pods at ``order``, in turn; ``mixed`` ones are put in the order of their importance."""
        lower = self.lower
        victims = [lower.records[number].pod for number in order]
        if not mixed:
            return tuple(victims)
        places, records = lower.places[span], lower.records[span]
        came = [records[at].pod for at in sorted(range(len(places)), key=places.__getitem__)]
        in_order = self.search.version >= AGES_ONCE_SINCE
        return tuple(by_importance(victims, self.search.now, came if in_order else None))
