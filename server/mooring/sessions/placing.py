"""Pods that get a node in a work tree: decided, assumed and reserved, like in the first part of a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mooring.framework import Code, Pod, PodGroupInfo, Status
from mooring.runtime.answers import ALL_NODES, Candidates, Choice, GroupDecision, Progress
from mooring.runtime.commit.extension_points import Commit, Committed
from mooring.runtime.commit.group_commit import given_up
from mooring.runtime.commit.placement import PlacedPod, count_free, count_plain
from mooring.runtime.commit.preconditions import reject_placed
from mooring.runtime.profiles.profile import Profile, placing
from mooring.sessions.work_trees import Work


def place_pod(
    work: Work,
    pod: Pod,
    profile: Profile,
    candidates: Candidates = ALL_NODES,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> PlacedPod:
    """Place one pod; Permit and what comes after it is left out, since nothing waits in a session.

    Raises:
        FailedPreconditionError: It has a node already, is being deleted or is gated.
        PluginFailureError: A plugin failed.
    """
    reject_placed(work.tree, pod)
    choice = work.engine.place(pod, profile, candidates, seed=seed, progress=progress)
    status = Status()
    if choice.node_name is not None and profile.reserve:
        status = _reserved(work, Commit(profile, choice.written, pod, choice.node_name), progress)
    return PlacedPod(choice, committed=None if status.ok else Committed(status))


def place_alike(
    work: Work,
    templates: Sequence[tuple[Pod, Profile]],
    indices: Sequence[int],
    names: Sequence[str],
    uids: Sequence[str],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sequence[Choice]:
    """Place the first of some pods, in their order and at a lower cost each.

    A pod is its template with a name and a UID of its own. The first that has no choice is one for which
    Reserve has something to do, that is placed already, or that no node takes: ``place_pod`` says which.
    Raises DeadlineExceededError if the caller no longer waits; nothing was placed.
    """
    count = count_plain(templates, indices)
    count = count_free(work.tree, uids[:count])
    some = indices[:count], names[:count], uids[:count]
    return work.engine.place_batch(templates, *some, seed=seed, progress=progress)


def place_on(
    work: Work, pod: Pod, node_name: str, profile: Profile, progress: Progress | None = None
) -> Status:
    """Place one pod on a node that was selected for it; otherwise as ``place_pod``."""
    reject_placed(work.tree, pod)
    evaluation = work.engine.assume_if_fits(pod, node_name, profile, progress)
    if not evaluation.feasible_count:
        return evaluation.status
    return _reserved(work, Commit(profile, evaluation.state, pod, node_name), progress)


def place_group(
    work: Work, group: PodGroupInfo, profile: Profile, *, seed: int = 0, progress: Progress | None = None
) -> GroupDecision:
    """Place the pods of a group, all that get a node or none. Raises PluginFailureError if a plugin
    failed.
    """
    work.set_aside()
    decision = work.engine.decide_group(group, profile, seed=seed, progress=progress)
    committed_as = placing(profile)
    for member in decision.placed if decision.status.ok else ():
        status = place_on(work, member.pod, member.node_name, committed_as, progress)
        if not status.ok:
            work.drop()
            lost = replace(member, status=status, message=status.message)
            return given_up(decision, lost)
    return decision


def _reserved(work: Work, commit: Commit, progress: Progress | None) -> Status:
    """Run Reserve for a pod that was just assumed; nothing is left of it unless that succeeds."""
    calls = work.engine.calls(commit.profile, progress)
    status = Status(Code.ERROR)
    try:
        status = commit.reserve(calls)
    finally:
        if not status.ok:
            commit.unreserve(calls)
            work.tree.forget(commit.pod.metadata.uid)
    return status
