"""What would make a pod or a group fit, from requests to the search and from its answer to the wire."""

from __future__ import annotations

from functools import partial

from mooring.framework.errors import InvalidArgumentError, UnimplementedError, node_not_found
from mooring.runtime.commit.asked_group import asked_group
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.calls.slots import SlotProgress
from mooring.service.wire.groups import decode_group
from mooring.service.wire.objects import pod_reference, status_message, subject
from mooring.service.wire.preemption import candidate_message
from mooring.sessions.change.group_search import GROUP_KINDS, GroupChangeSearch
from mooring.sessions.change.options import ChangeOption, NeededChanges
from mooring.sessions.change.search import ALL_KINDS, ChangeSearch
from mooring.sessions.change.steps import AddNode, Kind, LowerRequest, Move, Relabel, Step, Tolerate
from mooring.sessions.removal import adopted
from mooring.sessions.work_trees import Work
from mooring.v1 import simulation_service_pb2 as pb


def kinds_of(request: pb.ChangeRequest) -> frozenset[Kind]:
    """Return what may be changed.

    Raises:
        InvalidArgumentError: A kind is unknown, or it is not one pod or group that is asked about.
        UnimplementedError: This is not offered for groups.
    """
    grouped = request.HasField("group")
    if grouped == request.HasField("pod"):
        raise InvalidArgumentError.at("group" if grouped else "pod", "give either a pod or a group")
    if grouped and request.nodes:
        raise UnimplementedError("nodes: which nodes take a group can't be asked; leave them out")
    known = {int(kind): kind for kind in Kind}
    for at, number in enumerate(request.kinds):
        if number not in known:
            raise InvalidArgumentError.at(f"kinds[{at}]", f"{number} is not a kind of change")
    kinds = frozenset(known[number] for number in request.kinds)
    if grouped and not kinds <= GROUP_KINDS:
        raise UnimplementedError("kinds: CHANGE_KIND_MOVE is not offered for groups; leave it out")
    return kinds or (GROUP_KINDS if grouped else ALL_KINDS)


def answer(
    there: Backend, work: Work, request: pb.ChangeRequest, kinds: frozenset[Kind], progress: SlotProgress
) -> pb.ChangeResponse:
    """Return what would make the pod or the group of ``request`` fit.

    Raises:
        NotFoundError: There is no such pod, group, node or profile.
        InvalidArgumentError: A pod is malformed.
        FailedPreconditionError: The feature gate of groups is off (GROUPS_OFF).
        UnimplementedError: Groups are decided as by a release before 1.37.
    """
    if request.HasField("group"):
        group, pods = decode_group(there, request.group, "group")
        profile = work.engine.profile(request.profile, pods[0] if pods else None)
        seed = there.seed(request.seed)
        asked = asked_group(work.engine, group, pods, profile, progress).group
        found = GroupChangeSearch(work, asked, profile, seed=seed, progress=progress).run(kinds)
    else:
        profile, found = _of_pod(there, work, request, kinds, progress)
    response = to_response(found)
    response.provenance.CopyFrom(there.provenance(0, work.tree.snapshot.nodes.epoch, profile))
    response.warnings.extend(profile.warnings)
    return response


def _of_pod(
    there: Backend, work: Work, request: pb.ChangeRequest, kinds: frozenset[Kind], progress: SlotProgress
) -> tuple[Profile, NeededChanges]:
    unknown = [name for name in request.nodes if name not in work.tree.snapshot.nodes.index]
    if unknown:
        raise node_not_found(unknown[0])
    pod = subject(there.decoder, work.tree, request.pod)
    profile = work.engine.profile(request.profile, pod)
    search = ChangeSearch(
        work,
        pod,
        profile,
        partial(adopted, work.engine, request.profile),
        only=request.nodes,
        seed=there.seed(request.seed),
        progress=progress,
    )
    return profile, search.run(kinds)


def to_response(changes: NeededChanges) -> pb.ChangeResponse:
    """Return the answer but for where it comes from."""
    return pb.ChangeResponse(
        status=status_message(changes.status, changes.message),
        options=map(_option, changes.options),
        complete=changes.complete,
        candidates=map(candidate_message, changes.candidates),
        preemption_node=changes.room_on,
        warnings=changes.warnings,
    )


def _option(option: ChangeOption) -> pb.ChangeOption:
    landings = [pb.Landing(pod=pod_reference(pod), node=node) for pod, node in option.landings]
    return pb.ChangeOption(steps=map(_step, option.steps), node=option.node_name, landings=landings)


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
        case AddNode(added_node, like):
            return pb.ChangeStep(node=pb.AddedNode(node=added_node.metadata.name, like=like))
