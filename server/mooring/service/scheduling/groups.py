"""ScheduleGroups: groups of pods, each decided as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mooring.decisions.records import DecisionKind
from mooring.framework import GroupPreemption, Pod, Status
from mooring.framework.errors import InvalidArgumentError, UnimplementedError
from mooring.runtime.answers import ForkReserve, GroupDecision, GroupMember, Progress, TriedPlacement
from mooring.runtime.commit.asked_group import AskedGroup, asked_group, nothing_to_do
from mooring.runtime.commit.group_commit import GroupCommitter, PlacedGroup
from mooring.service.backend import Backend
from mooring.service.calls import audit
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import COMMIT_MODES, commit_profile
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.wire.groups import decode_group
from mooring.service.wire.objects import pod_reference, status_message
from mooring.service.wire.outcomes import outcome_of, result_of
from mooring.sessions.placing import place_group
from mooring.sessions.work_trees import Work
from mooring_client.v1 import scheduling_service_pb2 as pb

_WORDS = {pb.COMMIT_MODE_BIND: "ScheduleGroups+Bind", pb.COMMIT_MODE_RESERVE: "ScheduleGroups+Reserve"}
"""The audit's name of a call that commits."""


def schedule_groups(
    backend: Backend, request: pb.ScheduleGroupsRequest, owner: str, progress: SlotProgress
) -> pb.ScheduleGroupsResponse:
    """Decide about the groups in their order, and reserve or bind their pods if the call's mode says so.

    Raises:
        MooringError: The request is wrong, or a decision failed.
    """
    mode = request.commit_mode or pb.COMMIT_MODE_DRY_RUN
    if mode not in COMMIT_MODES:
        raise UnimplementedError(f"commit mode {mode} is not offered by this server; see GetCapabilities")
    asked = list(_decoded(backend, request, progress))
    dry = mode == pb.COMMIT_MODE_DRY_RUN
    if dry:
        place = _dry_run(backend, backend.seed(request.seed), progress)
    elif backend.work is not None:
        place = _in_session(backend.work, backend.seed(request.seed), progress)
    else:
        place = _commit(backend, request, owner, progress)
    kind = DecisionKind.DRY_RUN if dry else DecisionKind.SCHEDULE
    answers: list[pb.ScheduledGroup] = []
    earlier: list[tuple[Pod, str]] = []
    for one in asked:
        progress.check()
        recorder = DecisionRecorder(backend, kind, backend.seed(request.seed))
        placed = place(one) if one.group.pods else PlacedGroup(nothing_to_do(one.group, backend.engine.state))
        recorder.grouped(one.group, placed.decision, one.profile, earlier)
        answers.append(_answer(one, placed))
        if dry:
            earlier += [(member.pod, member.node_name) for member in placed.decision.placed]
            result = result_of(placed.decision.status)
            backend.metrics.dry_runs.labels(result, one.profile.name).inc(len(one.group.pods))
        elif backend.work is None:
            _tell(_WORDS[mode], owner, placed)
    profiles = {one.profile.name: one.profile for one in asked}
    state = backend.engine.state
    with state.lock:
        provenance = backend.provenance(state.version, state.snapshot.nodes.epoch, *profiles.values())
    warnings = dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings)
    return pb.ScheduleGroupsResponse(provenance=provenance, groups=answers, warnings=warnings)


def _dry_run(backend: Backend, seed: int, progress: Progress) -> Callable[[AskedGroup], PlacedGroup]:
    """Return what decides about one group after the other on a private copy of the state."""
    engine = backend.engine
    world = engine.state.fork()
    version = world.version

    def place(asked: AskedGroup) -> PlacedGroup:
        decision = engine.decide_group(asked.group, asked.profile, seed=seed, state=world, progress=progress)
        reserve, calls = ForkReserve(asked.profile, world), engine.calls(asked.profile, progress)
        for member in decision.placed:
            reserve.place(member.pod, member.node_name, calls)
        # The copy has versions of its own.
        return PlacedGroup(replace(decision, state_version=version))

    return place


def _in_session(work: Work, seed: int, progress: Progress) -> Callable[[AskedGroup], PlacedGroup]:
    """Return what places one group after the other in a session."""

    def place(asked: AskedGroup) -> PlacedGroup:
        return PlacedGroup(place_group(work, asked.group, asked.profile, seed=seed, progress=progress))

    return place


def _commit(
    backend: Backend, request: pb.ScheduleGroupsRequest, owner: str, progress: Progress
) -> Callable[[AskedGroup], PlacedGroup]:
    """Return what reserves or binds one group after the other."""
    committer = GroupCommitter(backend.engine, backend.committer)
    bind = request.commit_mode == pb.COMMIT_MODE_BIND

    def place(asked: AskedGroup) -> PlacedGroup:
        return committer.place_group(
            asked.group, asked.profile, seed=request.seed, owner=owner, bind=bind, progress=progress
        )

    return place


def _decoded(backend: Backend, request: pb.ScheduleGroupsRequest, progress: Progress) -> Iterator[AskedGroup]:
    """Yield the groups.

    Raises:
        MooringError: The request is wrong.
    """
    if not request.groups:
        raise InvalidArgumentError.at("groups", "is empty; send one or more")
    limit = backend.limits.max_batch_pods
    if sum(len(each.pods) for each in request.groups) > limit:
        raise InvalidArgumentError.at("groups", f"have more than {limit} pods")
    seen: set[tuple[str, str]] = set()
    for at, given in enumerate(request.groups):
        key = given.namespace, given.name
        if key in seen:
            raise InvalidArgumentError.at(f"groups[{at}]", f"is group {'/'.join(key)} again")
        seen.add(key)
        group, pods = decode_group(backend.decoder, backend.engine.state, given, f"groups[{at}]")
        profile = commit_profile(backend.engine.profiles, request.profile, pods[0] if pods else Pod())
        yield asked_group(backend.engine, group, pods, profile, progress)


def _answer(asked: AskedGroup, placed: PlacedGroup) -> pb.ScheduledGroup:
    decision = placed.decision
    namespace, name = asked.group.key
    pods = [_pod(member, placed) for member in decision.members]
    pods += [_gated(pod, status) for pod, status in asked.gated]
    answer = pb.ScheduledGroup(
        namespace=namespace,
        name=name,
        verdict=status_message(decision.status, decision.message),
        pods=pods,
        placements=[_placement(decision, at) for at in range(len(decision.tried))],
    )
    if decision.status.ok and decision.taken >= 0:
        answer.placement = decision.taken
    if decision.preemption is not None:
        _add_preemption(answer, decision.preemption)
    return answer


def _add_preemption(answer: pb.ScheduledGroup, found: GroupPreemption) -> None:
    answer.victims.extend(map(pod_reference, found.victims))
    answer.pdb_violation_count += found.violations
    nominated = {pod.metadata.uid: node for pod, node in found.nominations}
    for pod in answer.pods:
        pod.nominated_node = nominated.get(pod.pod.uid, "")


def _pod(member: GroupMember, placed: PlacedGroup | None = None) -> pb.GroupPod:
    status = status_message(member.status, member.message)
    answer = pb.GroupPod(pod=pod_reference(member.pod), node=member.node_name, verdict=status)
    if placed is not None:
        if not placed.decision.status.ok and member.pod.metadata.uid not in placed.committed:
            answer.node = ""
        committed = placed.committed.get(member.pod.metadata.uid)
        if committed is not None:
            answer.bind_outcome = outcome_of(committed)
    return answer


def _gated(pod: Pod, status: Status) -> pb.GroupPod:
    return pb.GroupPod(pod=pod_reference(pod), verdict=status_message(status, status.message))


def _placement(decision: GroupDecision, at: int) -> pb.TriedPlacement:
    tried: TriedPlacement = decision.tried[at]
    answer = pb.TriedPlacement(
        name=tried.placement.name,
        node_count=len(tried.placement.rows),
        verdict=status_message(tried.status, tried.status.message),
        pods=[_pod(member) for member in tried.members],
    )
    if at in decision.compared:
        position = decision.compared.index(at)
        for scores in decision.scores:
            raw, normalized = int(scores.raw[position]), int(scores.normalized[position])
            answer.scores.add(plugin=scores.plugin, weight=scores.weight, raw=raw, normalized=normalized)
            answer.total += normalized * scores.weight
    return answer


def _tell(call: str, owner: str, placed: PlacedGroup) -> None:
    """Write to the audit what became of the pods that a node was chosen for."""
    for member in placed.decision.members:
        if member.node_name:
            pod, word = member.pod, audit.word(member.status)
            audit.committed(call, owner, pod.key, pod.metadata.uid, member.node_name, word)
