"""Applications of an HTTP listener: ASGI messages, answers, and the reading of a body."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from mooring.serving.access.clients import Client
from mooring.serving.calls.memory import Share

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Headers = Sequence[tuple[bytes, bytes]]

JSON: Final = b"application/json"
PLAIN_TEXT: Final = b"text/plain; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """A whole answer.

    Attributes:
        failure: Why a call failed, for metrics and logs; "" = it did not.
        close: Whether the connection ends with it, because the rest of the request is not read.
    """

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: Headers = ()
    failure: str = ""
    close: bool = False


OK: Final = Answer(HTTPStatus.OK, b"ok", PLAIN_TEXT)


def connection_of(scope: Scope) -> Client:
    """Return the caller that a request's connection proves."""
    found: Client = scope["state"]["client"]
    return found


class ClientGoneError(Exception):
    """The connection was lost before the answer."""


class BodyTooLargeError(Exception):
    """A body is larger than allowed."""


async def read_body(receive: Receive, most: int, share: Share) -> bytes:
    """Return the body of a request; ``share`` grows with it. The listener drops slow clients.

    Raises:
        ClientGoneError: The connection was lost.
        BodyTooLargeError: It has more than ``most`` bytes.
        ResourceExhaustedError: The bodies of all requests together take too much memory for now.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunks.append(message["body"])
        size += len(message["body"])
        if size > most:
            raise BodyTooLargeError
        share.grow_to(size)
        if not message["more_body"]:
            return b"".join(chunks)


class HttpApp(ABC):
    """An ASGI application that answers each request with one head and one body."""

    def __init__(self) -> None:
        self._withdrawn = False

    def withdraw(self) -> None:
        """End each connection with its answer from now on. Any thread.

        The next request comes on a new connection, which a load balancer may send to another replica. A
        connection that is kept might be closed just when a request is on its way.
        """
        self._withdrawn = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's start and stop."""
        if scope["type"] == "lifespan":
            await receive()
            await self._start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
        try:
            answer = await self._respond(scope, receive)
        except ClientGoneError:
            return
        length = str(len(answer.body)).encode()
        headers = [(b"content-type", answer.content_type), (b"content-length", length), *answer.headers]
        if answer.close or self._withdrawn:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    @abstractmethod
    async def _start(self) -> None:
        """Begin, in the event loop of the server."""

    @abstractmethod
    async def _stop(self) -> None:
        """End: no request follows."""

    @abstractmethod
    async def _respond(self, scope: Scope, receive: Receive) -> Answer:
        """Answer one request. Raises ClientGoneError if the connection was lost."""
