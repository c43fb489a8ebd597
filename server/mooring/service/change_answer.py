"""Changes that would make a pod or group fit: the request's search, and its answer on the wire."""

from __future__ import annotations

from functools import partial
from math import inf

from mooring.framework.errors import InvalidArgumentError, UnimplementedError
from mooring.runtime.answers import Progress
from mooring.runtime.commit.asked_group import asked_group, waiting
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.groups import decode_group
from mooring.service.wire.objects import (
    candidate_message,
    known_node,
    pod_reference,
    provenance,
    status_message,
    subject,
)
from mooring.sessions.change.advice import Advisor, easiest_first, requested_by, words
from mooring.sessions.change.group_search import GROUP_KINDS, GroupChangeSearch
from mooring.sessions.change.search import ALL_KINDS, ChangeSearch
from mooring.sessions.change.steps import (
    AddNode,
    ChangeOption,
    End,
    Kind,
    LowerRequest,
    Move,
    Relabel,
    Step,
    Tolerate,
)
from mooring.sessions.removal import adopted
from mooring.sessions.work_trees import Work
from mooring_client.v1 import simulation_service_pb2 as pb


def change(
    decoder: ObjectDecoder,
    work: Work,
    request: pb.SuggestChangesRequest,
    progress: Progress,
    advisor: Advisor | None = None,
) -> pb.SuggestChangesResponse:
    """Return what would make the pod or the group of ``request`` fit, as far as ``advisor`` doesn't know it.

    Raises:
        NotFoundError: There is no such pod, group, node or profile.
        InvalidArgumentError: The request names more or less than one pod or group, a pod is malformed, or a
            kind of change is unknown.
        FailedPreconditionError: The feature gate of groups is off (GROUPS_OFF).
        UnimplementedError: This is not offered for groups, or they are decided as by a release before 1.37.
    """
    kinds, seed, seconds = _kinds(request), request.seed or work.seed, _seconds(request)
    if request.HasField("group"):
        group, pods = decode_group(decoder, work.tree, request.group, "group")
        first = next(iter(waiting(pods) or pods), None)
        profile = work.engine.profile(request.profile, first)
        asked = asked_group(work.engine, group, pods, profile, progress).group
        looking = GroupChangeSearch(work, asked, profile, seconds=seconds, seed=seed, progress=progress)
        found = looking.run(kinds)
        requested = frozenset[str]().union(*(requested_by(work, each) for each in asked.pods))
    else:
        for name in request.nodes:
            known_node(work.tree, name)
        pod = subject(decoder, work.tree, request.pod)
        profile = work.engine.profile(request.profile, pod)
        plain = not (request.session or request.nodes or request.kinds or seed)
        if advisor is not None and plain and seconds < inf:
            found = advisor.advise(work, pod, request.profile, progress, seconds=seconds)
        else:
            movers = partial(adopted, work.engine, request.profile)
            only = request.nodes
            search = ChangeSearch(
                work, pod, profile, movers, only=only, seconds=seconds, seed=seed, progress=progress
            )
            found = search.run(kinds)
        requested = requested_by(work, pod)
    return pb.SuggestChangesResponse(
        provenance=provenance(work, profile.name),
        verdict=status_message(found.status, found.message),
        options=map(option_message, easiest_first(found.options, requested)),
        complete=found.complete,
        candidates=map(candidate_message, found.candidates),
        preemption_node=found.room_on,
        warnings=[*found.warnings, *profile.warnings],
    )


def _kinds(request: pb.SuggestChangesRequest) -> frozenset[Kind]:
    """Return what may be changed."""
    grouped = request.HasField("group")
    if grouped == request.HasField("pod"):
        raise InvalidArgumentError.at("group" if grouped else "pod", "give either a pod or a group")
    if grouped and request.nodes:
        raise UnimplementedError("nodes: changes for a group can't be limited to nodes; leave them out")
    known = {int(kind): kind for kind in Kind}
    for at, number in enumerate(request.kinds):
        if number not in known:
            raise InvalidArgumentError.at(f"kinds[{at}]", f"{number} is not a kind of change")
    kinds = frozenset(known[number] for number in request.kinds)
    if grouped and not kinds <= GROUP_KINDS:
        raise UnimplementedError("kinds: CHANGE_KIND_MOVE is not offered for groups; leave it out")
    return kinds or (GROUP_KINDS if grouped else ALL_KINDS)


def _seconds(request: pb.SuggestChangesRequest) -> float:
    if not request.HasField("time_limit"):
        return inf
    seconds = request.time_limit.ToNanoseconds() / 1e9
    if seconds <= 0:
        raise InvalidArgumentError.at("time_limit", "must be more than 0")
    return seconds


def option_message(option: ChangeOption) -> pb.ChangeOption:
    """Encode a set of changes."""
    return pb.ChangeOption(
        steps=map(_step, option.steps),
        node=option.node_name,
        landings=[pb.Landing(pod=pod_reference(pod), node=node) for pod, node in option.landings],
        node_count=option.nodes,
        text=words(option) if option.steps else "",
    )


def _step(step: Step) -> pb.ChangeStep:
    match step:
        case Tolerate(taint):
            added = pb.AddedToleration(key=taint.key, value=taint.value, effect=taint.effect)
            return pb.ChangeStep(toleration=added)
        case Relabel(node, key, value):
            return pb.ChangeStep(label=pb.ChangedLabel(node=node, key=key, value=value))
        case LowerRequest(resource, amount, before):
            lowered = pb.LoweredRequest(resource=resource, before=before, after=amount)
            return pb.ChangeStep(request=lowered)
        case Move(pod, node):
            return pb.ChangeStep(move=pb.Landing(pod=pod_reference(pod), node=node))
        case End(pod):
            return pb.ChangeStep(end=pod_reference(pod))
        case AddNode(added_node, like):
            return pb.ChangeStep(node=pb.AddedNode(node=added_node.metadata.name, like=like))
