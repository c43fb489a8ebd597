"""The extender adapter inside ``mooring serve``: the same callable that ``mooring-extender`` runs.

Its client calls the servicers directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mooring.app.bridge import Decoder
from mooring.app.options import ExtenderOptions
from mooring.service.calls.access import check_access
from mooring.service.services import Servicers
from mooring.serving.access.access import Access, current_call, for_call
from mooring.serving.addresses import ListenError, is_local, split
from mooring.serving.allocator import keep_freed_memory
from mooring.serving.calls.errors import failure_of
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import own_hosts, server_context, warn_of_strangers
from mooring.tracing.spans import Tracer, carried
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import plugin_service_pb2 as plugin_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.failures import CallError


def extender_server(
    options: ExtenderOptions,
    servicers: Servicers,
    tracer: Tracer | None,
    over: Callable[[Access], Access],
) -> HttpServer:
    """Return the adapter for this process, bound to its port. ``over`` returns the rule of a listener, given
    its rule without a policy. Raises ListenError if the address is in use, can be reached by others and no
    flag allows that, or a file of its certificate can't be used.
    """
    files, address = options.certificate, options.listen
    host, port = split(address)
    if not (options.insecure_listen or files or is_local(address)):
        raise ListenError(
            f"{address} can be reached from other machines: give --extender-tls-cert-file and "
            "--extender-tls-private-key-file, or allow plain HTTP with --insecure-listen"
        )
    if not is_local(address):
        warn_of_strangers(address, files, "--extender-client-ca-file")
    keep_freed_memory()
    try:
        tls = server_context(files) if files else None
        answering = Options(
            profile=options.profile,
            path_prefix=options.path_prefix,
            http_timeout=options.http_timeout,
            access=over(_access(options)),
            hosts=own_hosts(host, options.hosts, files, "--extender-allow-host"),
        )
        app = ExtenderApp(lambda: LocalClient(servicers), answering, tracer)
        return HttpServer(app, host, port, tls)
    except OSError as error:
        raise ListenError(str(error)) from None


def _access(options: ExtenderOptions) -> Access:
    """Return the clients that may call bind; none if no authority vouches for names."""
    files = options.certificate
    names = options.allow_clients if files is not None and files.authority is not None else ()
    return Access.at(options.listen, names, insecure_binding=options.insecure_binding)


Request = TypeVar("Request")
Response = TypeVar("Response")
Method: TypeAlias = Callable[[Request, Any], Response]

_SCHEDULING = "/mooring.v1.SchedulingService/"

THREADS = 32
"""Calls that may wait for a slot at once."""


class LocalContext:
    """The part of a gRPC context that the servicers use."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def time_remaining(self) -> float:
        """How long the caller waits."""
        return self._seconds

    def is_active(self) -> bool:
        """Return True: the caller never goes away before its deadline."""
        return True

    def set_trailing_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Ignore it: the extender's answers have no metadata."""

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Ignore it: nothing ends the call."""
        return True


class LocalClient:
    """Implements ``mooring_extender.client.Client`` without a network."""

    def __init__(self, servicers: Servicers) -> None:
        self._scheduling = servicers.scheduling
        self._plugins = servicers.plugins
        self._cluster = servicers.cluster
        self._decode = Decoder().pod
        self._threads = ThreadPoolExecutor(THREADS, "extender-call")

    async def filter(self, request: pb.FilterRequest, seconds: float) -> pb.FilterResponse:
        return await self._begin("Filter", self._scheduling.begin_filter, request, seconds)

    async def score(self, request: pb.ScoreRequest, seconds: float) -> pb.ScoreResponse:
        return await self._begin("Score", self._scheduling.begin_score, request, seconds)

    async def bind(self, request: pb.BindRequest, seconds: float) -> pb.BindResponse:
        return await self._call(partial(self._permitted, "Bind", self._scheduling.Bind), request, seconds)

    async def preempt(self, request: pb.PreemptRequest, seconds: float) -> pb.PreemptResponse:
        return await self._call(
            partial(self._permitted, "Preempt", self._scheduling.Preempt), request, seconds
        )

    async def profiles(self, seconds: float) -> plugin_pb.ListProfilesResponse:
        return await self._call(self._plugins.ListProfiles, plugin_pb.ListProfilesRequest(), seconds)

    async def cluster_info(self, seconds: float) -> cluster_pb.GetClusterInfoResponse:
        return await self._call(self._cluster.GetClusterInfo, cluster_pb.GetClusterInfoRequest(), seconds)

    async def list_nodes(
        self, request: cluster_pb.ListNodesRequest, seconds: float
    ) -> cluster_pb.ListNodesResponse:
        return await self._call(self._cluster.ListNodes, request, seconds)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _permitted(
        self, name: str, method: Method[Request, Response], request: Request, context: Any
    ) -> Response:
        """Call ``method`` if the client may; this may call the API server."""
        caller, access = current_call()
        check_access(access, f"{_SCHEDULING}{name}", request, caller, self._decode)
        return method(request, context)

    async def _begin(
        self,
        name: str,
        method: Method[Request, Response | Callable[[], Response]],
        request: Request,
        seconds: float,
    ) -> Response:
        """Call ``method`` in this thread, the event loop's; what would block finishes in another one."""
        try:
            if current_call().access.authorizer.by_namespace:
                permitted = partial(self._permitted, name, method, request, LocalContext(seconds))
                begun = await self._in_thread(permitted)
            else:
                begun = method(request, LocalContext(seconds))
            return await self._in_thread(begun) if callable(begun) else begun
        except Exception as error:
            raise _call_error(error) from error

    async def _call(self, method: Method[Request, Response], request: Request, seconds: float) -> Response:
        try:
            return await self._in_thread(partial(method, request, LocalContext(seconds)))
        except Exception as error:
            raise _call_error(error) from error

    async def _in_thread(self, work: Callable[[], Response]) -> Response:
        done = partial(for_call, current_call(), carried(work))
        return await asyncio.get_running_loop().run_in_executor(self._threads, done)


def _call_error(error: Exception) -> CallError:
    failure = failure_of(error)
    return CallError(failure.code, failure.text)
