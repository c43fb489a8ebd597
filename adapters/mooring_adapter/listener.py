"""The gRPC listener of an adapter: its certificate, its health, and what a caller is told of failures."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types

from mooring.serving.addresses import ListenError
from mooring.serving.certificates import FollowedFiles, TlsFiles
from mooring.v1.cluster_service_pb2 import GetClusterInfoRequest
from mooring_adapter.mooring import Mooring

log = logging.getLogger(__name__)

LIVENESS: Final = "liveness"
"""The name to ask for liveness by. The empty one is about readiness: whether mooring's state is complete."""

THREADS: Final = 16
MAX_CALLS: Final = 64
"""Calls at once; more are RESOURCE_EXHAUSTED."""
READY_SECONDS: Final = 1.0
MAX_CHARACTERS: Final = 900
"""Of an error: it may quote a question of many megabytes."""

OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # a taken port is an error, not a second listener
    ("grpc.max_receive_message_length", 128 * 2**20),
    ("grpc.max_send_message_length", 128 * 2**20),
    ("grpc.server_handshake_timeout_ms", 3_000),
)

_Method = Callable[[Any, grpc.ServicerContext], Any]


class QuestionError(Exception):
    """A caller's question that can't be answered. The text says what is wrong with it, and where."""


def serve(
    host: str, port: int, mooring: Mooring, add: Callable[[grpc.Server], None], tls: TlsFiles | None
) -> tuple[grpc.Server, int]:
    """Listen, and return the server with its port.

    Args:
        host: An address of this machine.
        port: A TCP port; 0 takes a free one.
        mooring: Who is asked whether it is ready.
        add: Adds the servicer.
        tls: The certificate to show, and whom to let in; None serves plain gRPC.

    Raises:
        ListenError: The address is taken or not of this machine.
        OSError: A file of ``tls`` can't be read.
    """
    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="answer"),
        interceptors=[_Failures()],
        options=OPTIONS,
        maximum_concurrent_rpcs=MAX_CALLS,
    )
    add(server)
    health_pb2_grpc.add_HealthServicer_to_server(_Health(mooring), server)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if tls is None:
            bound = server.add_insecure_port(address)
        else:
            bound = server.add_secure_port(address, _credentials(tls))
    except RuntimeError as error:
        text = f"cannot listen on {address}: it is in use, or no address of this machine; choose another one"
        raise ListenError(text) from error
    server.start()
    return server, bound


class _Failures(grpc.ServerInterceptor):
    """Gives a call that failed the code and the text of what failed."""

    def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
        handler = continuation(details)
        if handler is None or handler.unary_unary is None:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            partial(_answer, handler.unary_unary),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _answer(method: _Method, request: Any, context: grpc.ServicerContext) -> Any:
    try:
        return method(request, context)
    except QuestionError as error:
        code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
    except grpc.RpcError as error:
        # What a stub raises is a call, too, which grpcio's types leave out.
        failed: Any = error
        code, text = failed.code(), f"mooring: {failed.details()}"
    except Exception as error:
        log.exception("a call failed")
        code = grpc.StatusCode.INTERNAL
        text = f"internal error of the adapter: {type(error).__name__}; its log has the details"
    if code is not grpc.StatusCode.INTERNAL:
        log.info("%s: %s", code.name, text[:MAX_CHARACTERS])
    return context.abort(code, text[:MAX_CHARACTERS])


class _Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # the package ships no types
    """Answers for the adapter, which is ready when mooring is."""

    def __init__(self, mooring: Mooring) -> None:
        self._mooring = mooring

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802 - the name of the call
        if request.service not in ("", LIVENESS):
            context.abort(grpc.StatusCode.NOT_FOUND, f'no service of that name; ask for "" or "{LIVENESS}"')
        statuses = health_pb2.HealthCheckResponse
        fine = request.service == LIVENESS or self._ready()
        return statuses(status=statuses.SERVING if fine else statuses.NOT_SERVING)

    def _ready(self) -> bool:
        asking = self._mooring.asking_for(READY_SECONDS)
        try:
            return asking.call(asking.cluster.GetClusterInfo, GetClusterInfoRequest()).synced
        except grpc.RpcError:
            return False


def _credentials(files: TlsFiles) -> grpc.ServerCredentials:
    followed = FollowedFiles(files, _certificate)
    # None means unchanged, which grpcio's types leave out.
    return grpc.dynamic_ssl_server_credentials(
        followed.current,
        followed.changed,  # type: ignore[arg-type]
        files.authority is not None,
    )


def _certificate(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    chain, key, authority = (
        path.read_bytes() if path else b""
        for path in (files.certificate, files.key or files.certificate, files.authority)
    )
    return grpc.ssl_server_certificate_configuration([(key, chain)], root_certificates=authority or None)
