"""Whom a group of pods could make go.

Mirrors ``framework/preemption/podgrouppreemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mooring.framework import GroupPreemption, GroupWhatIf, Int32s, Pod, PodGroupInfo, Snapshot, Status
from mooring.framework.deadline import timely
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import PodDisruptionBudget, PodGroup
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.importance import priority_of
from mooring.plugins.default_preemption.units import VictimUnit, VictimUnits, by_importance, pods_of

_PREFIX = "pod group preemption: "
_NEVER = "not eligible due to preemptionPolicy=Never."
_ONGOING = "ongoing preemption on nominated nodes"
_NO_VICTIMS = "No preemption victims found for incoming preemptor"


def preempt_for_group(group: PodGroupInfo, what_if: GroupWhatIf, policy: str, now: float) -> GroupPreemption:
    """Return the pods without which the group fits, so that as few and as unimportant ones go as possible.

    All who may go do; then, the most important first, each comes back unless the group no longer fits.
    ``policy`` is the group's, and ``now`` counts as the start of a pod that hasn't started.
    """
    snapshot, priority = what_if.snapshot, group.group.spec.priority or 0
    units = VictimUnits(snapshot, now, grouping=True)
    try:
        potential = list(units.on(timely(what_if.rows.tolist()), priority))
    except NotFoundError as lost:
        return GroupPreemption(Status.error(f"{_PREFIX}failed to create domain: {lost.message}"))
    if policy == "Never":
        return GroupPreemption(Status.unschedulable(_PREFIX + _NEVER))
    if units.is_any_leaving({pod.status.nominated_node_name for pod in group.pods}, priority):
        nominations = tuple((pod, pod.status.nominated_node_name) for pod in group.pods)
        return GroupPreemption(Status(reasons=(_PREFIX + _ONGOING,)), nominations=nominations)
    if not potential:
        return GroupPreemption(Status.unresolvable(_PREFIX + _NO_VICTIMS))
    found = _fewest(what_if, potential, _budgets(snapshot).protected_first(by_importance(potential)))
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
    found = _fewest(what_if, potential, _budgets(snapshot).protected_first(by_importance(potential), any))
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
    return pods_of(by_importance(gone)), violations


def _budgets(snapshot: Snapshot) -> Budgets:
    return Budgets(snapshot.objects.all(PodDisruptionBudget))


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
                own = priority_of(pod)
                units.append(VictimUnit.of((pod,), own, now, len(units), grouped=key is not None))
            else:
                together.setdefault(key, []).append(pod)
    for key, pods in together.items():
        group = snapshot.objects.get(PodGroup, key[1], key[0])
        priority = 0 if group is None else group.spec.priority or 0
        alone = VictimUnit.of((pods[0],), priority, now, len(units), grouped=True)
        units.append(replace(alone, pods=tuple(pods)))
    return units
