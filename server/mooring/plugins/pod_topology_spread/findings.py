"""Findings about the spread constraints that a node does not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from mooring.framework import (
    Amounts,
    Bools,
    CycleState,
    Finding,
    Holder,
    HolderKind,
    Int64s,
    NodeInfo,
    NodeView,
    Pod,
    ReasonCode,
    Snapshot,
)
from mooring.framework.findings import MOST_HOLDERS, pod_holder, seen_from, shared
from mooring.framework.taints import untolerated
from mooring.kernels.arrays import ABSENT
from mooring.plugins.pod_topology_spread.filtering import HardConstraint, HardCounts

_NAMED = 3
"""The domains that a sentence names."""


def skews(state: CycleState, pod: Pod, node: NodeInfo, *, comparing: bool) -> Iterator[Finding]:
    """Yield a finding for each constraint that keeps ``pod`` from ``node``."""
    counts, row = state.read(HardCounts, HardCounts), node.snapshot.nodes.index[node.name]
    for at, constraint in enumerate(counts.constraints):
        key, domain = constraint.rule.topology_key, int(constraint.pods.topology.ids[row])
        if domain == ABSENT:
            yield Finding(
                ReasonCode.SPREAD_LABEL_MISSING,
                key,
                f"the node lacks the label {key}, by which the pods are spread",
                asked=f"label {key}",
                node_change=f"label the node with {key}",
            )
        elif constraint.pods.counts[domain] > constraint.most():
            find = partial(_Skew, constraint, counts.namespace, pod, node.snapshot, comparing)
            yield shared(state, (_Skew, at), find).finding(node, domain)


def _pods_text(count: int) -> str:
    return f"{count} matching pod{'' if count == 1 else 's'}"


def _listed(domains: Sequence[Holder]) -> str:
    """Return the first domains as a sentence names them; a note that all share comes once."""
    alike = len({each.note for each in domains}) == 1
    names = ", ".join(each.name if alike else each.text for each in domains[:_NAMED])
    names += f" and {len(domains) - _NAMED} more" if len(domains) > _NAMED else ""
    return f"{names} ({domains[0].note})" if alike and domains[0].note else names


class _Skew:
    """One constraint, by which some nodes are in a domain with too many pods."""

    def __init__(
        self, constraint: HardConstraint, namespace: str, pod: Pod, snapshot: Snapshot, comparing: bool
    ) -> None:
        self._constraint, self._namespace = constraint, namespace
        self._pod, self._snapshot, self._comparing = pod, snapshot, comparing
        self._table = snapshot.nodes
        self._limit = constraint.most() + constraint.own
        self._least = self._limit - constraint.rule.max_skew
        self._holders: dict[int, list[Holder]] = {}

    def finding(self, node: NodeInfo, domain: int) -> Finding:
        """Return the finding about ``node``, whose ``domain`` has too many pods."""
        constraint, rule = self._constraint, self._constraint.rule
        here, limit, least = int(constraint.pods.counts[domain]), self._limit, self._least
        emptiest = self._emptiest
        names = _listed(emptiest)
        there = self._value(self._table.index[node.name])
        idle = bool(emptiest) and all(each.note for each in emptiest) and not rule.honors_taints
        said = f"{rule.topology_key} with maxSkew {rule.max_skew}: {there} has {_pods_text(here)}, "
        if not emptiest:
            said += "and no domain counts"
        elif int(constraint.pods.counts[constraint.domains].min()) != least:
            said += f"and the fewest count as {least} because there are fewer domains than "
            said += f"minDomains {rule.min_domains}"
        else:
            said += f"and {names} {'has' if len(emptiest) == 1 else 'have'} the fewest, {least}"
        if idle:
            said += (
                f"; {'it counts' if len(emptiest) == 1 else 'they count'} because nodeTaintsPolicy is Ignore"
            )
        said += self._left_out
        change = f"set maxSkew to {here + constraint.own - least}"
        finding = Finding(
            ReasonCode.SPREAD_SKEW,
            rule.topology_key,
            said,
            asked=f"maxSkew {rule.max_skew}",
            present=f"{here} in {there}, {least} in the emptiest domain",
            amounts=Amounts(constraint.own, here, limit),
            pod_change="set nodeTaintsPolicy to Honor" if idle else change,
            node_change="let pods end there, or add room in the emptiest domains",
        )
        if domain not in self._holders:
            self._holders[domain] = sorted(self._pods(domain), key=lambda each: each.name)
        pods = self._holders[domain]
        finding = finding.held_by(
            [*emptiest[:MOST_HOLDERS], *(seen_from(node, each) for each in pods[:MOST_HOLDERS])]
        )
        more = len(emptiest[MOST_HOLDERS:]) + len(pods[MOST_HOLDERS:])
        return replace(finding, other_holders=finding.other_holders + more)

    @cached_property
    def _emptiest(self) -> list[Holder]:
        """The domains with the fewest pods, by name."""
        domains = [self._domain(row, self._least) for row in self._constraint.emptiest()]
        return sorted(domains, key=lambda each: each.name)

    def _domain(self, row: int, count: int) -> Holder:
        """Return the domain of ``row`` as one to compare with, and why the pod can't go there."""
        ids = self._constraint.pods.topology.ids
        rows = np.flatnonzero((ids == ids[row]) & self._table.alive[: len(ids)])
        notes = {self._kept_off(int(each)) for each in rows[:64]}
        note = "" if "" in notes else " or ".join(sorted(notes)[:2])
        return Holder(HolderKind.DOMAIN, self._value(row), count, note)

    def _kept_off(self, row: int) -> str:
        node = self._table.nodes[row]
        if node is None:
            return ""
        if node.spec.unschedulable:
            return "cordoned"
        taint = untolerated(node.spec.taints, self._pod.spec.tolerations, comparing=self._comparing)
        return f"tainted {taint.key}:{taint.effect}" if taint is not None else ""

    def _value(self, row: int) -> str:
        node = self._table.nodes[row]
        return node.metadata.labels.get(self._constraint.rule.topology_key, "") if node is not None else ""

    @cached_property
    def _left_out(self) -> str:
        """Which domains do not count, with the policies that leave them out."""
        pods, counting = self._constraint.pods, self._constraint.pods.counting
        if counting is None:
            return ""
        ids, there = pods.topology.ids, self._table.alive[: len(pods.topology.ids)]
        every = np.unique(ids[there & (ids != ABSENT)])
        missing = np.setdiff1d(every, np.unique(ids[counting]))
        if not len(missing):
            return ""
        rule = self._constraint.rule
        policies = {"node affinity": rule.honors_affinity, "taints": rule.honors_taints}
        why = " or ".join(name for name, honored in policies.items() if honored)
        named = ", ".join(self._value(int((ids == each).argmax())) for each in missing[:_NAMED].tolist())
        named += f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        do = "does" if len(missing) == 1 else "do"
        return f"; {named} {do} not count because of {why or 'missing labels'}"

    @cached_property
    def _counts(self) -> Int64s:
        """int64[capacity]: the matching pods on each row."""
        ids = self._constraint.pods.topology.ids
        return self._constraint.rule.by_row(self._namespace, self._snapshot.pods.classes, len(ids))

    def _pods(self, domain: int) -> Iterator[Holder]:
        rule, ids = self._constraint.rule, self._constraint.pods.topology.ids
        rows: Bools = (ids == domain) & (self._counts > 0)
        for row in np.flatnonzero(rows)[:64].tolist():
            info = NodeView(self._snapshot, np.array([row], np.int32)).info(row)
            for record in info.records:
                if rule.counts(self._namespace, record.kind.class_key):
                    yield pod_holder(record, node=info.name)
