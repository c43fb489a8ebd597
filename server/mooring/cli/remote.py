"""Answers of a running server."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.cli.flags import Flags
from mooring.cli.output import complain
from mooring.framework.errors import PluginFailureError

if TYPE_CHECKING:
    import grpc

    from mooring.framework import Pod
    from mooring.runtime.cycle.explain import Explanation
    from mooring.sessions.node_groups import NodeGroup
    from mooring.v1 import objects_pb2, simulation_service_pb2
    from mooring.v1 import scheduling_service_pb2 as pb
    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

TIMEOUT_SECONDS = 30.0

DEFAULT_SERVER = "127.0.0.1:50051"
"""Where ``mooring run`` and ``mooring serve`` listen by default."""

MOST_ATTEMPTS = 1_000
"""Decisions about one pod that are looked at."""

NODES_A_CALL = 100
"""Nodes whose removal is asked about at once, so that a busy server answers within a call's deadline."""

CHANNEL_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0))


class CallError(Exception):
    """The server did not answer, or answered with an error; the text says why."""


def add_server(flags: Flags, default: str = "") -> None:
    """Add the flags of a server to call: its address, and the certificates of both sides."""
    text = (
        "call this server: HOST:PORT or unix:PATH"
        if default
        else "call this server instead: HOST:PORT or unix:PATH"
    )
    flags.add("server", "ADDRESS", default, text)
    add_server_certificates(flags)


def add_server_certificates(flags: Flags) -> None:
    """Add the flags of the certificates of both sides."""
    flags.add("server-ca-file", "FILE", "", "speak TLS to the server, and trust these CAs, PEM")
    flags.add("server-cert-file", "FILE", "", "the certificate to show to the server, PEM")
    flags.add("server-key-file", "FILE", "", "that certificate's private key, PEM")


def explain(args: argparse.Namespace, request: pb.ExplainRequest) -> Explanation:
    """Ask the server that the flags of ``add_server`` name.

    Raises:
        CallError: It can't be reached, or rejects the call, or a file can't be read.
    """
    with channel_to(args) as channel:
        return _ask(channel, args.server, request)


def explain_plainly(address: str, request: pb.ExplainRequest) -> Explanation:
    """Ask the server at ``address`` in plain text.

    Raises:
        CallError: It can't be reached, or rejects the call.
    """
    import grpc

    with grpc.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        return _ask(channel, address, request)


def capacity(args: argparse.Namespace, shapes: Sequence[Pod]) -> list[dict[str, Any]]:
    """Ask that server how many more pods of each shape there is room for.

    Raises:
        CallError: It can't be reached, or rejects the call, or a file can't be read.
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
        seed=args.seed,
    )
    response = _what_if(args, "Capacity", request)
    return [
        {
            "shape": shape.key,
            "count": each.count,
            "limited": each.limited,
            "end": each.end.message,
            "nodes": {node.node: node.count for node in each.nodes},
        }
        for shape, each in zip(shapes, response.shapes, strict=True)
    ]


def removal(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Ask that server which nodes could go.

    Raises:
        CallError: As ``capacity``.
    """
    import grpc

    from mooring.v1 import simulation_service_pb2 as pb

    def found(pages: Iterable[simulation_service_pb2.RemovalResponse]) -> list[dict[str, Any]]:
        return [_node_removal(each) for page in pages for each in page.nodes]

    request = pb.RemovalRequest(
        nodes=args.node, cumulative=args.cumulative, profile=args.profile, seed=args.seed
    )
    if args.cumulative:
        return found([_what_if(args, "Removal", request)])
    with channel_to(args) as channel:
        try:
            return found(_removal_pages(channel, request, _policy(args)))
        except grpc.RpcError as error:
            raise CallError(_rejection(args.server, error.code(), error.details())) from None


def _removal_pages(
    channel: grpc.Channel,
    request: simulation_service_pb2.RemovalRequest,
    policy: simulation_service_pb2.OpenSessionRequest | None,
) -> Iterator[simulation_service_pb2.RemovalResponse]:
    """Ask about some nodes at a time, all in one session: each call has a deadline of its own.

    Raises:
        grpc.RpcError: A call failed.
    """
    from mooring.v1 import simulation_service_pb2 as pb
    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

    names = list(request.nodes) or _node_names(channel)
    simulation = SimulationServiceStub(channel)
    with _session(simulation, policy or pb.OpenSessionRequest()) as session:
        for at in range(0, len(names), NODES_A_CALL):
            page = pb.RemovalRequest(
                session=session,
                nodes=names[at : at + NODES_A_CALL],
                profile=request.profile,
                seed=request.seed,
            )
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


def _policy(args: argparse.Namespace) -> simulation_service_pb2.OpenSessionRequest | None:
    """Return the session in which the flags decide; None where they leave everything to the server.

    They do in commands other than ``what-if``, whose flags count without a server alone.

    Raises:
        CallError: The configuration can't be read.
    """
    from mooring.v1 import simulation_service_pb2 as pb

    if args.command != "what-if" or not (args.config or args.kube_version or args.feature_gates):
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
            }
            for one in each.landings
        ],
    }


def node_groups(args: argparse.Namespace, groups: Sequence[NodeGroup]) -> dict[str, Any]:
    """Ask that server what more nodes of each group would do for the pods that have none.

    Raises:
        CallError: As ``capacity``.
    """
    import msgspec

    from mooring.v1 import objects_pb2
    from mooring.v1 import simulation_service_pb2 as pb

    def left_over(left: pb.LeftOverPod) -> dict[str, str]:
        return {"pod": f"{left.pod.namespace}/{left.pod.name}", "message": left.status.message}

    sent = [
        pb.NodeGroup(
            name=group.name,
            price=group.price,
            node=objects_pb2.KubernetesObject(json=msgspec.json.encode(group.template, enc_hook=dict)),
        )
        for group in groups
    ]
    request = pb.NodeGroupsRequest(groups=sent, profile=args.profile, seed=args.seed)
    response = _what_if(args, "NodeGroups", request)
    return {
        "placed": response.placed_count,
        "unplaced": [left_over(left) for left in response.unplaced],
        "options": [
            {
                "group": each.group,
                "nodes": each.node_count,
                "price": each.price,
                "left": [left_over(left) for left in each.left_over],
            }
            for each in response.options
        ],
    }


def change(args: argparse.Namespace, request: simulation_service_pb2.ChangeRequest) -> Any:
    """Ask that server what would make a pod fit.

    Raises:
        CallError: As ``capacity``.
    """
    return _what_if(args, "Change", request)


def decide(args: argparse.Namespace, method: str, request: Any) -> Any:
    """Call a method of DecisionService at the server that the flags of ``add_server`` name.

    Raises:
        CallError: As ``capacity``.
    """
    from mooring.v1.decision_service_pb2_grpc import DecisionServiceStub

    return _call(args, DecisionServiceStub, method, request)


def explain_attempt(args: argparse.Namespace, pod: str, attempt: int) -> Explanation:
    """Ask that server for the explanation of an earlier decision about a pod: -1 = the last one.

    Raises:
        CallError: As ``capacity``, or there is no such decision.
    """
    from mooring.service.explanation import from_response
    from mooring.v1 import decision_service_pb2 as pb

    namespace, _, name = pod.rpartition("/")
    where = pb.DecisionFilter(
        namespace=namespace,
        pod=name,
        kinds=[pb.DECISION_KIND_SCHEDULE, pb.DECISION_KIND_DRY_RUN, pb.DECISION_KIND_FILTER],
    )
    found = decide(args, "ListDecisions", pb.ListDecisionsRequest(filter=where, limit=MOST_ATTEMPTS))
    if attempt < 0:
        wanted = found.decisions[attempt:][:1] if -attempt <= len(found.decisions) else []
    else:
        wanted = [each for each in found.decisions if each.attempt == attempt][-1:]
    if not wanted:
        raise CallError(
            f"{args.server}: no decision about pod {pod} is attempt {attempt}; see mooring decisions"
        )
    seq = wanted[0].seq
    if wanted[0].explained:
        kept = decide(args, "GetDecision", pb.GetDecisionRequest(seq=seq))
        if kept.HasField("explanation"):
            return from_response(kept.explanation)
    again = decide(args, "ExplainAt", pb.ExplainAtRequest(seq=seq, all_rejections=args.all_rejections))
    return from_response(again.explanation)


def _what_if(args: argparse.Namespace, method: str, request: Any) -> Any:
    """Call a method of SimulationService, in a session of its own where the flags say what decides.

    Raises:
        CallError: As ``capacity``.
    """
    import grpc

    from mooring.v1.simulation_service_pb2_grpc import SimulationServiceStub

    policy = _policy(args)
    with channel_to(args) as channel:
        simulation = SimulationServiceStub(channel)
        call = getattr(simulation, method)
        try:
            if policy is None:
                return call(request, timeout=TIMEOUT_SECONDS)
            with _session(simulation, policy) as session:
                request.session = session
                return call(request, timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            raise CallError(_rejection(args.server, error.code(), error.details())) from None


def _call(args: argparse.Namespace, stub: Callable[[grpc.Channel], Any], method: str, request: Any) -> Any:
    import grpc

    with channel_to(args) as channel:
        try:
            return getattr(stub(channel), method)(request, timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            raise CallError(_rejection(args.server, error.code(), error.details())) from None


def _ask(channel: grpc.Channel, address: str, request: pb.ExplainRequest) -> Explanation:
    import grpc

    from mooring.client.errors import info_of
    from mooring.runtime.cycle.explain import Explanation
    from mooring.service.explanation import from_response
    from mooring.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

    try:
        response = SchedulingServiceStub(channel).Explain(request, timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        info, pod = info_of(error), request.pod.reference
        if info.reason == "PLUGIN_FAILED":
            failure = PluginFailureError(error.details() or "", **info.metadata)
            return Explanation.of_failure(pod.namespace, pod.name, request.profile, request.seed, failure)
        raise CallError(_rejection(address, error.code(), error.details())) from None
    return from_response(response)


def channel_to(args: argparse.Namespace) -> grpc.Channel:
    """Return a channel to the server that the flags of ``add_server`` name.

    Raises:
        CallError: A file can't be read.
    """
    import grpc

    names = (args.server_ca_file, args.server_key_file, args.server_cert_file)
    if not any(names):
        return grpc.insecure_channel(args.server, options=CHANNEL_OPTIONS)
    try:
        authority, key, chain = (Path(name).read_bytes() if name else None for name in names)
    except OSError as error:
        raise CallError(f"{error.filename} can't be read: {error.strerror}") from None
    credentials = grpc.ssl_channel_credentials(authority, key, chain)
    return grpc.secure_channel(args.server, credentials, options=CHANNEL_OPTIONS)


def _rejection(address: str, code: grpc.StatusCode, details: str | None) -> str:
    import grpc

    if code is grpc.StatusCode.UNAVAILABLE:
        return (
            f"{address}: no mooring server can be reached there ({details}); start one, or check the address"
        )
    return f"{address}: {code.name}: {details}"


def reference(pod: str) -> objects_pb2.PodSource:
    """Return a reference to a pod of the server: ``namespace/name``, or a name in the default namespace."""
    from mooring.v1 import objects_pb2

    namespace, slash, name = pod.rpartition("/")
    return objects_pb2.PodSource(
        reference=objects_pb2.PodReference(namespace=namespace if slash else "default", name=name)
    )
