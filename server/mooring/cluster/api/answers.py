"""Answers of the API server: whole responses, streams of lines, and the errors of its rejections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

import msgspec
from google.protobuf.message import DecodeError

from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.framework.errors import (
    AbortedError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.http_client.origin import HttpConnection
from mooring.kubernetes.v1 import meta_pb2

T = TypeVar("T")

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one watch event; etcd stores objects of 1.5 MiB at most."""


JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_LENGTH_BYTES = 4
"""Before each frame, the most significant one first."""


DOCUMENT = msgspec.json.Decoder(dict[str, Any])
"""Decodes any object."""


class Response(msgspec.Struct, frozen=True):
    """A whole answer.

    Attributes:
        status: The HTTP status, 100 to 599.
        headers: Its headers by name in lower case.
        body: Its body, as it came.
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def ok(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The message of the ``Status`` in the body, or the beginning of another body."""
        return str(self._said("message") or self.body[:200].decode(errors="replace"))

    @property
    def cause(self) -> str:
        """The first cause that the ``Status`` in the body details, in one word; "" without one."""
        details = self._said("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        first = causes[0] if isinstance(causes, list) and causes else None
        return str(first.get("reason", "")) if isinstance(first, dict) else ""

    def decode(self, decoder: msgspec.json.Decoder[T]) -> T:
        """Return the body, which is JSON of the decoder's type.

        Decoders are made when modules are imported: if two threads are the first to give msgspec 0.22 the
        same type, the process may crash. Raises UnavailableError if the body is anything else: something
        between the API server and us may have answered.
        """
        try:
            return decoder.decode(self.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise unanswered(f"its answer can't be read: {error}") from error

    def _said(self, name: str) -> Any:
        """Return what the body, which may be anything, has under this name; None without it."""
        if self.headers.get("content-type", "").startswith(PROTOBUF):
            return _said_in_protobuf(self.body, name)
        try:
            answer = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return answer.get(name) if isinstance(answer, dict) else None


def _said_in_protobuf(body: bytes, name: str) -> Any:
    try:
        status = meta_pb2.EnvelopedStatus.FromString(body.removeprefix(ENVELOPE)).raw
        return getattr(status, name, None)
    except DecodeError:
        return None


Answered = Callable[[Response | UnavailableError], None]
"""Called with an answer, or with why there is none, by the thread that takes it; must not block."""


class Stream:
    """A streamed answer: its lines, or its frames, as they come. One thread reads; any thread may interrupt.

    Attributes:
        status: The HTTP status.
        headers: Its headers by name in lower case.
    """

    def __init__(self, connection: HttpConnection) -> None:
        self.status = connection.reader.status
        self.headers: Mapping[str, str] = connection.reader.headers
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines without their ends; the last one need not have any. Raises UnavailableError if the
        connection broke, nothing came for too long, or a line is too long.
        """
        pending = bytearray()
        for chunk in self._chunks():
            pending += chunk
            if len(pending) > LONGEST_LINE:
                raise unanswered(f"a line of the stream has more than {LONGEST_LINE} bytes")
            if b"\n" in chunk:
                *lines, rest = pending.split(b"\n")
                yield from map(bytes, lines)
                pending = rest
        if pending:
            yield bytes(pending)

    def frames(self) -> Iterator[bytes]:
        """Yield the frames of a watch in protobuf, each preceded by its length. Raises UnavailableError if
        the connection broke, nothing came for too long, a frame is cut off or too long.
        """
        pending = b""
        for chunk in self._chunks():
            pending = pending + chunk if pending else chunk
            begin = 0
            while (first := begin + _LENGTH_BYTES) <= len(pending):
                length = int.from_bytes(pending[begin:first], "big")
                if length > LONGEST_LINE:
                    raise unanswered(f"a frame of the stream has {length} bytes")
                if first + length > len(pending):
                    break
                begin = first + length
                yield pending[first:begin]
            pending = pending[begin:]
        if pending:
            raise unanswered("the stream ended within a frame")

    def read(self) -> Response:
        """Return the rest as a whole answer: for one that turned out to be a rejection."""
        body = b"".join(self._chunks())
        return Response(self.status, self.headers, body)

    def interrupt(self) -> None:
        """End the stream for its reader, who may be waiting for the next line."""
        self._connection.interrupt()

    def close(self) -> None:
        """Give the connection up. For the thread that reads."""
        self._connection.socket.close()

    def _chunks(self) -> Iterator[bytes]:
        try:
            yield from self._connection.chunks()
        except OSError as error:
            raise no_answer(error) from error


def no_answer(error: OSError) -> UnavailableError:
    """Return the error for a request without an answer, whose exchange failed with ``error``."""
    return unanswered(f"{type(error).__name__}: {error}")


def unanswered(why: str) -> UnavailableError:
    """Return the error for a request without an answer; it may have been carried out."""
    return UnavailableError(
        f"the API server did not answer: {why}; repeat the call", reason="API_SERVER_UNAVAILABLE"
    )


def decoded(response: Response, subject: str) -> dict[str, Any]:
    """Return the object in an answer. Raises MooringError if it is a rejection, or no JSON object."""
    if not response.ok:
        raise failure(response, subject)
    return response.decode(DOCUMENT)


def failure(response: Response, subject: str) -> MooringError:
    """Return what a rejection means for the caller, by its HTTP status. The message begins with ``subject``,
    the request, such as ``bind default/p``.
    """
    said = f"{subject}: HTTP {response.status}, {response.message}"
    match response.status:
        case 401 | 403:
            details = {"cause": response.cause} if response.cause else {}
            return PermissionDeniedError(f"the API server rejected the attempt to {said}", **details)
        case 404:
            return NotFoundError(f"{said}", reason="OBJECT_NOT_FOUND")
        case 409 | 410:
            return AbortedError(f"{said}; read it again", reason="OBJECT_CHANGED")
        case 429 | 500 | 502 | 503 | 504:
            return UnavailableError(f"{said}; repeat the call", reason="API_SERVER_UNAVAILABLE")
    return InvalidArgumentError.at("request", said)
