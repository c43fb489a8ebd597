"""Answers, read as their bytes come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of status line and headers, those of interim answers included, without the last read."""

MAX_BODY_BYTES: Final = 1 << 30
"""Bytes of an answer that is read as a whole; a page of a list has 500 objects of at most 1.5 MiB."""


class ProtocolError(OSError):
    """The bytes are not an answer to the request, or not all of it."""


class HttpAnswer(NamedTuple):
    """A whole answer.

    Attributes:
        status: The HTTP status, 200 to 999.
        headers: Its headers by name in lower case.
        body: Its body, as it came.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class AnswerReader:
    """Reads the answers of one connection, one after another. The parser calls the methods named ``on_...``.

    Attributes:
        begun: Whether status and headers are there.
        complete: Whether all of the answer is there.
        keep_alive: Whether the connection can be used again after the complete answer.
        status: The HTTP status of an answer that has begun.
    """

    def __init__(self) -> None:
        # A parser is expensive: it serves all answers of a connection.
        self._parser = HttpResponseParser(self)
        self.begin_again()

    def begin_again(self, max_bytes: int = MAX_BODY_BYTES) -> None:
        """Await the next answer, whose body may have ``max_bytes`` until ``take_body``."""
        self.begun = self.complete = self.keep_alive = False
        self.status = 0
        self._max_bytes = max_bytes
        self._head_bytes = self._body_bytes = 0
        self._fields: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    @property
    def headers(self) -> dict[str, str]:
        """The headers by name in lower case. Values of a repeated header are joined with commas."""
        headers: dict[str, str] = {}
        for name, value in self._fields:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        return headers

    def take_body(self) -> bytes:
        """Return what came of the body since the last time."""
        parts, self._body, self._body_bytes = self._body, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def feed(self, data: bytes) -> None:
        """Read what came; no bytes mean that the connection has ended. Raises ProtocolError if the bytes are
        not an answer, it is cut off, or it is too long.
        """
        if not data:
            self._end()
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise ProtocolError(f"the answer is not HTTP of the requested form: {error}") from error
        if self._body_bytes > self._max_bytes:
            raise ProtocolError(f"the answer has more than {self._max_bytes} bytes")
        if not self.begun:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                raise ProtocolError(f"the answer's headers have more than {MAX_HEAD_BYTES} bytes")

    def on_message_begin(self) -> None:
        if self.complete:
            # This one answers no request.
            self.keep_alive = False
        else:
            # The one before was an interim answer.
            self._fields.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.begun:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not self.begun and status >= 200:
            self.status, self.begun = status, True

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self._body.append(body)
            self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        if self.begun and not self.complete:
            self.keep_alive = bool(self._parser.should_keep_alive())
            self.complete = True

    def _end(self) -> None:
        """End a body that lasts until the connection ends."""
        if not self.begun or not self.headers.keys().isdisjoint(("content-length", "transfer-encoding")):
            raise ProtocolError("the connection ended before the answer did")
        self.complete = True
