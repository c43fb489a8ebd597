"""How much more fits, which nodes could go, which would help: from requests to the answers."""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import inf
from typing import TypeVar

from mooring.framework.errors import InvalidArgumentError
from mooring.runtime.answers import Progress
from mooring.runtime.profiles.profiles import left_alone
from mooring.service.backend import ObjectDecoder
from mooring.service.wire.objects import (
    decode_node,
    known_node,
    pod_reference,
    provenance,
    status_message,
    subject,
)
from mooring.sessions.capacity import MOST, Capacity, capacity_of
from mooring.sessions.node_groups import MOST_NODES, NodeGroup, NodeGroups, Together
from mooring.sessions.pending import LeftOver, Queue, place_pending
from mooring.sessions.removal import Departure, Landing, NodeRemoval, Removal, adopted
from mooring.sessions.work_trees import Work
from mooring_client.v1 import simulation_service_pb2 as pb

Response = TypeVar("Response", pb.EstimateCapacityResponse, pb.PlanRemovalResponse, pb.PlanNodeGroupsResponse)


def capacity(
    decoder: ObjectDecoder, work: Work, request: pb.EstimateCapacityRequest, progress: Progress
) -> pb.EstimateCapacityResponse:
    """Return how many more pods of each shape there is room for.

    Raises:
        InvalidArgumentError: The request can't be used.
        NotFoundError: There is no such pod or profile.
    """
    if not request.shapes:
        raise InvalidArgumentError.at("shapes", "is empty; send one or more")
    if request.limit > MOST:
        raise InvalidArgumentError.at("limit", f"{request.limit} is more than {MOST}")
    shapes, profiles, foreign = [], {}, dict[str, None]()
    queue = _queue(work, request, progress)
    work.keep()
    for at, source in enumerate(request.shapes):
        progress.check()
        pod = subject(decoder, work.tree, source, f"shapes[{at}]")
        profile = work.engine.profile(request.profile, pod)
        profiles[profile.name] = profile
        foreign |= dict.fromkeys(left_alone(pod, profile))
        found = capacity_of(
            work,
            pod,
            profile,
            limit=request.limit or MOST,
            by_node=request.include_nodes,
            seed=request.seed or work.seed,
            progress=progress,
        )
        work.go_back()
        shapes.append(_shape(found, by_node=request.include_nodes))
    said = dict.fromkeys(warning for profile in profiles.values() for warning in profile.warnings)
    return _finished(pb.EstimateCapacityResponse(shapes=shapes, warnings=[*said, *foreign]), work, queue)


def _queue(
    work: Work, request: pb.EstimateCapacityRequest | pb.PlanRemovalRequest, progress: Progress
) -> Queue:
    """Place the pods that have no node, unless they are to be left out."""
    if request.ignore_pending:
        return Queue()
    profile_of = partial(adopted, work.engine, request.profile)
    return place_pending(work, profile_of, request.seed or work.seed, progress)


def _finished(response: Response, work: Work, queue: Queue) -> Response:
    """Add where the answer comes from, and what became of the pods that have no node."""
    response.provenance.CopyFrom(provenance(work))
    response.warnings.extend(queue.warnings)
    response.placed_count = len(queue.placed)
    response.unplaced.extend(map(_left_over, queue.left))
    response.preempted.extend(map(pod_reference, queue.preempted))
    return response


def _shape(found: Capacity, *, by_node: bool) -> pb.ShapeCapacity:
    nodes = sorted(found.nodes.items()) if by_node else ()
    return pb.ShapeCapacity(
        count=found.count,
        limited=found.limited,
        end=status_message(found.end, found.message),
        nodes=[pb.NodeCount(node=name, count=count) for name, count in nodes if count],
    )


def removal(
    decoder: ObjectDecoder, work: Work, request: pb.PlanRemovalRequest, progress: Progress
) -> pb.PlanRemovalResponse:
    """Return which nodes could go; nothing is decoded for that.

    Raises:
        InvalidArgumentError: The request can't be used.
        NotFoundError: There is no such node.
    """
    del decoder
    twice = [name for name, count in Counter(request.nodes).items() if count > 1]
    if twice:
        raise InvalidArgumentError.at("nodes", f"{twice[0]!r} is there more than once")
    if request.mode not in (0, *Departure):
        raise InvalidArgumentError.at("mode", f"{request.mode} is not a mode of removal")
    for name in request.nodes:
        known_node(work.tree, name)
    names = list(request.nodes) or sorted(work.tree.snapshot.nodes.index)
    queue = _queue(work, request, progress)
    looking = Removal(
        work,
        partial(adopted, work.engine, request.profile),
        departure=Departure(request.mode or Departure.DRAIN),
        queued=queue.placed,
        seed=request.seed or work.seed,
    )
    found = looking.try_nodes(names, progress, cumulative=request.cumulative)
    return _finished(pb.PlanRemovalResponse(nodes=map(_node_removal, found)), work, queue)


def _node_removal(found: NodeRemoval) -> pb.NodeRemoval:
    return pb.NodeRemoval(
        node=found.node_name,
        removable=found.removable,
        landings=[_landing(landing) for landing in found.landings],
        ending_pod_count=found.ending,
        alone=map(pod_reference, found.alone),
        exhausted_budgets=found.exhausted,
        local_data=map(pod_reference, found.local_data),
    )


def _landing(landing: Landing) -> pb.Landing:
    return pb.Landing(
        pod=pod_reference(landing.pod),
        node=landing.node_name,
        verdict=status_message(landing.status, landing.message),
        waits=landing.waits,
    )


def _node_group(decoder: ObjectDecoder, group: pb.NodeGroup, path: str) -> NodeGroup:
    if not group.name:
        raise InvalidArgumentError.at(f"{path}.name", "is missing")
    if group.max_count > MOST_NODES:
        raise InvalidArgumentError.at(f"{path}.max_count", f"{group.max_count} is more than {MOST_NODES}")
    price = group.price if group.HasField("price") else 1.0
    if not 0 <= price < inf:
        raise InvalidArgumentError.at(f"{path}.price", f"{price:g} is not a price")
    node = decode_node(decoder, group.node, f"{path}.node")
    return NodeGroup(group.name, node, group.max_count or MOST_NODES, price)


def node_groups(
    decoder: ObjectDecoder, work: Work, request: pb.PlanNodeGroupsRequest, progress: Progress
) -> pb.PlanNodeGroupsResponse:
    """Return what more nodes of each group would do.

    Raises:
        InvalidArgumentError: The request can't be used.
        NotFoundError: There is no such pod or profile.
    """
    groups = [_node_group(decoder, group, f"groups[{at}]") for at, group in enumerate(request.groups)]
    names = Counter(group.name for group in groups)
    if not groups:
        raise InvalidArgumentError.at("groups", "is empty; send one or more")
    if max(names.values()) > 1:
        raise InvalidArgumentError.at("groups", f"{names.most_common(1)[0][0]!r} is there more than once")
    pods = [subject(decoder, work.tree, source, f"pods[{at}]") for at, source in enumerate(request.pods)]
    profiles = work.engine.profiles
    profile_of = partial(profiles.find if pods else profiles.of_pod, request.profile)
    seed = request.seed or work.seed
    queue = place_pending(work, profile_of, seed, progress, pods)
    looking = NodeGroups(work, queue.left, profile_of, seed)
    options = looking.options(groups, progress)
    together = looking.together(options, progress)
    lacking: list[str] = []
    if together is not None and together.left_over:
        lacking = looking.lacking(together.counts, progress)
    elif together is None and options[0].left_over:
        lacking = looking.lacking([(options[0].group, options[0].count)], progress)
    response = pb.PlanNodeGroupsResponse(
        options=[
            pb.NodeGroupOption(
                group=option.group.name,
                node_count=option.count,
                price=option.price,
                left_over=map(_left_over, option.left_over),
                daemon_pod_count=len(looking.daemons(option.group)),
            )
            for option in options
        ],
        together=_together(together) if together is not None else None,
        lacking_domains=lacking,
    )
    return _finished(response, work, queue)


def _together(found: Together) -> pb.NodeGroupCombination:
    return pb.NodeGroupCombination(
        groups=[pb.NodeGroupCount(group=group.name, node_count=count) for group, count in found.counts],
        price=found.price,
        left_over=map(_left_over, found.left_over),
    )


def _left_over(left: LeftOver) -> pb.LeftOverPod:
    status = None if left.status.ok else status_message(left.status, left.message)
    return pb.LeftOverPod(pod=pod_reference(left.pod), verdict=status)
