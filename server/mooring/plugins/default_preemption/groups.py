"""Whom a group of pods could make go.

Mirrors ``framework/preemption/podgrouppreemption.go`` and the victims of its types.go and util.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mooring.framework import GroupPreemption, GroupWhatIf, Int32s, Pod, PodGroupInfo, Snapshot, Status
from mooring.framework.deadline import timely
from mooring.framework.objects import PodDisruptionBudget, PodGroup
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.importance import priority_of, started_at
from mooring.plugins.default_preemption.victims import is_leaving_for

_PREFIX = "pod group preemption: "
_NEVER = "not eligible due to preemptionPolicy=Never."
_ONGOING = "ongoing preemption on nominated nodes"
_NO_VICTIMS = "No preemption victims found for incoming preemptor"


@dataclass(frozen=True, slots=True)
class VictimUnit:
    """Pods that go together: one, or all of a group that says so.

    Attributes:
        pods: The pods.
        priority: Their group's, or the pod's own.
        grouped: They are of a group, which makes them more important than a pod alone.
        started: When the first of them started, in seconds since the epoch.
    """

    pods: tuple[Pod, ...]
    priority: int
    grouped: bool
    started: float

    @property
    def rank(self) -> tuple[int, bool, int, float]:
        """The lower, the more important."""
        return -self.priority, not self.grouped, -len(self.pods), self.started


def preempt_for_group(group: PodGroupInfo, what_if: GroupWhatIf, policy: str, now: float) -> GroupPreemption:
    """Return the pods without which the group fits, so that as few and as unimportant ones go as possible.

    All who may go do; then, the most important first, each comes back unless the group no longer fits.
    ``policy`` is the group's, and ``now`` counts as the start of a pod that hasn't started.
    """
    snapshot = what_if.snapshot
    priority = group.group.spec.priority or 0
    units = list(_units(snapshot, what_if.rows, now))
    elsewhere = (pod.spec.node_name for unit in units for pod in unit.pods if not _known(pod, snapshot))
    gone_node = next(elsewhere, "")
    if gone_node:
        lost = f'failed to get node info for node "{gone_node}" from snapshot'
        why = f'failed to create domain: {lost}: nodeinfo not found for node name "{gone_node}"'
        return GroupPreemption(Status.error(_PREFIX + why))
    if policy == "Never":
        return GroupPreemption(Status.unschedulable(_PREFIX + _NEVER))
    if _is_ongoing(group, snapshot, priority):
        nominations = tuple((pod, pod.status.nominated_node_name) for pod in group.pods)
        return GroupPreemption(Status(reasons=(_PREFIX + _ONGOING,)), nominations=nominations)
    potential = [unit for unit in units if unit.priority < priority]
    if not potential:
        return GroupPreemption(Status.unresolvable(_PREFIX + _NO_VICTIMS))
    protected_first = _protected_first(potential, snapshot)
    found = _fewest(what_if, potential, protected_first)
    if isinstance(found, Status):
        return GroupPreemption(Status(found.code, (_PREFIX + found.message,)))
    victims, violations = found
    said = f"{_PREFIX}found a placement for podgroup, preempting {len(victims)} victims"
    return GroupPreemption(Status(reasons=(said,)), victims, violations, tuple(what_if.assignments))


def preempt_for_group_alone(
    group: PodGroupInfo, what_if: GroupWhatIf, policy: str, now: float
) -> GroupPreemption:
    """As ``preempt_for_group``, by the rules of Kubernetes 1.36, which looks at no preemption before."""
    snapshot, priority = what_if.snapshot, group.group.spec.priority or 0
    if policy == "Never":
        return GroupPreemption(Status.unschedulable(_NEVER))
    units = _units_alone(snapshot, what_if.rows, now)
    potential = [unit for unit in units if unit.priority < priority]
    if not potential:
        return GroupPreemption(Status.unresolvable(_NO_VICTIMS))
    found = _fewest(what_if, potential, _protected_units_first(potential, snapshot))
    if isinstance(found, Status):
        return GroupPreemption(found)
    return GroupPreemption(Status(), *found)


def _fewest(
    what_if: GroupWhatIf, potential: Sequence[VictimUnit], ordered: Iterable[tuple[VictimUnit, int]]
) -> tuple[tuple[Pod, ...], int] | Status:
    """Return who has to go when all of ``ordered`` that can come back do, and how many budgets protect.

    The status of a group that doesn't fit without any of them.
    """
    for unit in potential:
        what_if.remove(unit.pods)
    status = what_if.schedule()
    if not status.ok:
        return status
    gone: list[VictimUnit] = []
    violations = 0
    for unit, violating in ordered:
        if not what_if.put_back(unit.pods):
            gone.append(unit)
            violations += violating
    victims = tuple(pod for unit in sorted(gone, key=lambda unit: unit.rank) for pod in unit.pods)
    return victims, violations


def _known(pod: Pod, snapshot: Snapshot) -> bool:
    return pod.spec.node_name in snapshot.nodes.index


def _units(snapshot: Snapshot, rows: Int32s, now: float) -> Iterator[VictimUnit]:
    """Yield who could go, each once, in the order of ``rows`` and, on a node, in which they came there."""
    together: set[tuple[str, str]] = set()
    for row in timely(rows.tolist()):
        for pod in snapshot.pods.on_row(row):
            key = pod.group
            group = None if key is None else snapshot.objects.get(PodGroup, key[1], key[0])
            priority = priority_of(pod) if group is None else group.spec.priority or 0
            if key is None or group is None or not group.goes_together:
                yield VictimUnit((pod,), priority, key is not None, started_at(pod, now))
            elif key not in together:
                together.add(key)
                pods = tuple(snapshot.pods.placed_in_group(key))
                started = min(started_at(each, now) for each in pods)
                yield VictimUnit(pods, priority, grouped=True, started=started)


def _units_alone(snapshot: Snapshot, rows: Int32s, now: float) -> list[VictimUnit]:
    """Return who could go, as 1.36 counts: a group's priority and its first pod's start stand for it alone if
    its pods go together.
    """
    together: dict[tuple[str, str], list[Pod]] = {}
    units: list[VictimUnit] = []
    for row in timely(rows.tolist()):
        for pod in snapshot.pods.on_row(row):
            key = pod.group
            group = None if key is None else snapshot.objects.get(PodGroup, key[1], key[0])
            if key is None or group is None or not group.goes_together:
                units.append(VictimUnit((pod,), priority_of(pod), key is not None, started_at(pod, now)))
            else:
                together.setdefault(key, []).append(pod)
    for key, pods in together.items():
        group = snapshot.objects.get(PodGroup, key[1], key[0])
        priority = 0 if group is None else group.spec.priority or 0
        units.append(VictimUnit(tuple(pods), priority, grouped=True, started=started_at(pods[0], now)))
    return units


def _protected_units_first(
    units: Sequence[VictimUnit], snapshot: Snapshot
) -> Iterator[tuple[VictimUnit, int]]:
    """As ``_protected_first``; the pods of a unit use up budgets up to the first that is protected."""
    budgets, used = Budgets(snapshot.objects.all(PodDisruptionBudget)), Counter[tuple[str, str]]()
    ordered = sorted(units, key=lambda unit: unit.rank)
    counted = [(unit, any(budgets.violates(pod, used) for pod in unit.pods)) for unit in ordered]
    yield from ((unit, 1) for unit, violating in counted if violating)
    yield from ((unit, 0) for unit, violating in counted if not violating)


def _protected_first(units: Sequence[VictimUnit], snapshot: Snapshot) -> Iterator[tuple[VictimUnit, int]]:
    """Yield first those that a disruption budget protects, each with how many of its pods it does.

    Either sort begins with the most important. Each pod in turn uses up what the budgets allow.
    """
    budgets, used = Budgets(snapshot.objects.all(PodDisruptionBudget)), Counter[tuple[str, str]]()
    ordered = sorted(units, key=lambda unit: unit.rank)
    counted = [(unit, sum(budgets.violates(pod, used) for pod in unit.pods)) for unit in ordered]
    yield from (pair for pair in counted if pair[1])
    yield from (pair for pair in counted if not pair[1])


def _is_ongoing(group: PodGroupInfo, snapshot: Snapshot, priority: int) -> bool:
    """Return whether victims of an earlier attempt are still leaving the nodes that they were chosen for."""
    names = {pod.status.nominated_node_name for pod in group.pods} - {""}
    rows = [snapshot.nodes.index[name] for name in names if name in snapshot.nodes.index]
    pods = (pod for row in rows for pod in snapshot.pods.on_row(row))
    return any(is_leaving_for(pod) and _priority(pod, snapshot) < priority for pod in pods)


def _priority(pod: Pod, snapshot: Snapshot) -> int:
    group = None if pod.group is None else snapshot.objects.get(PodGroup, pod.group[1], pod.group[0])
    return priority_of(pod) if group is None else group.spec.priority or 0
