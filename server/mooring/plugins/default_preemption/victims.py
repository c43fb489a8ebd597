"""Which pods of a node would have to go.

Mirrors ``SelectVictimsOnNode`` in ``defaultpreemption/default_preemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooring.framework import Code, Pod, Status
from mooring.framework.preemption import Candidate, RefusedNodes, WhatIf
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.importance import by_importance, priority_of

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
"""What is said of a node on which every pod is as important as the one that needs room."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for victims, for one pod.

    Attributes:
        pod: The pod that needs room.
        nodes: The nodes.
        budgets: The disruption budgets.
        now: Seconds since the epoch.
    """

    pod: Pod
    nodes: RefusedNodes
    budgets: Budgets
    now: float

    def on_node(self, node_name: str) -> Candidate | Status:
        """The victims that make the node feasible, as few and unimportant as possible, or why not."""
        return self._search(node_name, lower_pods(self.pod, self.nodes, node_name), ())

    def checked(self, given: Sequence[Candidate]) -> Iterator[Candidate]:
        """The given candidates that would do, with further victims where needed, in their order.

        One whose node is not known, or a victim of which is not known or as important, is left out.
        """
        for candidate in given:
            if self.nodes.status(candidate.node_name).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                continue
            lower = {pod.metadata.uid: pod for pod in lower_pods(self.pod, self.nodes, candidate.node_name)}
            wanted = [lower.get(pod.metadata.uid) for pod in candidate.victims]
            victims = [pod for pod in wanted if pod is not None]
            if len(victims) < len(wanted):
                continue
            if self._suffices(candidate.node_name, victims):
                yield Candidate(candidate.node_name, tuple(victims), candidate.violations)
                continue
            more = self._search(candidate.node_name, list(lower.values()), victims)
            if isinstance(more, Candidate):
                yield more

    def _suffices(self, node_name: str, victims: Sequence[Pod]) -> bool:
        with self.nodes.what_if(node_name) as node:
            for victim in victims:
                node.remove(victim)
            return node.status().ok

    def _search(self, node_name: str, lower: Sequence[Pod], given: Sequence[Pod]) -> Candidate | Status:
        """Victims among ``lower``; those in ``given`` go in any case."""
        if not lower:
            return NO_VICTIMS
        with self.nodes.what_if(node_name) as node:
            for pod in lower:
                node.remove(pod)
            status = node.status()
            if not status.ok:
                return status
            going = {pod.metadata.uid for pod in given}
            violating, others = self.budgets.split(by_importance(lower, self.now))
            broken = [pod for pod in violating if pod.metadata.uid in going or not _reprieved(node, pod)]
            gone = [pod for pod in others if pod.metadata.uid in going or not _reprieved(node, pod)]
        if not broken and not gone:
            return Status.error(f'expected at least one victim pod on node "{node_name}"')
        victims = [*broken, *gone]
        ordered = by_importance(victims, self.now) if violating and others else victims
        return Candidate(node_name, tuple(ordered), len(broken))


def lower_pods(pod: Pod, nodes: RefusedNodes, node_name: str) -> list[Pod]:
    """The pods on the node that are less important than ``pod``, in the order in which they came."""
    row = nodes.snapshot.nodes.index.get(node_name)
    if row is None:
        return []
    own = priority_of(pod)
    return [other for other in nodes.snapshot.pods.on_row(row) if priority_of(other) < own]


def has_lower_pods(pod: Pod, nodes: RefusedNodes) -> bool:
    """Whether any pod at all is less important than ``pod``; often none is, and no node need be looked at."""
    own = priority_of(pod)
    return any(priority_of(record.pod) < own for record in list(nodes.snapshot.pods.records.values()))


def is_leaving_for(pod: Pod) -> bool:
    """True when ``pod`` is being deleted because the scheduler made room for another one."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _reprieved(node: WhatIf, pod: Pod) -> bool:
    """Whether ``pod`` can stay; then it is on the node again."""
    node.add(pod)
    if node.status().ok:
        return True
    node.remove(pod)
    return False
