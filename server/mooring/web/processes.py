"""The mooring processes that the page can show."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import Message

from mooring.framework.errors import NotFoundError
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub

CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.enable_http_proxy", 0),
)

CALL_SECONDS: Final = 30.0
"""How long a call may take. ListDecisions waits 20 s at most."""

STATE_SECONDS: Final = 1.0
"""How long a process has to say that it is there."""


@dataclass(frozen=True, slots=True)
class Address:
    """A process's address and name.

    Attributes:
        name: Its name, as people know it.
        target: HOST:PORT or unix:PATH.
        source: The source of a server that the page has started for itself; "" for others.
    """

    name: str
    target: str
    source: str = ""


_PASSED_ON: ContextVar[Sequence[tuple[str, str]]] = ContextVar("passed-on", default=())


def pass_on(metadata: Sequence[tuple[str, str]]) -> None:
    """From now on make this task's calls with metadata about the client that they are for."""
    _PASSED_ON.set(metadata)


class Process:
    """A process and the channel to it. Must be made in the event loop that uses it.

    Args:
        address: The address on which it listens.
        credentials: The certificates to trust and to show; None speaks plain text.
    """

    def __init__(self, address: Address, credentials: grpc.ChannelCredentials | None) -> None:
        self.address = address
        self._channel = (
            grpc.aio.insecure_channel(address.target, options=CHANNEL_OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(address.target, credentials, options=CHANNEL_OPTIONS)
        )

    async def call(
        self, path: str, request: Message, response_type: type[Message], seconds: float = CALL_SECONDS
    ) -> Any:
        """Call the method of that path, such as ``/mooring.v1.PluginService/ListPlugins``. Raises
        grpc.aio.AioRpcError if the call failed.
        """
        method: Any = self._channel.unary_unary(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=response_type.FromString,
        )
        return await method(request, timeout=min(seconds, CALL_SECONDS), metadata=_PASSED_ON.get())

    async def describe(self) -> dict[str, str]:
        """Return its entry in ``api/v1/processes``."""
        name, target, source = self.address.name, self.address.target, self.address.source
        entry = {"name": name, "address": target, "source": source or f"server:{target}", "state": "ok"}
        entry["message"] = ""
        ask: Any = ClusterServiceStub(self._channel).GetClusterInfo
        try:
            await ask(GetClusterInfoRequest(), timeout=STATE_SECONDS)
        except grpc.aio.AioRpcError as error:
            entry |= {"state": "unreachable", "message": error.details() or error.code().name}
        return entry

    async def close(self) -> None:
        """End the calls that are open. No call follows."""
        await self._channel.close()


class Processes:
    """All processes, in the order in which they were named. Must be made in the event loop that uses it.

    Args:
        addresses: The addresses on which they listen, one or more; names are unique.
        credentials: For all of them.
    """

    def __init__(self, addresses: Sequence[Address], credentials: grpc.ChannelCredentials | None) -> None:
        self._by_name = {address.name: Process(address, credentials) for address in addresses}

    def named(self, name: str) -> Process:
        """Return the process of that name; "" = the first one. Raises NotFoundError if there is none."""
        if not name:
            return next(iter(self._by_name.values()))
        if name not in self._by_name:
            known = ", ".join(self._by_name)
            raise NotFoundError(f"no process {name!r}; there are {known}", reason="REQUEST_INVALID")
        return self._by_name[name]

    async def describe(self) -> list[dict[str, str]]:
        """Return the entries of all processes, which are called concurrently."""
        return list(await asyncio.gather(*(process.describe() for process in self._by_name.values())))

    async def close(self) -> None:
        """Close all channels."""
        await asyncio.gather(*(process.close() for process in self._by_name.values()))
