"""The inputs that cost a decision: the request's search, and its answer on the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.answers import Progress
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.objects import known_node, provenance, status_message, subject
from mooring.sessions.blame import MOST_INPUTS, Blame, OtherRules
from mooring.sessions.work_trees import Work
from mooring_client.v1 import simulation_service_pb2 as pb

MOST_LISTED = 3
"""Nodes that are listed for each set."""

Others = Callable[[Work, Progress], Sequence[OtherRules]]
"""Returns the gates and configurations that could be otherwise."""


def blame(
    decoder: ObjectDecoder, work: Work, request: pb.AssignBlameRequest, progress: Progress, others: Others
) -> pb.AssignBlameResponse:
    """Return which inputs cost the decision about the pod of ``request``.

    Raises:
        NotFoundError: There is no such pod, node or profile.
        InvalidArgumentError: The request wants larger sets than there may be, or the pod is malformed.
    """
    if request.most > MOST_INPUTS:
        raise InvalidArgumentError.at("most", f"{request.most} is more than {MOST_INPUTS}")
    if request.node:
        known_node(work.tree, request.node)
    pod = subject(decoder, work.tree, request.pod)
    profile = work.engine.profile(request.profile, pod)
    looking = Blame(
        work,
        pod,
        profile,
        others(work, progress),
        node=request.node,
        most=request.most or 2,
        progress=progress,
    )
    found = looking.run()
    sets = [
        pb.BlamedSet(
            inputs=[
                pb.BlamedInput(kind=pb.BlamedKind.ValueType(each.kind), name=each.name, node=each.node)
                for each in sorted(inputs)
            ],
            nodes=nodes[:MOST_LISTED],
            node_count=len(nodes),
        )
        for inputs, nodes in found.sets.items()
    ]
    return pb.AssignBlameResponse(
        provenance=provenance(work, profile.name),
        verdict=status_message(found.status, found.status.message),
        node=found.node,
        sets=sets,
        complete=found.complete,
    )
