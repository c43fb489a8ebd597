"""ScheduleGroups: groups of pods, each decided as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mooring.decisions.records import DecisionKind
from mooring.framework import GroupPreemption, Pod, PodGroupInfo, Status
from mooring.framework.args import FieldError
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from mooring.framework.objects import PodGroup
from mooring.framework.state import ClusterState
from mooring.runtime.commit.group_commit import GroupCommitter, PlacedGroup, enqueued
from mooring.runtime.cycle.group_result import GroupDecision, GroupMember, TriedPlacement
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.cycle.post_filter import Room
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls import audit
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import COMMIT_MODES, commit_profile
from mooring.service.scheduling.noting import Noting
from mooring.service.wire.objects import find_pod, status_message
from mooring.service.wire.outcomes import outcome_of, result_of
from mooring.sessions.placing import place_group
from mooring.sessions.work_trees import Work
from mooring.v1 import objects_pb2
from mooring.v1 import scheduling_service_pb2 as pb

GROUPS_GATE = "GenericWorkload"
"""The feature gate without which a PodGroup means nothing."""

_WORDS = {pb.COMMIT_MODE_BIND: "ScheduleGroups+Bind", pb.COMMIT_MODE_RESERVE: "ScheduleGroups+Reserve"}
"""What the audit calls a call that commits."""


@dataclass(frozen=True, slots=True)
class _AskedGroup:
    """A group, decoded.

    Attributes:
        group: The group, with the pods that are tried.
        profile: The profile of its pods.
        gated: The pods that may not be scheduled yet, with the reason of each.
    """

    group: PodGroupInfo
    profile: Profile
    gated: tuple[tuple[Pod, Status], ...]


def schedule_groups(
    backend: Backend, request: pb.ScheduleGroupsRequest, owner: str, progress: SlotProgress
) -> pb.ScheduleGroupsResponse:
    """Decide about the groups in their order, and reserve or bind their pods where that is asked for.

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
        noting = Noting(backend, kind, backend.seed(request.seed))
        placed = place(one) if one.group.pods else PlacedGroup(_nothing_to_do(one.group, backend))
        noting.grouped(one.group, placed.decision, one.profile, earlier)
        answers.append(_answer(one, placed))
        if dry:
            earlier += [(member.pod, member.node_name) for member in placed.decision.placed]
            result = result_of(placed.decision.status)
            backend.metrics.dry_runs(result, one.profile.name).inc(len(one.group.pods))
        elif backend.work is None:
            _tell(_WORDS[mode], owner, placed)
    profiles = {one.profile.name: one.profile for one in asked}
    state = backend.engine.state
    with state.lock:
        provenance = backend.provenance(state.version, state.snapshot.nodes.epoch, *profiles.values())
    warnings = dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings)
    return pb.ScheduleGroupsResponse(provenance=provenance, groups=answers, warnings=warnings)


def _dry_run(backend: Backend, seed: int, progress: Progress) -> Callable[[_AskedGroup], PlacedGroup]:
    """Return what decides about one group after the other on a private copy of the state."""
    engine = backend.engine
    world = engine.state.fork()
    version = world.version

    def place(asked: _AskedGroup) -> PlacedGroup:
        decision = engine.decide_group(asked.group, asked.profile, seed=seed, state=world, progress=progress)
        for member in decision.placed:
            world.assume(member.pod, member.node_name)
        # The copy has versions of its own.
        return PlacedGroup(replace(decision, state_version=version))

    return place


def _in_session(work: Work, seed: int, progress: Progress) -> Callable[[_AskedGroup], PlacedGroup]:
    """Return what places one group after the other in a session."""

    def place(asked: _AskedGroup) -> PlacedGroup:
        return PlacedGroup(place_group(work, asked.group, asked.profile, seed=seed, progress=progress))

    return place


def _commit(
    backend: Backend, request: pb.ScheduleGroupsRequest, owner: str, progress: Progress
) -> Callable[[_AskedGroup], PlacedGroup]:
    """Return what reserves or binds one group after the other."""
    committer = GroupCommitter(backend.engine, backend.committer)
    bind = request.commit_mode == pb.COMMIT_MODE_BIND

    def place(asked: _AskedGroup) -> PlacedGroup:
        return committer.place_group(
            asked.group, asked.profile, seed=request.seed, owner=owner, bind=bind, progress=progress
        )

    return place


def _decoded(
    backend: Backend, request: pb.ScheduleGroupsRequest, progress: Progress
) -> Iterator[_AskedGroup]:
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
        missing = [field for field in ("namespace", "name") if not getattr(given, field)]
        if missing:
            raise InvalidArgumentError(FieldError(f"groups[{at}].{each}", "is missing") for each in missing)
        if key in seen:
            raise InvalidArgumentError.at(f"groups[{at}]", f"is group {'/'.join(key)} again")
        seen.add(key)
        yield _decode_group(backend, request.profile, given, f"groups[{at}]", progress)


def _decode_group(
    backend: Backend, profile_name: str, given: pb.GroupToSchedule, path: str, progress: Progress
) -> _AskedGroup:
    state = backend.engine.state
    key = given.namespace, given.name
    group = state.snapshot.objects.get(PodGroup, given.name, given.namespace)
    if group is None:
        name = "/".join(key)
        raise NotFoundError(
            f"PodGroup {name} is not known; push it, or wait for it", reason="POD_GROUP_NOT_FOUND", group=name
        )
    pods = _given_pods(backend, given, path) if given.pods else _known_pods(state, key)
    waiting = [pod for pod in pods if not pod.spec.node_name and not pod.metadata.deletion_timestamp]
    profile = commit_profile(backend.engine.profiles, profile_name, waiting[0] if waiting else Pod())
    if not profile.gates.enabled(GROUPS_GATE):
        raise FailedPreconditionError(
            f"groups are decided as a whole with the feature gate {GROUPS_GATE} alone, which is off",
            reason="GROUPS_OFF",
        )
    gated = [(pod, enqueued(backend.engine, pod, profile, progress)) for pod in waiting]
    free = tuple(pod for pod, status in gated if status.ok)
    held = tuple((pod, status) for pod, status in gated if not status.ok)
    return _AskedGroup(PodGroupInfo(group, free), profile, held)


def _known_pods(state: ClusterState, key: tuple[str, str]) -> list[Pod]:
    """Return the group's pods in the order of kube-scheduler's queue: by priority, age and name."""
    pods = state.snapshot.pods.in_group(key)
    return sorted(
        pods,
        key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "", pod.metadata.name),
    )


def _given_pods(backend: Backend, given: pb.GroupToSchedule, path: str) -> list[Pod]:
    state = backend.engine.state
    key = given.namespace, given.name
    pods: dict[str, Pod] = {}
    for at, source in enumerate(given.pods):
        where = f"{path}.pods[{at}]"
        pod = find_pod(backend.decoder, state, source, where)
        if pod.group != key:
            named = "no group" if pod.group is None else f"group {'/'.join(pod.group)}"
            raise InvalidArgumentError.at(where, f"pod {pod.key} names {named}, not {'/'.join(key)}")
        if pod.metadata.uid in pods:
            raise InvalidArgumentError.at(where, f"has the UID {pod.metadata.uid} of another pod")
        record = state.snapshot.pods.get(pod.metadata.uid)
        pods[pod.metadata.uid] = pod if record is None or not record.node_name else record.pod
    return list(pods.values())


def _nothing_to_do(group: PodGroupInfo, backend: Backend) -> GroupDecision:
    """Return the decision about a group without a pod that could be tried."""
    missing = group.min_count - len(group.scheduled(backend.engine.state.snapshot))
    enough = missing <= 0
    status = Status() if enough else Status.unschedulable(f"no pods to schedule; minCount lacks {missing}")
    return GroupDecision(group.group, status, ())


def _answer(asked: _AskedGroup, placed: PlacedGroup) -> pb.ScheduledGroup:
    decision = placed.decision
    namespace, name = asked.group.key
    pods = [_pod(member, placed) for member in decision.members]
    pods += [_gated(pod, status) for pod, status in asked.gated]
    answer = pb.ScheduledGroup(
        namespace=namespace,
        name=name,
        status=status_message(decision.status, decision.message),
        pods=pods,
        placements=[_placement(decision, at) for at in range(len(decision.tried))],
    )
    if decision.status.ok and decision.taken >= 0:
        answer.placement = decision.taken
    for _, room in decision.rooms:
        _add_room(answer, room)
    if decision.preemption is not None:
        _add_preemption(answer, decision.preemption)
    return answer


def _add_room(answer: pb.ScheduledGroup, room: Room) -> None:
    """Add who has to go for one pod of the group."""
    known = {each.uid for each in answer.victims}
    victims = [each for each in room.candidate.victims if each.metadata.uid not in known]
    answer.victims.extend(map(_reference, victims))
    answer.pdb_violation_count += room.candidate.violations


def _add_preemption(answer: pb.ScheduledGroup, found: GroupPreemption) -> None:
    answer.victims.extend(map(_reference, found.victims))
    answer.pdb_violation_count += found.violations
    nominated = {pod.metadata.uid: node for pod, node in found.nominations}
    for pod in answer.pods:
        pod.nominated_node = nominated.get(pod.pod.uid, "")


def _pod(member: GroupMember, placed: PlacedGroup | None = None) -> pb.GroupPod:
    status = status_message(member.status, member.message)
    answer = pb.GroupPod(pod=_reference(member.pod), node=member.node_name, status=status)
    if placed is not None:
        if not placed.decision.status.ok and member.pod.metadata.uid not in placed.committed:
            answer.node = ""
        committed = placed.committed.get(member.pod.metadata.uid)
        if committed is not None:
            answer.bind_outcome = outcome_of(committed)
    return answer


def _gated(pod: Pod, status: Status) -> pb.GroupPod:
    return pb.GroupPod(pod=_reference(pod), status=status_message(status, status.message))


def _reference(pod: Pod) -> objects_pb2.PodReference:
    meta = pod.metadata
    return objects_pb2.PodReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)


def _placement(decision: GroupDecision, at: int) -> pb.TriedPlacement:
    tried: TriedPlacement = decision.tried[at]
    answer = pb.TriedPlacement(
        name=tried.placement.name,
        node_count=len(tried.placement.rows),
        status=status_message(tried.status, tried.status.message),
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
