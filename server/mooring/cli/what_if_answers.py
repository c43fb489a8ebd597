"""Answers to what-if questions about manifests or from a running server."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli.flags import engine_options
from mooring.cli.output import complain
from mooring.cli.remote import TIMEOUT_SECONDS, CallError, calling, node_names

if TYPE_CHECKING:
    import grpc

    from mooring.app.what_if import Question
    from mooring.framework.objects import Object
    from mooring_client.v1 import objects_pb2, simulation_service_pb2
    from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

NODES_A_CALL = 100
"""Nodes per removal call, so that a busy server answers within a call's deadline."""


def sent(item: Object) -> objects_pb2.KubernetesObject:
    """Return an object as a request has it."""
    import msgspec

    from mooring_client.v1 import objects_pb2

    return objects_pb2.KubernetesObject(json=msgspec.json.encode(item, enc_hook=dict))


def answer(
    args: argparse.Namespace,
    options: tuple[Option, ...],
    request: Question,
    objects: Sequence[Object] = (),
    *,
    by_flags: bool = True,
) -> Any:
    """Return the answer of a server or of manifests, with ``objects`` added to the cluster.

    A server decides by the flags' release, gates and configuration, or not ``by_flags`` by its own.

    Raises:
        CallError: As ``calling``, or the configuration can't be read.
        MooringError: As ``mooring.app.what_if.answered``, or the server has no such node.
    """
    from mooring.app.what_if import answered, name_nodes
    from mooring_client.v1 import simulation_service_pb2 as pb

    if not args.server:
        return answered(engine_options(args, options), args.manifests, request, objects)
    if getattr(request, "nodes", ()):
        with calling(args) as channel:
            name_nodes(request, node_names(channel))
    opening = _opening(args) if by_flags else None
    if not isinstance(request, pb.PlanRemovalRequest) or request.cumulative:
        return _asked(args, request, opening, objects)
    with calling(args) as channel:
        first, *others = _removal_pages(channel, request, opening or pb.OpenSessionRequest())
    for page in others:
        first.nodes.extend(page.nodes)
    return first


def _removal_pages(
    channel: grpc.Channel,
    request: simulation_service_pb2.PlanRemovalRequest,
    opening: simulation_service_pb2.OpenSessionRequest,
) -> Iterator[simulation_service_pb2.PlanRemovalResponse]:
    """Ask about some nodes at a time, all in one session: each call has a deadline of its own. Raises
    grpc.RpcError if a call failed.
    """
    from mooring_client.v1 import simulation_service_pb2 as pb
    from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

    names = list(request.nodes) or node_names(channel)
    rest = pb.PlanRemovalRequest()
    rest.CopyFrom(request)
    rest.ClearField("nodes")
    simulation = SimulationServiceStub(channel)
    with _session(simulation, opening) as session:
        for at in range(0, max(1, len(names)), NODES_A_CALL):
            page = pb.PlanRemovalRequest(session=session, nodes=names[at : at + NODES_A_CALL])
            page.MergeFrom(rest)
            yield simulation.PlanRemoval(page, timeout=TIMEOUT_SECONDS)


@contextmanager
def _session(
    simulation: SimulationServiceStub, opening: simulation_service_pb2.OpenSessionRequest
) -> Iterator[str]:
    """Open a session and close it; the server's warnings go to standard error. Raises grpc.RpcError if it
    can't be opened.
    """
    from mooring_client.v1 import simulation_service_pb2 as pb

    opened = simulation.OpenSession(opening, timeout=TIMEOUT_SECONDS)
    for warning in opened.warnings:
        complain(warning)
    try:
        yield opened.session.id
    finally:
        simulation.CloseSession(pb.CloseSessionRequest(session=opened.session.id), timeout=TIMEOUT_SECONDS)


def _opening(args: argparse.Namespace) -> simulation_service_pb2.OpenSessionRequest | None:
    """Return the request for a session with the flags' settings; None if they leave everything to the server.
    Raises CallError if the configuration can't be read.
    """
    from mooring_client.v1 import simulation_service_pb2 as pb

    if not (args.config or args.kube_version or args.feature_gates):
        return None
    try:
        text = Path(args.config).read_text(encoding="utf-8") if args.config else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CallError(f"{args.config} can't be read: {error}") from None
    return pb.OpenSessionRequest(
        kube_version=args.kube_version, feature_gates=args.feature_gates, configuration=text
    )


def _asked(
    args: argparse.Namespace,
    request: Any,
    opening: simulation_service_pb2.OpenSessionRequest | None,
    objects: Sequence[Object] = (),
) -> Any:
    """Call the method of SimulationService, in a session of its own to open it or to put objects. Raises
    CallError as ``calling`` does.
    """
    from mooring_client.v1 import cluster_service_pb2
    from mooring_client.v1 import simulation_service_pb2 as pb
    from mooring_client.v1.simulation_service_pb2_grpc import SimulationServiceStub

    with calling(args) as channel:
        simulation = SimulationServiceStub(channel)
        call = getattr(simulation, type(request).__name__.removesuffix("Request"))
        if opening is None and not objects:
            return call(request, timeout=TIMEOUT_SECONDS)
        with _session(simulation, opening or pb.OpenSessionRequest()) as session:
            request.session = session
            if objects:
                puts = (
                    cluster_service_pb2.PutObjects(kind=type(item).__name__, objects=[sent(item)])
                    for item in objects
                )
                changes = [pb.SessionChange(put=put) for put in puts]
                asked = pb.ChangeSessionRequest(session=session, changes=changes)
                simulation.ChangeSession(asked, timeout=TIMEOUT_SECONDS)
            return call(request, timeout=TIMEOUT_SECONDS)
