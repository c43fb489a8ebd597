"""Blocking requests, with whole or streamed answers.

A process may stand still at any moment. A message in pieces may be half sent then, and a message allowed a
moment earlier may be sent much later. So a request is one write, right after the check that allows it.
"""

from __future__ import annotations

import os
import select
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urljoin, urlsplit

from mooring.http_client.answers import MAX_BODY_BYTES, HttpAnswer
from mooring.http_client.origin import HttpConnection, Origin, head_of, message_of
from mooring.http_client.proxies import proxy_for

MAX_REDIRECTS: Final = 10
"""Redirects that ``get`` follows, as many as Go's client."""

_REDIRECTS: Final = (301, 302, 303, 307, 308)


class HttpClient:
    """Requests to one origin over connections that are used again. Safe from any thread. ``most_idle``
    connections are kept for further requests.
    """

    def __init__(self, origin: Origin, most_idle: int) -> None:
        self._origin = origin
        self._most_idle = most_idle
        self._idle: deque[HttpConnection] = deque()
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)

    def exchange(
        self,
        message: bytes,
        seconds: float,
        *,
        connect_seconds: float | None = None,
        before: Callable[[], None] | None = None,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> HttpAnswer:
        """Send a request once, and return the whole answer.

        Args:
            message: All of the request.
            seconds: For all of it.
            connect_seconds: For each step of opening a connection; None = ``seconds``.
            before: Called right before the request is sent; what it raises is raised, and nothing is sent.
            max_bytes: Bytes that the answer's body may have.

        Raises:
            OSError: There was no answer; the request may have been carried out.
        """
        end = time.monotonic() + seconds
        connection = self._connection(seconds if connect_seconds is None else connect_seconds)
        reader = connection.reader
        try:
            reader.begin_again(max_bytes)
            connection.socket.settimeout(_left(end))
            if before is not None:
                before()
            connection.socket.sendall(message)
            while not reader.complete:
                connection.socket.settimeout(_left(end))
                connection.read()
        except BaseException:
            connection.socket.close()
            raise
        answer = HttpAnswer(reader.status, reader.headers, reader.take_body())
        if reader.keep_alive and len(self._idle) < self._most_idle:
            self._idle.append(connection)
        else:
            connection.socket.close()
        if self._closed:
            self.close()
        return answer

    def open(self, message: bytes, connect_seconds: float, read_seconds: float) -> HttpConnection:
        """Send a request and return its connection once the answer has begun; the caller closes it.
        ``connect_seconds`` count for each step of opening a connection, ``read_seconds`` for each part of the
        answer. Raises OSError if there was no answer.
        """
        connection = self._connection(connect_seconds)
        try:
            connection.reader.begin_again()
            connection.socket.settimeout(read_seconds)
            connection.socket.sendall(message)
            while not connection.reader.begun:
                connection.read()
        except BaseException:
            connection.socket.close()
            raise
        return connection

    def close(self) -> None:
        """Close the idle connections, and each other one after its answer."""
        self._closed = True
        _close_all(self._idle)

    def _connection(self, seconds: float) -> HttpConnection:
        """Return an idle connection that the server has not closed, or a new one."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._origin.connect(seconds)
            if not _has_ended(connection):
                return connection
            connection.socket.close()


def get(
    url: str, head: bytes, seconds: float, *, tls: Callable[[], ssl.SSLContext], max_bytes: int
) -> HttpAnswer:
    """Return the answer to a GET over a connection of its own, after redirects.

    Args:
        url: The URL to get; the environment may name a proxy for it.
        head: Further headers, for the origin in ``url`` alone: a redirect may lead to another one.
        seconds: For all of it.
        tls: Returns the context for an https URL.
        max_bytes: Bytes that the answer's body may have.

    Raises:
        OSError: There was no answer.
    """
    end = time.monotonic() + seconds
    for _ in range(MAX_REDIRECTS):
        parts = urlsplit(url)
        try:
            origin = Origin(f"{parts.scheme}://{parts.netloc}", tls, proxy=proxy_for(url, os.environ))
        except ValueError as error:
            raise OSError(f"{url!r}: {error}") from error
        path = parts._replace(scheme="", netloc="", path=parts.path or "/", fragment="").geturl()
        message = message_of("GET", origin.target(path), head_of(origin.headers) + head, None)
        answer = HttpClient(origin, 0).exchange(message, _left(end), max_bytes=max_bytes)
        if answer.status not in _REDIRECTS or "location" not in answer.headers:
            return answer
        url, head = urljoin(url, answer.headers["location"]), b""
    raise OSError(f"more than {MAX_REDIRECTS} redirects")


def _left(end: float) -> float:
    """Return the seconds until ``end``; TimeoutError if there are none."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _has_ended(connection: HttpConnection) -> bool:
    """Return whether something came on an idle connection: its end, or an answer to no request."""
    poll = select.poll()
    poll.register(connection.socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _close_all(connections: deque[HttpConnection]) -> None:
    with suppress(IndexError):
        while True:
            connections.pop().socket.close()
