"""What would make a pod fit, from requests to the search and from its answer to the wire."""

from __future__ import annotations

from functools import partial

from mooring.framework.errors import InvalidArgumentError, node_not_found
from mooring.service.backend import Backend
from mooring.service.calls.slots import SlotProgress
from mooring.service.wire.objects import status_message, subject
from mooring.sessions.change.search import ALL_KINDS, ChangeOption, ChangeSearch, NeededChanges
from mooring.sessions.change.steps import AddNode, Kind, LowerRequest, Move, Relabel, Step, Tolerate
from mooring.sessions.removal import adopted
from mooring.sessions.work_trees import Work
from mooring.v1 import objects_pb2
from mooring.v1 import simulation_service_pb2 as pb


def kinds_of(request: pb.ChangeRequest) -> frozenset[Kind]:
    """Return what may be changed.

    Raises:
        InvalidArgumentError: A kind is unknown.
    """
    known = {int(kind): kind for kind in Kind}
    for at, number in enumerate(request.kinds):
        if number not in known:
            raise InvalidArgumentError.at(f"kinds[{at}]", f"{number} is not a kind of change")
    return frozenset(known[number] for number in request.kinds) or ALL_KINDS


def answer(
    there: Backend, work: Work, request: pb.ChangeRequest, kinds: frozenset[Kind], progress: SlotProgress
) -> pb.ChangeResponse:
    """Return what would make the pod of ``request`` fit.

    Raises:
        NotFoundError: There is no such pod, node or profile.
        InvalidArgumentError: The pod is malformed.
    """
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
    response = to_response(search.run(kinds))
    response.provenance.CopyFrom(there.provenance(0, work.tree.snapshot.nodes.epoch, profile))
    response.warnings.extend(profile.warnings)
    return response


def to_response(changes: NeededChanges) -> pb.ChangeResponse:
    """Return the answer but for where it comes from."""
    return pb.ChangeResponse(
        status=status_message(changes.status, changes.message),
        options=map(_option, changes.options),
        complete=changes.complete,
    )


def _option(option: ChangeOption) -> pb.ChangeOption:
    return pb.ChangeOption(steps=map(_step, option.steps), node=option.node_name)


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
            meta = pod.metadata
            moved = objects_pb2.PodReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
            return pb.ChangeStep(move=pb.Landing(pod=moved, node=node))
        case AddNode(added_node, like):
            return pb.ChangeStep(node=pb.AddedNode(node=added_node.metadata.name, like=like))
