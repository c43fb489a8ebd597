"""The explanation of a pod: its cycle, and whether gates or its group hold it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_struct

from mooring.framework import SUCCESS, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.commit.asked_group import (
    NOT_HELD,
    enqueued,
    held_by_group,
)
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.explain import Explanation
from mooring.runtime.cycle.findings import findings_of, preemption_findings_of
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
    after preemption, the verdict is the group's. Returns the explanation, and the version of the state that
    it is true for. Raises PluginFailureError if a plugin failed.
    """
    held, of_group = enqueued(engine, pod, profile, progress), NOT_HELD
    if held.ok and not assigned_node:
        of_group = held_by_group(engine, pod, profile, seed=seed, progress=progress)
        held = of_group.status
    let_in = replace(profile, pre_enqueue=())
    options = replace(options, preempt=True)
    choice = engine.decide(
        pod, let_in, candidates, seed=seed, state=state, options=options, progress=progress
    )
    pods, own = engine.state.snapshot.pods, engine.state.snapshot.pods.get(pod.metadata.uid)
    others = pods.pending_count - (own is not None and own.pending)
    evaluation, calls = choice.evaluation.by(profile), engine.calls(profile, progress)
    explanation = Explanation.of(
        choice,
        seed,
        warnings,
        assigned_node,
        held=held,
        others=others,
        findings=findings_of(evaluation, calls, held).with_group(of_group.findings),
        preemption_findings=preemption_findings_of(evaluation, calls),
    )
    if of_group.room is not None:
        explanation = replace_struct(
            explanation,
            held=SUCCESS,
            status=held,
            message=held.message,
            selected=None,
            candidates=(of_group.room,),
            room_on=of_group.room.node_name,
        )
    return explanation, choice.state_version
