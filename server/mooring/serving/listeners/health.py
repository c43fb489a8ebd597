"""gRPC health on a small listener of its own, which answers while every thread of the main one is busy.

Its calls take no threads: they are coroutines in one event loop. One that waits for a request that never
comes, or for a client that takes no answers, holds nothing that another one needs.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types

from mooring.serving.listeners.listen import add_port, at_most, share_of_files
from mooring.serving.listeners.probes import Probes

LIVENESS: Final = "liveness"
"""The name to ask for liveness by. Any other one, and the empty one, is about readiness."""

REFRESH_SECONDS: Final = 0.5
"""How soon a watcher learns of a change. Check is always up to date."""

MAX_WATCHES: Final = 256
"""Watches at once, of all clients; more are rejected."""

CONNECTIONS_SHARE: Final = 1 / 16
"""The part of the files that this process may open, which connections may take here,"""
MAX_CONNECTIONS: Final = 256
"""and their number at most."""

OPTIONS: Final = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4096),
    ("grpc.max_concurrent_streams", 16),
    # Silent connections end, and those whose streams send or take nothing.
    ("grpc.server_handshake_timeout_ms", 3_000),
    ("grpc.max_connection_idle_ms", 60_000),
    ("grpc.max_connection_age_ms", 300_000),
    ("grpc.max_connection_age_grace_ms", 1_000),
)

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class _Servicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # the package ships no types
    """Answers with statuses that follow the probes. Belongs to one event loop."""

    def __init__(self, probes: Probes, services: Sequence[str]) -> None:
        self._probes = probes
        self._services = ("", *services, LIVENESS)
        self._watches = 0

    async def Check(self, request: Any, context: _Context) -> Any:
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no service of that name; see List")
        return self._answer(request.service)

    async def List(self, request: Any, context: _Context) -> Any:
        answers = {service: self._answer(service) for service in self._services}
        return health_pb2.HealthListResponse(statuses=answers)

    async def Watch(self, request: Any, context: _Context) -> None:
        if self._watches >= MAX_WATCHES:
            text = f"{MAX_WATCHES} watches are open, which is the limit; use Check"
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        self._watches += 1
        try:
            await self._tell(request.service, context)
        finally:
            self._watches -= 1

    async def _tell(self, service: str, context: _Context) -> None:
        """Send the status now and whenever it has changed, until the call is cancelled."""
        told = None
        while True:
            answer = self._answer(service)
            if answer != told:
                await context.write(answer)
                told = answer
            await asyncio.sleep(REFRESH_SECONDS)

    def _answer(self, service: str) -> Any:
        answer = health_pb2.HealthCheckResponse
        if service not in self._services:
            return answer(status=answer.SERVICE_UNKNOWN)
        fault = self._probes.not_alive() if service == LIVENESS else self._probes.not_ready()
        return answer(status=answer.NOT_SERVING if fault else answer.SERVING)


class HealthListener:
    """Serves grpc.health.v1 on an address of its own, in plain text. Its port is taken when it is made.

    The caller has to stop it, started or not.

    Args:
        address: HOST:PORT or unix:PATH; port 0 takes a free one.
        probes: The answers; called in the event loop, so they must not wait.
        services: Full names of the services whose readiness can be checked.

    Raises:
        ListenError: The address cannot be listened on.
    """

    def __init__(self, address: str, probes: Probes, services: Sequence[str]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="health", daemon=True)
        try:
            self._server, self.address = self._loop.run_until_complete(_open(address, probes, services))
        except BaseException:
            self._loop.close()
            raise

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()

    def stop(self) -> None:
        """Close the listener at once. Harmless when repeated."""
        if self._loop.is_closed():
            return
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._server.stop(None), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        else:
            self._loop.run_until_complete(self._server.stop(None))
        self._loop.run_until_complete(_settle())
        self._loop.close()


async def _open(address: str, probes: Probes, services: Sequence[str]) -> tuple[grpc.aio.Server, str]:
    most = at_most(share_of_files(CONNECTIONS_SHARE, MAX_CONNECTIONS))
    server = grpc.aio.server(options=(*OPTIONS, most))
    health_pb2_grpc.add_HealthServicer_to_server(_Servicer(probes, services), server)
    try:
        return server, add_port(server, address)
    except BaseException:
        await server.stop(None)
        raise


async def _settle() -> None:
    """Let the cancelled calls end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
