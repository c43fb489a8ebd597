"""Which pods of a node would have to go.

Mirrors ``SelectVictimsOnNode`` in ``defaultpreemption/default_preemption.go`` and ``GetVictimsOnNode`` in
``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mooring.framework import Code, KubeVersion, Pod, Status
from mooring.framework.deadline import timely
from mooring.framework.errors import NotFoundError
from mooring.framework.preemption import Candidate, RejectedNodes, WhatIf
from mooring.framework.releases import NEWEST
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.units import VictimUnit, VictimUnits, by_importance, pods_of

AGES_ONCE_SINCE = KubeVersion(1, 37)
"""Since this release the start of each pod is read once; in earlier ones, in each comparison."""

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
"""The status of a node with no pods that are less important than the one that needs room."""


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """The search for victims, for one pod.

    Attributes:
        pod: The pod that needs room.
    """

    pod: Pod
    nodes: RejectedNodes
    budgets: Budgets
    units: VictimUnits
    version: KubeVersion = NEWEST

    def on_nodes(self, node_names: Sequence[str]) -> list[Candidate | Status]:
        """Return for each node the victims that make it feasible, as few and unimportant as possible, or why
        there are none. Takes several nodes only if they are independent.
        """
        return self._search({name: self._lower(name) for name in timely(node_names)}, ())

    def checked(self, given: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the given candidates that are possible, with further victims where needed, in their order.

        A candidate is left out if its node is not known, or if a victim is not there or not less important.
        """
        for candidate in timely(given):
            if self.nodes.status(candidate.node_name).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                continue
            lower = self._lower(candidate.node_name)
            there = {} if isinstance(lower, Status) else _by_uid(candidate.node_name, lower)
            # A victim that is given twice counts once.
            wanted = {pod.metadata.uid: there.get(pod.metadata.uid) for pod in candidate.victims}
            victims = [pod for pod in wanted.values() if pod is not None]
            if len(victims) < len(wanted):
                continue
            if self._suffices(candidate.node_name, victims):
                yield Candidate(candidate.node_name, tuple(victims), candidate.violations)
                continue
            [more] = self._search({candidate.node_name: lower}, victims)
            if isinstance(more, Candidate) and all(
                pod.spec.node_name == candidate.node_name for pod in more.victims
            ):
                yield more

    def _lower(self, node_name: str) -> list[VictimUnit] | Status:
        """Return the units that are less important than the pod, in the order of arrival, or an error."""
        row = self.nodes.snapshot.nodes.index.get(node_name)
        try:
            return [] if row is None else list(self.units.on([row], self.pod.priority))
        except NotFoundError as lost:
            return Status.error(lost.message)

    def _suffices(self, node_name: str, victims: Sequence[Pod]) -> bool:
        with self.nodes.what_if([node_name]) as trial:
            for victim in timely(victims):
                trial.remove(node_name, victim)
            return trial.statuses([node_name])[0].ok

    def _search(
        self, lower: Mapping[str, Sequence[VictimUnit] | Status], given: Sequence[Pod]
    ) -> list[Candidate | Status]:
        """Search for victims among ``lower``, by node; those in ``given`` are victims in any case."""
        in_order = self.version >= AGES_ONCE_SINCE
        answers: dict[str, Candidate | Status] = {}
        tried: dict[str, Sequence[VictimUnit]] = {}
        for name, units in lower.items():
            answers[name] = units if isinstance(units, Status) else NO_VICTIMS
            if not isinstance(units, Status) and units:
                tried[name] = units
        if not tried:
            return list(answers.values())
        with self.nodes.what_if(tuple(tried)) as trial:
            for name, units in tried.items():
                for unit in timely(units):
                    self._remove(trial, name, unit)
            cases = []
            for name, status in zip(tried, trial.statuses(tuple(tried)), strict=True):
                answers[name] = status
                if status.ok:
                    ordered = by_importance(tried[name], in_order=in_order)
                    cases.append(Case(name, self.budgets.protected_first(ordered)))
            self._reprieve(trial, cases, {pod.metadata.uid for pod in given})
        for case in cases:
            answers[case.node_name] = case.answer(in_order=in_order)
        return list(answers.values())

    def _reprieve(self, trial: WhatIf, cases: Sequence[Case], going: set[str]) -> None:
        """Reprieve units, one after the other on each node, as long as the node stays feasible."""
        number = 0
        while turns := [(case, case.turns[number][0]) for case in cases if number < len(case.turns)]:
            asked = []
            for case, unit in timely(turns):
                if any(pod.metadata.uid in going for pod in unit.pods):
                    case.goes(number)
                else:
                    self._add(trial, case.node_name, unit)
                    asked.append((case, unit))
            statuses = trial.statuses([case.node_name for case, _ in asked])
            for (case, unit), status in zip(asked, statuses, strict=True):
                if not status.ok:
                    self._remove(trial, case.node_name, unit)
                    case.goes(number)
            number += 1

    def _remove(self, trial: WhatIf, node_name: str, unit: VictimUnit) -> None:
        for pod in self._seen(node_name, unit):
            trial.remove(pod.spec.node_name, pod)

    def _add(self, trial: WhatIf, node_name: str, unit: VictimUnit) -> None:
        for pod in self._seen(node_name, unit):
            trial.add(pod.spec.node_name, pod)

    def _seen(self, node_name: str, unit: VictimUnit) -> Sequence[Pod]:
        """Return the pods that count when the node is tried: only its own if nodes are independent."""
        if len(unit.pods) == 1 or not self.nodes.independent:
            return unit.pods
        return [pod for pod in unit.pods if pod.spec.node_name == node_name]


@dataclass(slots=True)
class Case:
    """A node that is feasible without its less important pods, some of which may stay.

    Attributes:
        turns: The units that may stay, in this order, each with its violations of budgets: protected units
            first, and either sort with the most important first.
        gone: The units that have to be evicted.
        violations: How often evicting them violates a budget.
    """

    node_name: str
    turns: Sequence[tuple[VictimUnit, int]]
    gone: list[VictimUnit] = field(default_factory=list)
    violations: int = 0

    def goes(self, number: int) -> None:
        """Note that the unit of this turn was not spared."""
        unit, violations = self.turns[number]
        self.gone.append(unit)
        self.violations += violations

    def answer(self, *, in_order: bool) -> Candidate | Status:
        """Return the candidate; an error when every pod could stay."""
        if not self.gone:
            return nobody_goes(self.node_name)
        mixed = self.turns[0][1] and not self.turns[-1][1]
        gone = by_importance(self.gone, in_order=in_order) if mixed else self.gone
        return Candidate(self.node_name, pods_of(gone), self.violations)


def nobody_goes(node_name: str) -> Status:
    """Return the error about a node on which every pod could stay."""
    return Status.error(f'expected at least one victim pod on node "{node_name}"')


def _by_uid(node_name: str, units: Sequence[VictimUnit]) -> dict[str, Pod]:
    """Return the pods of ``units`` that are on the node."""
    return {pod.metadata.uid: pod for pod in pods_of(units) if pod.spec.node_name == node_name}
