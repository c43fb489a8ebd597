"""Answers of a running server."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.cli.flags import Flags
from mooring.cli.selection import PodSelection
from mooring.framework.errors import PluginFailureError
from mooring.serving.addresses import is_local

if TYPE_CHECKING:
    import grpc

    from mooring.runtime.answers import Explanation
    from mooring_client.v1 import objects_pb2
    from mooring_client.v1 import scheduling_service_pb2 as pb

TIMEOUT_SECONDS = 30.0
ALL = 1 << 17
"""The page size with which a list has one page."""

DEFAULT_SERVER = "127.0.0.1:50051"
"""The default address of ``mooring run`` and ``mooring serve``."""

MOST_ATTEMPTS = 1_000
"""The most decisions about one pod that are read."""

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
    add_server_files(flags)


def add_server_files(flags: Flags) -> None:
    """Add the flags of the files with which a server is called: certificates and the token."""
    add_server_certificates(flags)
    text = "the bearer token to show to the server, such as of kubectl create token --audience"
    flags.add("server-token-file", "FILE", "", text)


def add_server_certificates(flags: Flags) -> None:
    """Add the flags of the certificates of both sides."""
    flags.add("server-ca-file", "FILE", "", "speak TLS to the server, and trust these CAs, PEM")
    flags.add("server-cert-file", "FILE", "", "the certificate to show to the server, PEM")
    flags.add("server-key-file", "FILE", "", "that certificate's private key, PEM")


def explain(args: argparse.Namespace, request: pb.ExplainRequest) -> Explanation:
    """Ask the server that the flags of ``add_server`` name. Raises CallError if it can't be reached, or
    rejects the call, or a file can't be read.
    """
    with channel_to(args) as channel:
        return _ask(channel, args.server, request)


def explain_plainly(address: str, request: pb.ExplainRequest) -> Explanation:
    """Ask the server at ``address`` in plain text. Raises CallError if it can't be reached, or rejects the
    call.
    """
    import grpc

    with grpc.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        return _ask(channel, address, request)


def decide(args: argparse.Namespace, method: str, request: Any) -> Any:
    """Call a method of DecisionService at the server that the flags of ``add_server`` name. Raises CallError
    as ``calling``.
    """
    from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub

    with calling(args) as channel:
        return getattr(DecisionServiceStub(channel), method)(request, timeout=TIMEOUT_SECONDS)


def explain_attempt(args: argparse.Namespace, pod: str, attempt: int) -> Explanation:
    """Ask that server for the explanation of an earlier decision about a pod: -1 = the last one. Raises
    CallError as ``calling`` does, or if there is no such decision.
    """
    from mooring.service.wire.explanation import from_response
    from mooring_client.v1 import decision_service_pb2 as pb

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


def pending_pods(args: argparse.Namespace, selection: PodSelection) -> list[str]:
    """Return the pods of a selection that have no node, NAMESPACE/NAME each, as that server knows them.
    Raises CallError as ``calling`` does.
    """
    with calling(args) as channel:
        return _pending(channel, namespace=selection.namespace, label_selector=selection.selector)


def pod_of_owner(args: argparse.Namespace, owner: str) -> str:
    """Return the first pod without a node of a workload, NAMESPACE/KIND/NAME, as that server knows it. Raises
    CallError as ``calling`` does, or if there is none.
    """
    import msgspec

    from mooring.app.owners import belongs_to
    from mooring.framework import Pod
    from mooring_client.v1.cluster_service_pb2 import GetObjectRequest
    from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

    namespace, kind, name = owner.split("/")
    with calling(args) as channel:
        cluster = ClusterServiceStub(channel)
        for key in _pending(channel, namespace=namespace):
            pod = key.rpartition("/")[2]
            if not pod.startswith(f"{name}-"):
                continue
            asked = GetObjectRequest(kind="Pod", namespace=namespace, name=pod)
            found = cluster.GetObject(asked, timeout=TIMEOUT_SECONDS)
            if belongs_to(msgspec.json.decode(found.object.json, type=Pod), kind, name):
                return key
    raise CallError(f"{args.server}: no pod of {kind} {namespace}/{name} waits for a node; name a pod")


def require_pending(args: argparse.Namespace, pod: str) -> None:
    """Require that the server knows a pod, and that it has no node. Raises CallError if it doesn't, or as
    ``calling`` does.
    """
    with calling(args) as channel:
        known = _pending(channel)
    if pod not in known:
        raise CallError(f"nothing is remembered of pod {pod}{_meant(pod, known)}")


def node_names(channel: grpc.Channel) -> list[str]:
    """Return the names of all nodes that a server knows, sorted."""
    from mooring_client.v1.cluster_service_pb2 import ListNodesRequest
    from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

    answer = ClusterServiceStub(channel).ListNodes(ListNodesRequest(page_size=ALL), timeout=TIMEOUT_SECONDS)
    return sorted(answer.nodes.names.names)


def _pending(channel: grpc.Channel, namespace: str = "", label_selector: str = "") -> list[str]:
    """Return the wanted pods without a node that a server knows."""
    from mooring_client.v1.cluster_service_pb2 import ListPendingPodsRequest
    from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

    request = ListPendingPodsRequest(namespace=namespace, label_selector=label_selector, page_size=ALL)
    found = ClusterServiceStub(channel).ListPendingPods(request, timeout=TIMEOUT_SECONDS)
    return [f"{each.pod.namespace}/{each.pod.name}" for each in found.pods]


def _meant(pod: str, known: list[str]) -> str:
    """Return a hint about an unknown pod: pods with a similar name, or the pods without a node."""
    from mooring.app.offline import meant_pods

    return meant_pods(pod, known, known)


def _ask(channel: grpc.Channel, address: str, request: pb.ExplainRequest) -> Explanation:
    import grpc

    from mooring.runtime.answers import Explanation
    from mooring.service.wire.explanation import from_response
    from mooring_client.errors import failure_of
    from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

    try:
        response = SchedulingServiceStub(channel).Explain(request, timeout=TIMEOUT_SECONDS)
    except grpc.RpcError as error:
        failed, pod = failure_of(error), request.pod.reference
        if failed.reason in ("PLUGIN_FAILED", "PLUGIN_UNAVAILABLE"):
            failure = PluginFailureError(error.details() or "", **failed.metadata)
            return Explanation.of_failure(pod.namespace, pod.name, request.profile, request.seed, failure)
        if failed.reason == "POD_NOT_FOUND":
            key = f"{pod.namespace}/{pod.name}"
            raise CallError(f"{address}: no pod {key} is known{_meant(key, _pending(channel))}") from None
        raise CallError(_rejection(address, error.code(), error.details())) from None
    return from_response(response)


@contextmanager
def calling(args: argparse.Namespace) -> Iterator[grpc.Channel]:
    """Lend a channel to the server that the flags of ``add_server`` name. Raises CallError if it can't be
    reached, or rejects a call that is made in the block, or a file can't be read.
    """
    import grpc

    with channel_to(args) as channel:
        try:
            yield channel
        except grpc.RpcError as error:
            raise CallError(_rejection(args.server, error.code(), error.details())) from None


def channel_to(args: argparse.Namespace) -> grpc.Channel:
    """Return a channel to the server that the flags of ``add_server`` name. Raises CallError if a file can't
    be read.
    """
    return channel_at(args, args.server)


def channel_at(args: argparse.Namespace, address: str, name: str = "") -> grpc.Channel:
    """Return a channel to HOST:PORT or unix:PATH, with the files that the flags of ``add_server`` name.

    The server's certificate has the host ``name``; "" = that of the address. Raises CallError if a file can't
    be read.
    """
    import grpc

    names = (args.server_ca_file, args.server_key_file, args.server_cert_file, args.server_token_file)
    try:
        authority, key, chain, token = (Path(name).read_bytes() if name else b"" for name in names)
    except OSError as error:
        raise CallError(f"{error.filename} can't be read: {error.strerror}") from None
    options = [*CHANNEL_OPTIONS, *([("grpc.ssl_target_name_override", name)] if name else [])]
    if not (authority or key or chain):
        channel = grpc.insecure_channel(address, options=options)
    else:
        credentials = grpc.ssl_channel_credentials(authority or None, key or None, chain or None)
        channel = grpc.secure_channel(address, credentials, options=options)
    if not token:
        return channel
    if not (names[0] or is_local(address)):
        raise CallError(f"{address}: a token is not sent in plain text; give --server-ca-file")
    from mooring.cli.bearer import Bearer

    return grpc.intercept_channel(channel, Bearer(token.decode().strip()))


def _rejection(address: str, code: grpc.StatusCode, details: str | None) -> str:
    import grpc

    if code is grpc.StatusCode.UNAVAILABLE:
        return (
            f"{address}: no mooring server can be reached there ({details}); start one, or check the address"
        )
    return f"{address}: {code.name}: {details}"


def reference(pod: str) -> objects_pb2.PodSource:
    """Return a reference to a pod of the server: ``namespace/name``, or a name in the default namespace."""
    from mooring_client.v1 import objects_pb2

    namespace, slash, name = pod.rpartition("/")
    return objects_pb2.PodSource(
        reference=objects_pb2.PodReference(namespace=namespace if slash else "default", name=name)
    )
