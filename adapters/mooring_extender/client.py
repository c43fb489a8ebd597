"""How the adapter reaches mooring: one protocol, whether mooring is another process or this one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeVar

import grpc
import grpc.aio

from mooring.serving.access.access import asking_client
from mooring.serving.access.clients import on_behalf_of
from mooring.serving.certificates import FollowedFiles, TlsFiles
from mooring.serving.http.tls import channel_credentials
from mooring.tracing.spans import outgoing_headers
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2 import (
    GetClusterInfoRequest,
    GetClusterInfoResponse,
    ListNodesRequest,
    ListNodesResponse,
)
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.plugin_service_pb2 import ListProfilesRequest, ListProfilesResponse
from mooring_client.v1.plugin_service_pb2_grpc import PluginServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from mooring_extender.failures import CallError

CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # kube-scheduler retries a pod after a second; a restarted mooring must be found again by then.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
)

RENEW_SECONDS: Final = 10.0
"""Seconds between checks of a certificate's files; calls on the old channel may go on as long."""


class Client(Protocol):
    """The calls that the adapter makes. All methods belong to one event loop.

    ``seconds`` is binding: a call ends by then. Each method raises CallError, and nothing else,
    if there is no answer.
    """

    async def filter(self, request: pb.FilterRequest, seconds: float) -> pb.FilterResponse:
        """Call SchedulingService.Filter."""

    async def score(self, request: pb.ScoreRequest, seconds: float) -> pb.ScoreResponse:
        """Call SchedulingService.Score."""

    async def bind(self, request: pb.BindRequest, seconds: float) -> pb.BindResponse:
        """Call SchedulingService.Bind."""

    async def preempt(self, request: pb.PreemptRequest, seconds: float) -> pb.PreemptResponse:
        """Call SchedulingService.Preempt."""

    async def profiles(self, seconds: float) -> ListProfilesResponse:
        """Call PluginService.ListProfiles."""

    async def cluster_info(self, seconds: float) -> GetClusterInfoResponse:
        """Call ClusterService.GetClusterInfo."""

    async def list_nodes(self, request: ListNodesRequest, seconds: float) -> ListNodesResponse:
        """Call ClusterService.ListNodes."""

    async def close(self) -> None:
        """Release the client's resources. No call follows."""


Request_contra = TypeVar("Request_contra", contravariant=True)
Response_co = TypeVar("Response_co", covariant=True)
Request = TypeVar("Request")
Response = TypeVar("Response")


class _UnaryCall(Protocol[Request_contra, Response_co]):
    def __call__(
        self, request: Request_contra, /, *, timeout: float, metadata: Sequence[tuple[str, str]]
    ) -> Awaitable[Response_co]: ...


ClientFactory = Callable[[], Client]


class GrpcClient:
    """A Client over one gRPC channel. Must be made in the event loop that uses it.

    Args:
        address: The server as "host:port" or "unix:PATH".
        tls: The certificates to trust and to show; None speaks plain text.
        impersonate: Whether mooring learns for which client a call is, and decides by its rights.

    Raises:
        OSError: A file of ``tls`` can't be read.
    """

    def __init__(self, address: str, tls: TlsFiles | None = None, *, impersonate: bool = False) -> None:
        self._impersonate = impersonate
        self._address = address
        self._files = FollowedFiles(tls, channel_credentials) if tls else None
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._connect()
        if self._files is not None:
            self._follow(self._files)

    def _connect(self) -> None:
        channel = self._open()
        self._scheduling = SchedulingServiceStub(channel)
        self._plugins = PluginServiceStub(channel)
        self._cluster = ClusterServiceStub(channel)
        self._channel = channel

    def _open(self) -> grpc.aio.Channel:
        if self._files is None:
            return grpc.aio.insecure_channel(self._address, options=CHANNEL_OPTIONS)
        return grpc.aio.secure_channel(self._address, self._files.current, options=CHANNEL_OPTIONS)

    def _follow(self, files: FollowedFiles[grpc.ChannelCredentials]) -> None:
        """Check the files now and then: a channel keeps the certificate that it was made with."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(RENEW_SECONDS, self._follow, files)
        if files.changed() is not None:
            before = self._channel
            self._connect()
            closing = loop.create_task(before.close(RENEW_SECONDS))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def filter(self, request: pb.FilterRequest, seconds: float) -> pb.FilterResponse:
        return await _call(self._scheduling.Filter, request, seconds, self._passed_on())

    async def score(self, request: pb.ScoreRequest, seconds: float) -> pb.ScoreResponse:
        return await _call(self._scheduling.Score, request, seconds, self._passed_on())

    async def bind(self, request: pb.BindRequest, seconds: float) -> pb.BindResponse:
        return await _call(self._scheduling.Bind, request, seconds, self._passed_on())

    async def preempt(self, request: pb.PreemptRequest, seconds: float) -> pb.PreemptResponse:
        return await _call(self._scheduling.Preempt, request, seconds, self._passed_on())

    def _passed_on(self) -> Sequence[tuple[str, str]]:
        """Return the metadata about the client whose call is worked on, if it is passed on."""
        return on_behalf_of(asking_client()) if self._impersonate else ()

    async def profiles(self, seconds: float) -> ListProfilesResponse:
        return await _call(self._plugins.ListProfiles, ListProfilesRequest(), seconds)

    async def cluster_info(self, seconds: float) -> GetClusterInfoResponse:
        return await _call(self._cluster.GetClusterInfo, GetClusterInfoRequest(), seconds)

    async def list_nodes(self, request: ListNodesRequest, seconds: float) -> ListNodesResponse:
        return await _call(self._cluster.ListNodes, request, seconds)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._channel.close()
        await asyncio.gather(*self._closing)


async def _call(
    method: _UnaryCall[Request, Response],
    request: Request,
    seconds: float,
    metadata: Sequence[tuple[str, str]] = (),
) -> Response:
    try:
        return await method(request, timeout=seconds, metadata=(*outgoing_headers().items(), *metadata))
    except grpc.aio.AioRpcError as error:
        raise CallError(error.code(), _text(error, seconds)) from error


def _text(error: grpc.aio.AioRpcError, seconds: float) -> str:
    """Return the server's own words; gRPC's about the connection are given a beginning."""
    details = error.details() or "no details"
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and details == "Deadline Exceeded":
        return f"no answer within {seconds:.3f} s"
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return f"unavailable: {details}"
    return details
