"""Findings about preemption: why no pods of a node can make room, or why those of another node rather go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooring.framework import Amounts, Finding, Holder, HolderKind, Pod, ReasonCode, Status
from mooring.framework.findings import MOST_HOLDERS, pod_holder
from mooring.framework.pod_requests import ResourceRules, pod_usage
from mooring.framework.pod_table import PodRecord
from mooring.framework.preemption import Candidate, Preemption, RejectedNodes
from mooring.framework.reason_codes import code_of
from mooring.framework.resources import amount
from mooring.plugins.default_preemption.importance import cost_of
from mooring.plugins.default_preemption.units import VictimUnits

_NAMED = 3
"""How many less important pods of a node are named."""


def obstacles(pod: Pod) -> Iterator[Finding]:
    """Yield why the pod may not make others go."""
    if pod.spec.preemption_policy == "Never":
        yield Finding(
            ReasonCode.PREEMPTION_FORBIDDEN,
            "spec.preemptionPolicy",
            "the pod's preemptionPolicy is Never, so no other pod makes room for it",
            asked="Never",
            pod_change="give it a priority class with preemptionPolicy PreemptLowerPriority",
        )
    elif nominated := pod.status.nominated_node_name:
        yield Finding(
            ReasonCode.PREEMPTION_UNDER_WAY,
            nominated,
            f"the pods that make room for it on {nominated} are still terminating",
            node_change=f"wait until they have left {nominated}",
        )


class PreemptionFindings:
    """Explains the search for room for one pod.

    Args:
        pod: The pod, which may make others go.
        nodes: The nodes that reject it.
        rules: How requests are counted.
    """

    def __init__(self, pod: Pod, nodes: RejectedNodes, units: VictimUnits, rules: ResourceRules) -> None:
        self._pod = pod
        self._nodes = nodes
        self._units = units
        self._rules = rules
        self._priority = pod.priority

    def of(self, found: Preemption, picked: str) -> Iterator[tuple[str, Finding]]:
        """Yield the findings about each searched node, by its name. ``picked`` is the node that is cleared;
        "" = none.
        """
        names = self._nodes.snapshot.nodes.names
        resolvable = frozenset(self._nodes.resolvable().tolist())
        for row in self._nodes.rows.tolist():
            if row not in resolvable:
                yield names[row], _not_helpful(self._nodes.status(names[row]).plugin)
        anybody = self._units.any_below(self._priority)
        for row, status in found.without_room().items():
            yield names[row], self._no_room(row, status) if anybody else self._nobody()
        best = next((each for each in found.candidates if each.node_name == picked), None)
        for candidate in found.candidates:
            if best is not None and candidate is not best:
                yield candidate.node_name, _dearer(candidate, best)

    def _nobody(self) -> Finding:
        return Finding(
            ReasonCode.PREEMPTION_WITHOUT_VICTIMS,
            "",
            f"no pod of the cluster has a lower priority than {self._priority}",
            asked=f"priority {self._priority}",
        )

    def _no_room(self, row: int, status: Status) -> Finding:
        """Return why the less important pods of a node don't make enough room."""
        staying, going = [], list[str]()
        for record in self._nodes.snapshot.pods.records_on(row):
            if self._units.priority(record) < self._priority:
                going.append(f"{record.namespace}/{record.name}")
            else:
                staying.append(record)
        code, amounts = ReasonCode.PREEMPTION_WITHOUT_VICTIMS, None
        said = f"no pod there has a lower priority than {self._priority}"
        if going:
            code, (lack, amounts) = ReasonCode.PREEMPTION_NOT_ENOUGH, self._lack(row, status, staying)
            more = f" and {len(going) - _NAMED} more" if len(going) > _NAMED else ""
            pods = f"{', '.join(going[:_NAMED])}{more}"
            said = f"without {pods}, which {'has' if len(going) == 1 else 'have'} a lower priority than "
            said += f"{self._priority}, there would still be too little room: {lack}"
        staying.sort(key=lambda record: (self._units.priority(record), record.name))
        holders = [
            pod_holder(each, None, f"priority {self._units.priority(each)}")
            for each in staying[:MOST_HOLDERS]
        ]
        return Finding(
            code,
            "",
            said,
            asked=f"priority {self._priority}",
            amounts=amounts,
            holders=tuple(holders),
            other_holders=len(staying) - len(holders),
        )

    def _lack(self, row: int, status: Status, staying: Sequence[PodRecord]) -> tuple[str, Amounts | None]:
        """Return what the node lacks with the pods that stay, and the amounts if it is a resource."""
        table = self._nodes.snapshot.nodes
        for reason in status.reasons:
            known = code_of(status.plugin, reason)
            if known is None or known[0] is not ReasonCode.INSUFFICIENT_RESOURCE:
                continue
            name = known[1]
            at = table.resource_index.get(name)
            limit = 0 if at is None else int(table.allocatable[at, row])
            taken = sum(record.kind.usage.request(name) for record in staying)
            amounts = Amounts(pod_usage(self._pod, self._rules).request(name), taken, limit)
            free = amount(name, max(0, amounts.free))
            return (
                f"needs {amount(name, amounts.asked)} {name}; {free} of {amount(name, limit)} free",
                amounts,
            )
        return ", ".join(status.reasons), None


def _not_helpful(plugin: str) -> Finding:
    said = (
        f"{plugin} would still reject the pod, whichever pods leave"
        if plugin
        else "the node was not evaluated"
    )
    return Finding(ReasonCode.PREEMPTION_NOT_HELPFUL, plugin, said)


def _dearer(candidate: Candidate, best: Candidate) -> Finding:
    """Return why the victims of ``best`` rather go than those of ``candidate``."""
    difference = _difference(candidate, best)
    said = f"{best.node_name} is cleared instead: {difference}"
    victims = [
        Holder(HolderKind.POD, each.key, None, f"priority {each.priority}") for each in candidate.victims
    ]
    finding = Finding(ReasonCode.PREEMPTION_COSTS_MORE, best.node_name, said, present=difference)
    return finding.held_by(victims)


def _difference(candidate: Candidate, best: Candidate) -> str:
    """Return the first point in which ``best`` costs less, in the order of kube-scheduler."""
    mine, theirs = cost_of(candidate), cost_of(best)
    if mine[0] != theirs[0]:
        return f"that violates fewer disruption budgets, {theirs[0]:.0f} instead of {mine[0]:.0f}"
    if mine[1] != theirs[1]:
        return f"its most important victim has priority {theirs[1]:.0f} instead of {mine[1]:.0f}"
    if mine[2] != theirs[2] and mine[3] != theirs[3]:
        return f"it takes fewer victims, {theirs[3]:.0f} instead of {mine[3]:.0f}"
    if mine[2] != theirs[2]:
        return "the priorities of its victims add up to less"
    if mine[4:] != theirs[4:]:
        return "its most important victims started later"
    return "both cost the same, and it comes first"
