"""New nodes of several groups as columns, with the effects of pods; each group is a world of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mooring.framework import Bools, Int32s, Int64s, NodeView, Snapshot
from mooring.framework.new_node_rules import AtMost, CountedPods, Near, OtherDomains, Rule
from mooring.framework.node_table import PODS_ROW
from mooring.framework.pod_requests import PodUsage
from mooring.kernels.arrays import REJECTED
from mooring.kernels.select import leader_of_each


@dataclass(slots=True, eq=False)
class _Counts:
    """How many pods of some sort there are in each domain.

    Attributes:
        pods: The sort.
        shared: int64[G], by group those in the domain of all its nodes.
        by_node: int64[R], those on each node where each is a domain; else empty.
        came: int64[G], how many came to new nodes.
    """

    pods: CountedPods
    shared: Int64s
    by_node: Int64s
    came: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.came = np.zeros(len(self.shared), np.int64)


class HypotheticalNodes:
    """Some new nodes of each of G groups. For one thread.

    Args:
        snapshot: Tables that have a node of each group.
        rows: int32[G], these nodes.
        counts: int64[G], how many there are of each, 1 or more.
        rules: All rules that ``allow`` will get, of the same groups.

    Attributes:
        view: All R nodes, group by group, to ask about room alone.
    """

    def __init__(self, snapshot: Snapshot, rows: Int32s, counts: Int64s, rules: Iterable[Rule]) -> None:
        self._counts = counts
        self._first = np.cumsum(counts) - counts
        self._group = np.repeat(np.arange(len(rows)), counts)
        size = len(self._group)
        table = self._table = replace(
            snapshot.nodes,
            allocatable=np.repeat(snapshot.nodes.allocatable[:, rows], counts, axis=1),
            requested=np.repeat(snapshot.nodes.requested[:, rows], counts, axis=1),
            non_zero_requested=np.repeat(snapshot.nodes.non_zero_requested[:, rows], counts, axis=1),
            alive=np.ones(size, np.bool_),
        )
        everything = Snapshot(table, snapshot.pods, snapshot.objects)
        self.view = NodeView(everything, np.arange(size, dtype=np.int32))
        self._counted = {
            id(pods): _Counts(pods, pods.there.copy(), np.zeros(size if pods.by_node else 0, np.int64))
            for rule in rules
            for pods in rule.sorts
        }

    def allow(self, rule: Rule, totals: Int32s) -> Bools:
        """bool[G]: the groups whose nodes ``rule`` doesn't reject as a whole.

        Single nodes that it rejects get ``REJECTED`` in ``totals`` (int32[R]).
        """
        return self._allow_near(rule, totals) if isinstance(rule, Near) else self._allow_most(rule, totals)

    def place(self, totals: Int32s, groups: Bools, mixed: int, usage: PodUsage, kind: int) -> Int64s:
        """int64[G]: the node of each group that a pod gets, by number; ``REJECTED`` = none. It counts there.

        Args:
            totals: int32[R], of each node; ``REJECTED`` = it is rejected.
            groups: bool[G], the groups that may take it.
            mixed: Decides between nodes of equal totals, as ``mix64`` gives it.
            usage: Its usage.
            kind: The number of its kind.
        """
        selected = leader_of_each(totals, self._first, self._group, mixed)
        got: Bools = groups & (selected != REJECTED)
        self._count(selected[got], got, usage, kind)
        return np.where(got, selected - self._first, REJECTED)

    def _count(self, nodes: Int64s, groups: Bools, usage: PodUsage, kind: int) -> None:
        """Count a pod on ``nodes``, one of each of ``groups`` (bool[G])."""
        table = self._table
        table.requested[PODS_ROW, nodes] += 1
        for position, amount in table.by_position(usage.requests):
            table.requested[position, nodes] += amount
        table.non_zero_requested[0, nodes] += usage.non_zero_cpu
        table.non_zero_requested[1, nodes] += usage.non_zero_memory
        for counted in self._counted.values():
            amount = int(counted.pods.adds[kind])
            if not amount:
                continue
            counting = groups & counted.pods.counting
            counted.came[counting] += amount
            if counted.pods.by_node:
                counted.by_node[nodes[counting[groups]]] += amount
            else:
                counted.shared[counting] += amount

    def _allow_most(self, rule: AtMost, totals: Int32s) -> Bools:
        counted = self._counted[id(rule.pods)]
        if not rule.pods.by_node:
            most = rule.most + self._fewest(rule.pods, rule.others, counted.shared, 1)
            return rule.inside & (counted.shared <= most)
        fewest: Int64s | int = 0
        if rule.others is not None:
            own = (
                np.minimum.reduceat(counted.by_node, self._first) if rule.others.least.any() else counted.came
            )
            fewest = self._fewest(rule.pods, rule.others, own, self._counts)
        limit = np.broadcast_to(rule.most + fewest, len(self._counts))
        totals[counted.by_node > limit.take(self._group)] = REJECTED
        return rule.inside

    @staticmethod
    def _fewest(
        pods: CountedPods, others: OtherDomains | None, own: Int64s, domains: Int64s | int
    ) -> Int64s | int:
        """int64[G]: the fewest pods that a domain has; ``own`` is that of the groups' ``domains``."""
        if others is None:
            return 0
        counts = pods.counting | others.own
        fewest = np.where(counts, np.minimum(others.least, own), others.least)
        return np.where(others.count + counts * domains < others.enough, 0, fewest)

    def _allow_near(self, rule: Near, totals: Int32s) -> Bools:
        counted = [self._counted[id(pods)] for pods in rule.pods]
        some: Bools = np.logical_or.reduce([each.came > 0 for each in counted]) | rule.elsewhere
        allowed: Bools = rule.inside.copy()
        for each in counted:
            if not each.pods.by_node:
                allowed &= ~some | (each.shared > 0)
            else:
                totals[some.take(self._group) & (each.by_node == 0)] = REJECTED
        return allowed & (some | rule.first)


def distinct(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules in which equal sorts of pods are the same object."""
    known: dict[tuple[object, ...], CountedPods] = {}

    def same(pods: CountedPods) -> CountedPods:
        key = pods.by_node, pods.adds.tobytes(), pods.there.tobytes(), pods.counting.tobytes()
        return known.setdefault(key, pods)

    return [rule.counting(same) for rule in rules]
