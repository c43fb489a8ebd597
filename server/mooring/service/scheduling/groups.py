"""ScheduleGroups: groups of pods, each decided as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mooring.decisions.records import DecisionKind
from mooring.framework import Pod
from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.answers import ForkReserve, Progress
from mooring.runtime.commit.asked_group import AskedGroup, asked_group, nothing_to_do, waiting
from mooring.runtime.commit.group_commit import PlacedGroup
from mooring.service.backend import Backend
from mooring.service.calls.access import asks_place, commit_mode
from mooring.service.calls.slots import SlotProgress
from mooring.service.scheduling.batch import commit_profile
from mooring.service.scheduling.decision_recorder import DecisionRecorder
from mooring.service.scheduling.group_commits import GroupCommits
from mooring.service.wire.groups import decode_group, group_answer
from mooring.service.wire.objects import find_committed_pod, find_pod
from mooring.service.wire.outcomes import result_of
from mooring.sessions.placing import place_group
from mooring.sessions.work_trees import Work
from mooring_client.v1 import scheduling_service_pb2 as pb


def schedule_groups(
    backend: Backend, request: pb.ScheduleGroupsRequest, progress: SlotProgress
) -> pb.ScheduleGroupsResponse:
    """Decide about the groups in their order, and reserve or bind their pods if the call's mode says so.
    Raises MooringError if the request is wrong, or a decision failed.
    """
    mode = commit_mode(request)
    asked = list(_decoded(backend, request, progress))
    if asks_place(request) and backend.work is None:
        commits = GroupCommits(backend, mode, request.seed)
        answers = [commits.commit(one, progress) for one in asked]
    else:
        answers = _decided(backend, request, asked, progress)
    profiles = {one.profile.name: one.profile for one in asked}
    state = backend.engine.state
    with state.lock:
        provenance = backend.provenance(state.version, state.snapshot.nodes.epoch, *profiles.values())
    warnings = dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings)
    return pb.ScheduleGroupsResponse(provenance=provenance, groups=answers, warnings=warnings)


def _decided(
    backend: Backend,
    request: pb.ScheduleGroupsRequest,
    asked: Sequence[AskedGroup],
    progress: SlotProgress,
) -> list[pb.ScheduledGroup]:
    """Decide about the groups in a dry run, or place them in a session."""
    dry, seed = not asks_place(request), backend.seed(request.seed)
    if dry or backend.work is None:
        place = _dry_run(backend, seed, progress)
    else:
        place = _in_session(backend.work, seed, progress)
    observed = request.commit_mode == pb.COMMIT_MODE_OBSERVE
    kind = DecisionKind.OBSERVE if observed else DecisionKind.DRY_RUN if dry else DecisionKind.SCHEDULE
    answers: list[pb.ScheduledGroup] = []
    earlier: list[tuple[Pod, str]] = []
    for one in asked:
        progress.check()
        recorder = DecisionRecorder(backend, kind, seed)
        placed = place(one) if one.group.pods else PlacedGroup(nothing_to_do(one.group, backend.engine.state))
        recorder.grouped(one.group, placed.decision, one.profile, earlier)
        answers.append(group_answer(one, placed))
        if dry:
            earlier += [(member.pod, member.node_name) for member in placed.decision.placed]
            result = result_of(placed.decision.status)
            backend.metrics.dry_runs.labels(result, one.profile.name).inc(len(one.group.pods))
    return answers


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


def _decoded(backend: Backend, request: pb.ScheduleGroupsRequest, progress: Progress) -> Iterator[AskedGroup]:
    """Yield the groups. Raises MooringError if the request is wrong."""
    if not request.groups:
        raise InvalidArgumentError.at("groups", "is empty; send one or more")
    limit = backend.limits.max_batch_pods
    if sum(len(each.pods) for each in request.groups) > limit:
        raise InvalidArgumentError.at("groups", f"have more than {limit} pods")
    commits = asks_place(request) and backend.work is None
    find = find_committed_pod if commits else find_pod
    seen: set[tuple[str, str]] = set()
    for at, given in enumerate(request.groups):
        key = given.namespace, given.name
        if key in seen:
            raise InvalidArgumentError.at(f"groups[{at}]", f"is group {'/'.join(key)} again")
        seen.add(key)
        group, pods = decode_group(backend.decoder, backend.engine.state, given, f"groups[{at}]", find)
        first = next(iter(waiting(pods) or pods), Pod())
        profile = commit_profile(backend.engine.profiles, request.profile, first)
        yield asked_group(backend.engine, group, pods, profile, progress)
