"""Which pods of a node would have to go.

Mirrors ``SelectVictimsOnNode`` in ``defaultpreemption/default_preemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mooring.framework import Code, KubeVersion, Pod, Status
from mooring.framework.deadline import timely
from mooring.framework.preemption import Candidate, RejectedNodes, WhatIf
from mooring.framework.releases import NEWEST
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.importance import by_importance, priority_of

AGES_ONCE_SINCE = KubeVersion(1, 37)
"""Since this release each pod is asked once when it started; before, in each comparison."""

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
"""What is said of a node on which every pod is as important as the one that needs room."""


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """The search for victims, for one pod.

    Attributes:
        pod: The pod that needs room.
        nodes: The nodes.
        budgets: The disruption budgets.
        now: Seconds since the epoch.
        version: The release.
    """

    pod: Pod
    nodes: RejectedNodes
    budgets: Budgets
    now: float
    version: KubeVersion = NEWEST

    def on_nodes(self, node_names: Sequence[str]) -> list[Candidate | Status]:
        """For each node the victims that make it feasible, as few and unimportant as possible, or why not.

        Several nodes only where they are independent.
        """
        lower = {name: lower_pods(self.pod, self.nodes, name) for name in timely(node_names)}
        return self._search(lower, ())

    def checked(self, given: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the given candidates that are possible, with further victims where needed, in their order.

        One whose node is not known, or a victim of which is not known or as important, is left out.
        """
        for candidate in timely(given):
            if self.nodes.status(candidate.node_name).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                continue
            lower = {pod.metadata.uid: pod for pod in lower_pods(self.pod, self.nodes, candidate.node_name)}
            # A victim that is given twice goes once.
            wanted = {pod.metadata.uid: lower.get(pod.metadata.uid) for pod in candidate.victims}
            victims = [pod for pod in wanted.values() if pod is not None]
            if len(victims) < len(wanted):
                continue
            if self._suffices(candidate.node_name, victims):
                yield Candidate(candidate.node_name, tuple(victims), candidate.violations)
                continue
            [more] = self._search({candidate.node_name: list(lower.values())}, victims)
            if isinstance(more, Candidate):
                yield more

    def _suffices(self, node_name: str, victims: Sequence[Pod]) -> bool:
        with self.nodes.what_if([node_name]) as trial:
            for victim in timely(victims):
                trial.remove(node_name, victim)
            return trial.statuses([node_name])[0].ok

    def _search(self, lower: Mapping[str, Sequence[Pod]], given: Sequence[Pod]) -> list[Candidate | Status]:
        """Victims among the ``lower`` pods by node; those in ``given`` go in any case."""
        answers: dict[str, Candidate | Status] = dict.fromkeys(lower, NO_VICTIMS)
        tried = [name for name, pods in lower.items() if pods]
        if not tried:
            return list(answers.values())
        with self.nodes.what_if(tried) as trial:
            for name in tried:
                for pod in timely(lower[name]):
                    trial.remove(name, pod)
            cases = []
            for name, status in zip(tried, trial.statuses(tried), strict=True):
                answers[name] = status
                if status.ok:
                    came = lower[name] if self.version >= AGES_ONCE_SINCE else None
                    split = self.budgets.split(by_importance(lower[name], self.now, came))
                    cases.append(Case(name, *split, came))
            _reprieve(trial, cases, {pod.metadata.uid for pod in given})
        for case in cases:
            answers[case.node_name] = case.answer(self.now)
        return list(answers.values())


@dataclass(slots=True)
class Case:
    """A node that is feasible without its less important pods, each of which may yet stay.

    Attributes:
        node_name: The node.
        violating: Those whose eviction violates a budget, the most important first.
        others: The others, the most important first.
        came: All of them in the order in which they came to the node; None where that doesn't count.
        gone: Those that have to be evicted.
        violations: How many of them are violating.
    """

    node_name: str
    violating: Sequence[Pod]
    others: Sequence[Pod]
    came: Sequence[Pod] | None = None
    gone: list[Pod] = field(default_factory=list)
    violations: int = 0

    def turn(self, number: int) -> Pod | None:
        """Whose turn it is to be spared; None after the last one."""
        before = len(self.violating)
        if number < before:
            return self.violating[number]
        return self.others[number - before] if number - before < len(self.others) else None

    def goes(self, pod: Pod, number: int) -> None:
        """Note that ``pod`` was not spared when it had this turn."""
        self.gone.append(pod)
        self.violations += number < len(self.violating)

    def answer(self, now: float) -> Candidate | Status:
        """Return the candidate; an error when every pod could stay."""
        if not self.gone:
            return nobody_goes(self.node_name)
        mixed = self.violating and self.others
        victims = by_importance(self.gone, now, self.came) if mixed else self.gone
        return Candidate(self.node_name, tuple(victims), self.violations)


def _reprieve(trial: WhatIf, cases: Sequence[Case], going: set[str]) -> None:
    """Let pods come back, on each node one after the other, as long as it stays feasible."""
    number = 0
    while turns := [(case, pod) for case in cases if (pod := case.turn(number)) is not None]:
        asked = []
        for case, pod in timely(turns):
            if pod.metadata.uid in going:
                case.goes(pod, number)
            else:
                trial.add(case.node_name, pod)
                asked.append((case, pod))
        statuses = trial.statuses([case.node_name for case, _ in asked])
        for (case, pod), status in zip(asked, statuses, strict=True):
            if not status.ok:
                trial.remove(case.node_name, pod)
                case.goes(pod, number)
        number += 1


def nobody_goes(node_name: str) -> Status:
    """Return what is said of a node on which every pod could stay."""
    return Status.error(f'expected at least one victim pod on node "{node_name}"')


def lower_pods(pod: Pod, nodes: RejectedNodes, node_name: str) -> list[Pod]:
    """Return the pods on the node that are less important than ``pod``, in the order in which they came."""
    row = nodes.snapshot.nodes.index.get(node_name)
    if row is None:
        return []
    own = priority_of(pod)
    records = nodes.snapshot.pods.records_on(row)
    return [record.pod for record in records if record.kind.base.template.priority < own]


def has_lower_pods(pod: Pod, nodes: RejectedNodes) -> bool:
    """Return whether any placed pod is less important than ``pod``; often none is, and no node need be looked
    at.
    """
    return min(nodes.snapshot.pods.priorities.copy(), default=pod.priority) < pod.priority


def is_leaving_for(pod: Pod) -> bool:
    """Return whether ``pod`` is being deleted because the scheduler preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False
