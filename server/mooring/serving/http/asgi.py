"""ASGI messages between an HTTP listener and its application, and the reading of a body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mooring.serving.access.clients import Client
from mooring.serving.calls.memory import Share

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


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
