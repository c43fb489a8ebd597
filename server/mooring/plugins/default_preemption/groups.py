"""The pods that a group of pods could preempt.

Mirrors ``framework/preemption/podgrouppreemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.framework import GroupPreemption, GroupWhatIf, Pod, PodGroupInfo, Snapshot, Status
from mooring.framework.deadline import timely
from mooring.framework.errors import NotFoundError
from mooring.framework.objects import PodDisruptionBudget
from mooring.plugins.default_preemption.budgets import Budgets
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
