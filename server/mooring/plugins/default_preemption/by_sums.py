"""Which pods would have to go, on many nodes at once, if filters read only the amounts that pods take.

The same as ``victims`` finds node by node. All less important pods go. If the node then takes the pod, they
come back one after the other, as long as it still does. Those that violate a budget come back first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, Pod, Status
from mooring.framework.pod_table import PodKind
from mooring.framework.preemption import Candidate, NodeSums
from mooring.kernels.arrays import Float64s
from mooring.plugins.default_preemption.importance import OFFSET
from mooring.plugins.default_preemption.row_pods import LowerPods
from mooring.plugins.default_preemption.units import VictimUnit, by_importance, pods_of
from mooring.plugins.default_preemption.victims import AGES_ONCE_SINCE, NO_VICTIMS, VictimSearch, nobody_goes


@dataclass
class SumsSearch:
    """The search on some nodes.

    Attributes:
        sums: The nodes.
        rows: int32[K], their rows.
        search: The search with its pod.
        lower: Their less important pods.
    """

    sums: NodeSums
    rows: Int32s
    search: VictimSearch
    lower: LowerPods

    def run(self) -> tuple[list[Candidate | Status], Float64s]:
        """Return each node's outcome, and float64[6, K] the candidates' costs, see ``cost_of``."""
        lower, rows = self.lower, self.rows
        said: list[Candidate | Status] = [NO_VICTIMS] * len(rows)
        with_pods = np.flatnonzero(lower.counts)
        costs: Float64s = np.zeros((6, len(rows)))
        if not len(with_pods):
            return said, costs
        kinds, numbers = _numbered([record.kind for record in lower.records])
        amounts: Int64s = np.stack([self.sums.amounts(kind.usage) for kind in kinds], axis=1)[:, numbers]
        taken = self.sums.taken(rows)
        taken[:, with_pods] -= np.add.reduceat(amounts, lower.firsts[with_pods], axis=1)
        codes, statuses = self.sums.statuses(rows[with_pods], taken[:, with_pods], again=False)
        for at, code in zip(with_pods.tolist(), codes.tolist(), strict=True):
            said[at] = statuses[code]
        fitting = with_pods[codes == 0]
        turns, violating = self._turns(kinds, numbers)
        gone = self._gone(fitting, turns, amounts, taken)
        self._weigh(fitting, gone, violating, costs)
        names = self.search.nodes.snapshot.nodes.names
        leaving, violations = costs[3, fitting].tolist(), costs[0, fitting].astype(np.int64).tolist()
        for at, row, count, amount in zip(
            fitting.tolist(), rows[fitting].tolist(), leaving, violations, strict=True
        ):
            victims = partial(self._victims, at, turns, gone, violating)
            said[at] = Candidate(names[row], victims, amount) if count else nobody_goes(names[row])
        return said, costs

    def _turns(self, kinds: Sequence[PodKind], numbers: Int64s) -> tuple[Int64s, Bools]:
        """int64[P], bool[P]: in which order the pods of each node come back, and whose going violates a
        budget. Those of ``kinds`` are by ``numbers`` (int64[P]).
        """
        lower, budgets = self.lower, self.search.budgets
        turns = np.arange(len(lower.records))
        violating = np.zeros(len(lower.records), np.bool_)
        guards = [budgets.guarding(kind.template) for kind in kinds]
        guarded = np.flatnonzero(np.array([bool(some) for some in guards], np.bool_)[numbers])
        if not len(guarded):
            return turns, violating
        node = np.repeat(np.arange(len(lower.counts)), lower.counts)
        used: Counter[tuple[str, str]] = Counter()
        before = -1
        for at, number, kind in zip(
            node[guarded].tolist(), guarded.tolist(), numbers[guarded].tolist(), strict=True
        ):
            if at != before:
                used.clear()
                before = at
            violating[number] = budgets.violates_any(guards[kind], lower.records[number].name, used)
        # Node by node, those that violate first; each keeps its place among its like.
        return np.lexsort((~violating, node)), violating

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

    def _victims(self, at: int, turns: Int64s, gone: Bools, violating: Bools) -> tuple[Pod, ...]:
        """Return the victims on the node at ``at``, in order, or by importance if some violate a budget."""
        lower, search, first = self.lower, self.search, int(self.lower.firsts[at])
        span = slice(first, first + int(lower.counts[at]))
        numbers = turns[span][gone[turns[span]]].tolist()
        victims = tuple(lower.records[number].pod for number in numbers)
        some = violating[span]
        if some.all() or not some.any():
            return victims
        units = [
            VictimUnit.of((pod,), pod.priority, search.units.now, lower.places[number])
            for pod, number in zip(victims, numbers, strict=True)
        ]
        return pods_of(by_importance(units, in_order=search.version >= AGES_ONCE_SINCE))


def _numbered(kinds: Sequence[PodKind]) -> tuple[list[PodKind], Int64s]:
    """Return the distinct ``kinds``, and int64[P] which of them each is."""
    known: dict[int, int] = {}
    numbers = [known.setdefault(id(kind), len(known)) for kind in kinds]
    distinct = {id(kind): kind for kind in kinds}
    return [distinct[number] for number in known], np.array(numbers, np.int64)
