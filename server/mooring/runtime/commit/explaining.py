"""The explanation of a pod: its cycle, and whether gates or its group hold it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_struct

from mooring.framework import SUCCESS, Pod, Status
from mooring.framework.preemption import Candidate
from mooring.framework.state import ClusterState
from mooring.runtime.commit.asked_group import (
    asked_group,
    enqueued,
    group_as_a_whole,
    nothing_to_do,
    pods_of_group,
    waiting,
)
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.explain import Explanation
from mooring.runtime.cycle.findings import findings_of
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile


def explained(  # noqa: PLR0913 - all that Explain and its commands may ask of a pod
    engine: Engine,
    pod: Pod,
    profile: Profile,
    candidates: Candidates,
    *,
    seed: int,
    options: CycleOptions,
    state: ClusterState | None = None,
    progress: Progress | None = None,
    warnings: Sequence[str] = (),
    assigned_node: str = "",
) -> tuple[Explanation, int]:
    """Explain the whole cycle of one pod, with preemption; the pod may be on ``assigned_node`` already.

    If a gate or its group holds the pod back, the cycle runs as if nothing did. If the pod's group has room
    after preemption, the verdict is the group's.

    Returns:
        The explanation, and the version of the state that it is true for.

    Raises:
        PluginFailureError: A plugin failed.
    """
    held, group_room = enqueued(engine, pod, profile, progress), None
    if held.ok and not assigned_node:
        held, group_room = _held_by_group(engine, pod, profile, seed, progress)
    let_in = replace(profile, pre_enqueue=())
    options = replace(options, preempt=True)
    choice = engine.decide(
        pod, let_in, candidates, seed=seed, state=state, options=options, progress=progress
    )
    pods, own = engine.state.snapshot.pods, engine.state.snapshot.pods.get(pod.metadata.uid)
    others = pods.pending_count - (own is not None and own.pending)
    found = findings_of(choice.evaluation.by(profile), engine.calls(profile, progress), held)
    explanation = Explanation.of(
        choice, seed, warnings, assigned_node, held=held, others=others, findings=found
    )
    if group_room is not None:
        explanation = replace_struct(
            explanation,
            held=SUCCESS,
            status=held,
            message=held.message,
            selected=None,
            candidates=(group_room,),
            room_on=group_room.node_name,
        )
    return explanation, choice.state_version


def _held_by_group(
    engine: Engine, pod: Pod, profile: Profile, seed: int, progress: Progress | None
) -> tuple[Status, Candidate | None]:
    """Return why the pod gets no node with its group, and where preemption makes room for all of the group.

    Success also if it has no group.
    """
    group, uid = group_as_a_whole(engine.state, pod, profile), pod.metadata.uid
    if group is None or pod.group is None:
        return SUCCESS, None
    members = waiting(pods_of_group(engine.state, pod.group))
    if uid not in (member.metadata.uid for member in members):
        members.append(pod)
    asked = asked_group(engine, group, members, profile, progress).group
    decision = nothing_to_do(asked, engine.state)
    if asked.pods:
        decision = engine.decide_group(asked, profile, seed=seed, progress=progress)
    if not decision.status.ok:
        said = f"pod group {'/'.join(pod.group)}: {decision.status.message}"
        return replace(decision.status, reasons=(said,)), decision.room
    return next((each.status for each in decision.members if each.pod.metadata.uid == uid), SUCCESS), None
