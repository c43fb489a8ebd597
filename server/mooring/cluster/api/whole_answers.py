"""Connections on which a request is one write, and its answer as few reads as there are records.

A process may stand still at any moment. What it sends in pieces may be half sent then, and what was allowed a
moment earlier may be sent much later. And ``http.client`` takes longer for an answer's headers, which the
email package parses, than everything else here takes for the whole exchange.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from urllib3 import HTTPHeaderDict, HTTPResponse, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ProtocolError
from urllib3.util.ssl_ import resolve_cert_reqs

from mooring.cluster.api.tls import TLS_OPTIONS, TlsContexts, keep_session

LONGEST_HEAD = 64 * 1024
"""Bytes of status line and headers, those of interim answers included, without the last read."""

LONGEST_BODY = 1 << 30
"""Bytes of an answer that is wanted as a whole; a page of a list has 500 objects of at most 1.5 MiB."""

DIAL_SECONDS = 5.0
"""Seconds that a connection may take for which no request waits."""

READ = 16 * 1024
"""Bytes of the longest TLS record."""


def reader_and_writer(connected: socket.socket) -> tuple[Callable[[int], bytes], Callable[[bytes], int]]:
    """Return what reads and writes as ``recv`` and ``send`` do, which call it in two steps more with TLS."""
    if isinstance(connected, ssl.SSLSocket):
        return connected.read, connected.write
    return connected.recv, connected.send


class GuardedBody(bytes):
    """A body that is sent only if ``before``, called at the last moment, raises nothing."""

    before: Callable[[], None]

    @classmethod
    def of(cls, body: bytes, before: Callable[[], None]) -> GuardedBody:
        """``body``, guarded."""
        made = cls(body)
        made.before = before
        return made


class _WholeAnswers(HTTPConnection):
    """Asks and reads in its own way. The names are urllib3's, and so are timeouts, TLS, proxies and the
    pool.
    """

    _whole = False
    _is_new = False

    def connect(self) -> None:
        super().connect()
        self._is_new = True

    def request(
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Any = None,
        *,
        preload_content: bool = True,
        **options: Any,
    ) -> None:
        """Send the request. What the guard of its body raises is raised, and nothing is sent."""
        self._whole = preload_content
        message = message_of(method, url, head_of(headers), body)
        if self.sock is None:
            self.connect()
        self.sock.settimeout(self.timeout)
        if isinstance(body, GuardedBody):
            body.before()
        self.sock.sendall(message)

    def getresponse(self) -> HTTPResponse:  # type: ignore[override] # urllib3 does so too
        """Return the answer, with all of its body if it is wanted as a whole."""
        self.sock.settimeout(self.timeout)
        answer = WholeAnswer()
        while not (answer.complete if self._whole else answer.begun):
            answer.feed(self.sock.recv(READ))
        if self._is_new:
            keep_session(self.sock)
            self._is_new = False
        if not self._whole:
            return _StreamedAnswer(answer, self.sock)
        if not answer.keep_alive:
            self.close()
        return HTTPResponse(
            answer.body, answer.headers, answer.status, preload_content=False, decode_content=False
        )


class _StreamedAnswer(HTTPResponse):
    """An answer whose body is read as it comes. The names are urllib3's."""

    def __init__(self, answer: WholeAnswer, connected: socket.socket) -> None:
        super().__init__(b"", answer.headers, answer.status, preload_content=False, decode_content=False)
        self._answer = answer
        self._connected = connected
        self._receive, _ = reader_and_writer(connected)

    def stream(
        self, amt: int | None = None, decode_content: bool | None = None
    ) -> Generator[bytes, None, None]:
        """Yield what comes; raises ProtocolError when the body is cut off, OSError after a silence."""
        while True:
            yield self._answer.taken()
            if self._answer.complete:
                return
            self._answer.feed(self._receive(READ))

    def shutdown(self) -> None:
        """End it for the thread that reads. Does nothing if TLS runs inside the TLS to a proxy."""
        if isinstance(self._connected, socket.socket):
            # Below TLS: otherwise a reader could take the remaining bytes for plain text.
            socket.socket.shutdown(self._connected, socket.SHUT_RD)


class _VerifyingAsGo(HTTPSConnection):
    """Trusts the API servers that kube-scheduler trusts."""

    contexts: TlsContexts

    def connect(self) -> None:
        self.ssl_context = self.contexts.current()
        super().connect()


class WholeAnswer:
    """One answer as its bytes come; the methods called ``on_...`` are for the parser.

    Attributes:
        complete: Whether all of it has been received.
        keep_alive: Whether the connection can be used again.
        status: The HTTP status, once it has begun.
        body: The body of the complete answer, as it came.
    """

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._came: list[bytes] = []
        self._body: list[bytes] = []
        self._length = 0
        self.begin_again()

    def begin_again(self) -> None:
        """Await the next answer of the connection, which is to be kept alive: a parser is dear."""
        self.complete = False
        self.keep_alive = False
        self.status = 0
        self.body = b""
        self._came = []
        self._head: int | None = 0

    @property
    def begun(self) -> bool:
        """Whether its headers are complete."""
        return self._head is None

    def taken(self) -> bytes:
        """Return the part of the body received since the last call, for streaming callers."""
        parts, self._body = self._body, []
        self._length = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def headers(self) -> HTTPHeaderDict:
        """The headers by name, in any casing. Parsed on each access: most answers need none."""
        headers = HTTPHeaderDict()
        for name, value in _Fields().of(b"".join(self._came)):
            headers.add(name.decode("latin-1"), value.decode("latin-1"))
        return headers

    def feed(self, data: bytes) -> None:
        """Parse received bytes; none = the connection has ended.

        Raises:
            ProtocolError: The bytes are not an answer, or it is cut off.
        """
        if not data:
            self._end()
            return
        if self._head is not None:
            self._came.append(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise ProtocolError(f"the answer is not HTTP of the requested form: {error}") from error
        if self._length > LONGEST_BODY:
            raise ProtocolError(f"the answer has more than {LONGEST_BODY} bytes")
        if self._head is not None:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                raise ProtocolError(f"the answer's headers have more than {LONGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        # After an interim answer the real one follows; what follows that answers no request.
        self._body, self._length = [], 0
        self.keep_alive = False

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._head = None

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._length += len(body)

    def on_message_complete(self) -> None:
        if not self.complete and self._parser.get_status_code() >= 200:
            self.keep_alive = bool(self._parser.should_keep_alive())
            self._complete()

    def _end(self) -> None:
        """End a body without a stated length, since the connection has ended."""
        told = {"content-length", "transfer-encoding"} & {name.lower() for name in self.headers}
        if self._head is not None or told:
            raise ProtocolError("the connection ended before the answer did")
        self._complete()

    def _complete(self) -> None:
        self.body = b"".join(self._body)
        self.complete = True


class _Fields:
    """Finds the headers of an answer; the methods called ``on_...`` are for the parser."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._fields: list[tuple[bytes, bytes]] = []
        self._complete = False

    def of(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Return those of the first final answer in ``data``."""
        self._parser.feed_data(data)
        return self._fields

    def on_message_begin(self) -> None:
        if not self._complete:
            self._fields.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._complete:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        self._complete = self._complete or self._parser.get_status_code() >= 200


def head_of(headers: Mapping[str, str]) -> bytes:
    """Return the headers as a request has them, which many have in common.

    Raises:
        ValueError: One would be read as two lines.
    """
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a line break in a header")
    return "".join([f"{line}\r\n" for line in lines]).encode("latin-1")


def message_of(method: str, url: str, head: bytes, body: bytes | None) -> bytes:
    """Return the request's bytes; ``head`` is ``head_of`` its headers.

    Raises:
        ValueError: The URL would be read as two lines.
    """
    if "\n" in url or "\r" in url:
        raise ValueError(f"a line break in the URL {url!r}")
    first = f"{method} {url} HTTP/1.1\r\n".encode("latin-1")
    if body is None:
        return b"%b%b\r\n" % (first, head)
    return b"%b%bContent-Length: %d\r\n\r\n%b" % (first, head, len(body), body)


class _Dialling(HTTPConnectionPool):
    """A pool that also opens connections which are not its own."""

    def dial(self) -> socket.socket | None:
        """Return a new connection to the server; None if a proxy is in between. May raise OSError."""
        if self.proxy is not None:
            return None
        made: Any = self._new_conn()
        made.timeout = DIAL_SECONDS
        made.connect()
        connected: socket.socket = made.sock
        made.sock = None
        return connected


def with_whole_answers(manager: PoolManager) -> PoolManager:
    """Return ``manager``, whose connections are such from now on."""
    options = manager.connection_pool_kw
    verifies = resolve_cert_reqs(options.get("cert_reqs")) == ssl.CERT_REQUIRED
    contexts = TlsContexts(options, verifies=verifies)
    if manager.proxy is None:
        # urllib3 would load them into the context once more for each connection; to a proxy it has another.
        for name in TLS_OPTIONS:
            options.pop(name, None)
    manager.pool_classes_by_scheme = {
        scheme: _with_whole_answers(pool, contexts) for scheme, pool in manager.pool_classes_by_scheme.items()
    }
    return manager


def _with_whole_answers(pool: type[HTTPConnectionPool], contexts: TlsContexts) -> type[HTTPConnectionPool]:
    used = pool.ConnectionCls
    verifying = (_VerifyingAsGo,) if issubclass(used, HTTPSConnection) else ()
    connection = type(used.__name__, (_WholeAnswers, *verifying, used), {"contexts": contexts})
    return type(pool.__name__, (_Dialling, pool), {"ConnectionCls": connection})
