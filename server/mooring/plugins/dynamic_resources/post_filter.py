"""PostFilter: a claim gives up devices out of reach, which may help pods that fit nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mooring.framework import GroupPreemption, KubeVersion, Pod, PodGroupInfo, Remedy, Snapshot, Status
from mooring.plugins.dynamic_resources.claims.deallocating import GROUP_DONE, deallocation_for, group_release
from mooring.plugins.dynamic_resources.claims.extended_claim import deletion_of
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.rules import Rules

_SILENT_SINCE = KubeVersion(1, 37)
"""Since this release PostFilter returns no message if it has nothing to do."""


def nothing_to_do(reason: str, rules: Rules) -> Status:
    """Return the status of PostFilter if nothing helps."""
    return Status.unschedulable(reason) if rules.version < _SILENT_SINCE else Status.unschedulable()


def remedy_for(note: ClaimsState, pod: Pod) -> Remedy | None:
    """Return what may help ``pod``; None = nothing."""
    remedy = deallocation_for(note.unavailable_claims(), pod)
    return deletion_of(note.made) if remedy is None and note.made is not None else remedy


def remedies_for_group(
    group: PodGroupInfo,
    notes: Sequence[tuple[Pod, ClaimsState | None]],
    snapshot: Snapshot,
    *,
    frees_own: bool,
) -> GroupPreemption:
    """Return what may help each pod, and with ``frees_own`` that the group frees claims of its own.

    Like in kube-scheduler it is an error if PreFilter was called for none of the pods, because another
    plugin rejected them all, or no pod was tried.

    Args:
        group: The group.
        notes: Its pods that were tried, each with what PreFilter noted; None = it was not called.
        snapshot: The tables.
        frees_own: Whether pods of a group may share its claims.
    """
    known = {pod.metadata.uid: note for pod, note in notes}
    seen = [(pod, note) for pod in group.pods if (note := known.get(pod.metadata.uid)) is not None]
    if not seen:
        return GroupPreemption(Status.error("not found"))
    found = [remedy_for(note, pod) for pod, note in seen]
    # Pods that share a claim propose the same.
    remedies = {remedy.proposal: remedy for remedy in found if remedy is not None}
    if frees_own and None in found and not group.scheduled(snapshot):
        unavailable = [claim for _, note in seen for claim in note.unavailable_claims()]
        release = group_release(group, unavailable, snapshot.objects)
        if release is not None:
            remedies |= {remedy.proposal: remedy for remedy in release.remedies}
            return replace(release, remedies=tuple(remedies.values()))
    return GroupPreemption(Status.unschedulable(GROUP_DONE), remedies=tuple(remedies.values()))
