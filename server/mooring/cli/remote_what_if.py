"""What-if questions to a running server."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.cli.output import complain
from mooring.cli.remote import TIMEOUT_SECONDS, CallError, calling

if TYPE_CHECKING:
    import grpc

    from mooring.framework import Pod
    from mooring.sessions.node_groups import NodeGroup
    from mooring.v1 import simulation_service_pb2
    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

NODES_A_CALL = 100
"""Nodes whose removal is asked about at once, so that a busy server answers within a call's deadline."""


@dataclass(frozen=True, slots=True)
class Queued:
    """What became of the pods that had no node, before the question.

    Attributes:
        placed: How many were placed.
        left: The others, each with ``pod`` and ``message``.
    """

    placed: int = 0
    left: Sequence[dict[str, str]] = ()

    @property
    def counts(self) -> dict[str, int]:
        """For programs."""
        return {"placedFirst": self.placed, "stillPending": len(self.left)}


def capacity(args: argparse.Namespace, shapes: Sequence[Pod]) -> tuple[Queued, list[dict[str, Any]]]:
    """Ask that server how many more pods of each shape there is room for.

    Raises:
        CallError: As ``calling``, or the configuration can't be read.
    """
    import msgspec

    from mooring.v1 import objects_pb2
    from mooring.v1 import simulation_service_pb2 as pb

    sent = [objects_pb2.KubernetesObject(json=msgspec.json.encode(shape)) for shape in shapes]
    request = pb.CapacityRequest(
        shapes=[objects_pb2.PodSource(object=each) for each in sent],
        profile=args.profile,
        limit=args.limit,
        include_nodes=args.nodes,
        ignore_pending=args.ignore_pending,
        seed=args.seed,
    )
    response = _ask(args, "Capacity", request, _opening(args))
    return _queued(response), [
        {
            "shape": shape.key,
            "count": each.count,
            "limited": each.limited,
            "end": each.end.message,
            "nodes": {node.node: node.count for node in each.nodes},
        }
        for shape, each in zip(shapes, response.shapes, strict=True)
    ]


def removal(args: argparse.Namespace) -> tuple[Queued, list[dict[str, Any]]]:
    """Ask that server which nodes could go.

    Raises:
        CallError: As ``capacity``.
    """
    from mooring.v1 import simulation_service_pb2 as pb

    request = pb.RemovalRequest(
        nodes=args.node,
        mode=pb.RemovalMode.Value(f"REMOVAL_MODE_{args.by.upper()}"),
        cumulative=args.cumulative,
        ignore_pending=args.ignore_pending,
        profile=args.profile,
        seed=args.seed,
    )
    opening = _opening(args)
    if args.cumulative:
        pages = [_ask(args, "Removal", request, opening)]
    else:
        with calling(args) as channel:
            pages = list(_removal_pages(channel, request, opening or pb.OpenSessionRequest()))
    return _queued(pages[0]), [_node_removal(each) for page in pages for each in page.nodes]


def _queued(
    response: simulation_service_pb2.CapacityResponse | simulation_service_pb2.RemovalResponse,
) -> Queued:
    """Return what became of the pending pods; what the server says besides goes to standard error."""
    for warning in response.warnings:
        complain(warning)
    return Queued(response.placed_count, [_left_over(left) for left in response.unplaced])


def _left_over(left: simulation_service_pb2.LeftOverPod) -> dict[str, str]:
    return {"pod": f"{left.pod.namespace}/{left.pod.name}", "message": left.status.message}


def _removal_pages(
    channel: grpc.Channel,
    request: simulation_service_pb2.RemovalRequest,
    opening: simulation_service_pb2.OpenSessionRequest,
) -> Iterator[simulation_service_pb2.RemovalResponse]:
    """Ask about some nodes at a time, all in one session: each call has a deadline of its own.

    Raises:
        grpc.RpcError: A call failed.
    """
    from mooring.v1 import simulation_service_pb2 as pb
    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

    names = list(request.nodes) or _node_names(channel)
    rest = pb.RemovalRequest()
    rest.CopyFrom(request)
    rest.ClearField("nodes")
    simulation = SimulationServiceStub(channel)
    with _session(simulation, opening) as session:
        for at in range(0, len(names), NODES_A_CALL):
            page = pb.RemovalRequest(session=session, nodes=names[at : at + NODES_A_CALL])
            page.MergeFrom(rest)
            yield simulation.Removal(page, timeout=TIMEOUT_SECONDS)


@contextmanager
def _session(
    simulation: SimulationServiceStub, opening: simulation_service_pb2.OpenSessionRequest
) -> Iterator[str]:
    """Open a session and close it; what the server says of it goes to standard error.

    Raises:
        grpc.RpcError: It can't be opened.
    """
    from mooring.v1 import simulation_service_pb2 as pb

    opened = simulation.OpenSession(opening, timeout=TIMEOUT_SECONDS)
    for warning in opened.warnings:
        complain(warning)
    try:
        yield opened.session.id
    finally:
        simulation.CloseSession(pb.CloseSessionRequest(session=opened.session.id), timeout=TIMEOUT_SECONDS)


def _opening(args: argparse.Namespace) -> simulation_service_pb2.OpenSessionRequest | None:
    """Return what opens a session in which the flags decide; None where they leave everything to the server.

    Raises:
        CallError: The configuration can't be read.
    """
    from mooring.v1 import simulation_service_pb2 as pb

    if not (args.config or args.kube_version or args.feature_gates):
        return None
    try:
        text = Path(args.config).read_text(encoding="utf-8") if args.config else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CallError(f"{args.config} can't be read: {error}") from None
    return pb.OpenSessionRequest(
        kube_version=args.kube_version, feature_gates=args.feature_gates, configuration=text
    )


def _node_names(channel: grpc.Channel) -> list[str]:
    """Return the names of all nodes, sorted."""
    from mooring.v1 import cluster_service_pb2 as pb
    from mooring.v1.cluster_service_pb2_grpc import ClusterServiceStub

    answer = ClusterServiceStub(channel).ListNodes(pb.ListNodesRequest(), timeout=TIMEOUT_SECONDS)
    return sorted(answer.nodes.names.names)


def _node_removal(each: simulation_service_pb2.NodeRemoval) -> dict[str, Any]:
    return {
        "node": each.node,
        "removable": each.removable,
        "ending": each.ending_pod_count,
        "landings": [
            {
                "pod": f"{one.pod.namespace}/{one.pod.name}",
                "node": one.node,
                "message": one.status.message,
                "waits": one.waits,
            }
            for one in each.landings
        ],
        "alone": [f"{pod.namespace}/{pod.name}" for pod in each.alone],
        "exhaustedBudgets": list(each.exhausted_budgets),
    }


def node_groups(args: argparse.Namespace, groups: Sequence[NodeGroup]) -> dict[str, Any]:
    """Ask that server what more nodes of each group would do for the pods that have none.

    Raises:
        CallError: As ``capacity``.
    """
    import msgspec

    from mooring.v1 import objects_pb2
    from mooring.v1 import simulation_service_pb2 as pb

    sent = [
        pb.NodeGroup(
            name=group.name,
            price=group.price,
            node=objects_pb2.KubernetesObject(json=msgspec.json.encode(group.template, enc_hook=dict)),
        )
        for group in groups
    ]
    request = pb.NodeGroupsRequest(groups=sent, profile=args.profile, seed=args.seed)
    response = _ask(args, "NodeGroups", request, _opening(args))
    for warning in response.warnings:
        complain(warning)
    return {
        "placed": response.placed_count,
        "unplaced": [_left_over(left) for left in response.unplaced],
        "options": [
            {
                "group": each.group,
                "nodes": each.node_count,
                "price": each.price,
                "left": [_left_over(left) for left in each.left_over],
            }
            for each in response.options
        ],
    }


def change(args: argparse.Namespace, request: simulation_service_pb2.ChangeRequest, *, by_flags: bool) -> Any:
    """Ask that server what would make a pod fit, by what it decides itself or ``by_flags``.

    Raises:
        CallError: As ``capacity``.
    """
    return _ask(args, "Change", request, _opening(args) if by_flags else None)


def _ask(
    args: argparse.Namespace,
    method: str,
    request: Any,
    opening: simulation_service_pb2.OpenSessionRequest | None,
) -> Any:
    """Call a method of SimulationService, in a session of its own if there is one to open.

    Raises:
        CallError: As ``calling``.
    """
    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

    with calling(args) as channel:
        simulation = SimulationServiceStub(channel)
        call = getattr(simulation, method)
        if opening is None:
            return call(request, timeout=TIMEOUT_SECONDS)
        with _session(simulation, opening) as session:
            request.session = session
            return call(request, timeout=TIMEOUT_SECONDS)
