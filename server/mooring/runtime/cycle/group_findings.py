"""Findings about a pod group that gets no nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mooring.framework import Finding, Holder, HolderKind, Pod, PodGroupInfo, ReasonCode, Status
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember, TriedPlacement
from mooring.runtime.cycle.placements import NOWHERE

_GANG = "GangScheduling"


def group_findings(
    group: PodGroupInfo,
    decision: GroupDecision,
    placed: Collection[Pod],
    held: Sequence[tuple[Pod, Status]],
) -> tuple[Finding, ...]:
    """Return why a group is rejected; nothing if it isn't. ``placed`` are its pods that had a node before,
    ``held`` those that may not be tried yet, with the reason of each.
    """
    if decision.status.ok:
        return ()
    name, wanted = "/".join(group.key), group.min_count
    there = len(group.pods) + len(placed) + len(held)
    if there < wanted:
        return (_too_small(name, there, wanted),)
    if decision.status.reasons[:1] == NOWHERE.reasons:
        return (_without_domain(group, name, decision.status),)
    best = max(decision.tried, key=lambda tried: tried.placed, default=None)
    found = len(placed) + (best.placed if best is not None else 0)
    said = f"group {name} needs nodes for {wanted} of its pods, and finds {found}{_where(best, decision)}"
    members = best.members if best is not None else decision.members
    without = [_holder(each) for each in members if not each.node_name]
    without += [Holder(HolderKind.POD, pod.key, None, status.message) for pod, status in held]
    lower = f"lower minCount to {found}" if 0 < found < wanted else ""
    finding = Finding(
        ReasonCode.GROUP_DOES_NOT_FIT,
        name,
        said,
        asked=f"{wanted} pods",
        present=f"{found} pods",
        pod_change=lower,
        node_change=f"make room for {wanted - found} more of its pods" if found < wanted else "",
        plugin=_GANG,
    )
    return (finding.held_by(without),)


def _too_small(name: str, there: int, wanted: int) -> Finding:
    """Return that a group has fewer pods than its minCount."""
    missing = "1 more pod" if wanted - there == 1 else f"{wanted - there} more pods"
    return Finding(
        ReasonCode.GROUP_TOO_SMALL,
        name,
        f"group {name} needs {wanted} pods, and has {there}",
        asked=f"{wanted} pods",
        present=f"{there} pods",
        pod_change=f"create {missing} of the group, or lower minCount to {there}",
        plugin=_GANG,
    )


def _without_domain(group: PodGroupInfo, name: str, status: Status) -> Finding:
    constraints = group.group.spec.scheduling_constraints
    key = constraints.topology[0].key if constraints is not None and constraints.topology else ""
    return Finding(
        ReasonCode.GROUP_DOMAIN_MISSING,
        name,
        f"no node has the label {key}, whose values are the domains of group {name}"
        if key
        else status.message,
        asked=key,
        node_change=f"label nodes with {key}" if key else "",
        plugin=ReasonCode.GROUP_DOMAIN_MISSING.plugin,
    )


def _where(best: TriedPlacement | None, decision: GroupDecision) -> str:
    if best is None or not best.placement.name:
        return ""
    count = len(decision.tried)
    return f" in {best.placement.name}" + (f", the best of {count} domains" if count > 1 else "")


def _holder(member: GroupMember) -> Holder:
    return Holder(HolderKind.POD, member.pod.key, None, member.status.message)
