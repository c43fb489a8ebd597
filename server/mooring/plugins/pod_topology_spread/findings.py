"""Findings about the spread constraints that a node does not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Amounts, Bools, Finding, Holder, HolderKind, NodeInfo, NodeView, Pod, ReasonCode
from mooring.framework.findings import pod_holder
from mooring.framework.taints import untolerated
from mooring.kernels.arrays import ABSENT
from mooring.plugins.pod_topology_spread.filtering import HardConstraint, HardCounts

_NAMED = 3
"""The domains that a sentence names."""


def skews(counts: HardCounts, pod: Pod, node: NodeInfo, *, comparing: bool) -> Iterator[Finding]:
    """Yield a finding for each constraint that keeps ``pod`` from ``node``."""
    row = node.snapshot.nodes.index[node.name]
    for constraint in counts.constraints:
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
            yield _Skew(constraint, counts.namespace, pod, node, comparing).finding(domain)


def _pods_text(count: int) -> str:
    return f"{count} matching pod{'' if count == 1 else 's'}"


def _listed(domains: Sequence[Holder]) -> str:
    """Return the first domains as a sentence names them; a note that all share comes once."""
    alike = len({each.note for each in domains}) == 1
    names = ", ".join(each.name if alike else each.text for each in domains[:_NAMED])
    names += f" and {len(domains) - _NAMED} more" if len(domains) > _NAMED else ""
    return f"{names} ({domains[0].note})" if alike and domains[0].note else names


class _Skew:
    """One constraint with too many pods in the domain of a node."""

    def __init__(
        self, constraint: HardConstraint, namespace: str, pod: Pod, node: NodeInfo, comparing: bool
    ) -> None:
        self._constraint, self._namespace = constraint, namespace
        self._pod, self._node, self._comparing = pod, node, comparing
        self._table = node.snapshot.nodes

    def finding(self, domain: int) -> Finding:
        """Return the finding about ``domain``, which has too many pods."""
        constraint, rule = self._constraint, self._constraint.rule
        here, limit = int(constraint.pods.counts[domain]), constraint.most() + constraint.own
        least = limit - rule.max_skew
        emptiest = [self._domain(row, least) for row in constraint.emptiest()]
        names = _listed(emptiest)
        there = self._value(self._table.index[self._node.name])
        idle = bool(emptiest) and all(each.note for each in emptiest) and not rule.honors_taints
        said = f"{rule.topology_key}, maxSkew {rule.max_skew}: {_pods_text(here)} in {there}, "
        said += f"the fewest are {least} in {names}" if emptiest else "no domain counts"
        if emptiest and int(constraint.pods.counts[constraint.domains].min()) != least:
            said += f", since there are fewer domains than minDomains {rule.min_domains}"
        if idle:
            said += ", which count since nodeTaintsPolicy is Ignore"
        said += self._left_out()
        change = f"set maxSkew to {here + constraint.own - least}"
        return Finding(
            ReasonCode.SPREAD_SKEW,
            rule.topology_key,
            said,
            asked=f"maxSkew {rule.max_skew}",
            present=f"{here} in {there}, {least} in the emptiest domain",
            amounts=Amounts(constraint.own, here, limit),
            pod_change="set nodeTaintsPolicy to Honor" if idle else change,
            node_change="let pods end there, or add room in the emptiest domains",
        ).held_by([*emptiest, *self._pods(domain)])

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

    def _left_out(self) -> str:
        """Return how many domains don't count, with the policies that leave them out."""
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
        counted = f"{len(missing)} domains don't count for their"
        if len(missing) == 1:
            counted = "1 domain doesn't count for its"
        return f"; {counted} {why or 'missing labels'}: {named}"

    def _pods(self, domain: int) -> Iterator[Holder]:
        rule, ids = self._constraint.rule, self._constraint.pods.topology.ids
        counts = rule.by_row(self._namespace, self._node.snapshot.pods.classes, len(ids))
        rows: Bools = (ids == domain) & (counts > 0)
        for row in np.flatnonzero(rows)[:64].tolist():
            info = NodeView(self._node.snapshot, np.array([row], np.int32)).info(row)
            on = "" if info.name == self._node.name else info.name
            for record in info.records:
                if rule.counts(self._namespace, record.kind.class_key):
                    yield pod_holder(record, node=on)
