"""The origin of requests: its address, the requests' heads, and its connections."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from mooring.http_client.answers import AnswerReader, ProtocolError
from mooring.http_client.tls import NestedTls, keep_session

READ_BYTES: Final = 16 * 1024
"""Bytes of the longest TLS record."""

_KEEPALIVE: Final = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4))
"""Seconds of silence before the first probe, seconds between probes, and probes without an answer.

A connection whose packets vanish is dead after 30 s; client-go's HTTP/2 pings find that out after 45.
"""

_PORTS: Final = {"http": 80, "https": 443}
_SAFE: Final = "/?:@!$&'()*+,;=%~"

Socket = socket.socket | NestedTls


class HttpConnection:
    """A connection that carries one request at a time. For one thread at a time.

    Attributes:
        socket: The connected socket.
        reader: Reads its answers.
    """

    def __init__(self, connected: Socket) -> None:
        self.socket = connected
        self.reader = AnswerReader()
        self._is_new = True

    def read(self) -> None:
        """Wait for more of the answer. Raises OSError if there is no more of it."""
        self.reader.feed(self.socket.recv(READ_BYTES))
        if self._is_new:
            self._is_new = False
            keep_session(self.socket)

    def chunks(self) -> Iterator[bytes]:
        """Yield the body of an answer that has begun, as it comes. Raises as ``read``."""
        while True:
            yield self.reader.take_body()
            if self.reader.complete:
                return
            self.read()

    def interrupt(self) -> None:
        """End the answer for the thread that reads it, which may be waiting. For any thread."""
        plain = self.socket.outer if isinstance(self.socket, NestedTls) else self.socket
        with suppress(OSError):
            # Not the TLS socket's own: the reader could take the remaining bytes for plain text.
            socket.socket.shutdown(plain, socket.SHUT_RD)


class Origin:
    """A server, and the way to it. Safe from any thread.

    Args:
        url: Scheme, host and port, and the path that all targets begin with. Without a scheme it is http.
        tls: Returns the context for a new connection; called for each one, unless the scheme is http.
        server_name: The name in the server's certificate; "" = the host.
        proxy: The proxy's URL, http or https; "" = none.

    Attributes:
        headers: Those that each request to it needs.
        host: Host and port, as in the URL.

    Raises:
        ValueError: A URL can't be used.
    """

    def __init__(
        self,
        url: str,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
        *,
        server_name: str = "",
        proxy: str = "",
    ) -> None:
        self._url = _split(url)
        self._tls = tls
        self._server_name = server_name or _host(self._url).rstrip(".")
        self._proxy = _split(proxy) if proxy else None
        self.host = self._url.netloc.rpartition("@")[2]
        self.headers: Mapping[str, str] = {"Host": self.host}
        self._prefix = quoted(self._url.path.rstrip("/"))
        if self._proxy is not None and self._url.scheme == "http":
            self._prefix = f"http://{self.host}{self._prefix}"
            self.headers = {"Host": self.host, **credentials_in(proxy, "Proxy-Authorization")}

    def target(self, path: str) -> str:
        """Return what a request for ``path``, which begins with a slash and is quoted, asks for."""
        return f"{self._prefix}{path}"

    def connect(self, seconds: float) -> HttpConnection:
        """Open a connection; each step of it may take ``seconds``. Raises OSError if it can't be opened."""
        via = self._proxy or self._url
        try:
            plain = socket.create_connection((_host(via), _port(via)), seconds)
        except UnicodeError as error:
            raise OSError(f"{_host(via)!r} is not the name of a host") from error
        try:
            _tune(plain)
            if self._proxy is not None:
                if self._proxy.scheme == "https":
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                    context.load_default_certs()
                    plain = context.wrap_socket(plain, server_hostname=self._proxy.hostname)
                if self._url.scheme == "https":
                    self._open_tunnel(plain, self._proxy)
            if self._url.scheme == "http":
                return HttpConnection(plain)
            return HttpConnection(_with_tls(plain, self._tls(), self._server_name))
        except BaseException:
            plain.close()
            raise

    def _open_tunnel(self, connected: socket.socket, proxy: SplitResult) -> None:
        """Ask the proxy to pass on all that follows; OSError if it doesn't."""
        host = _host(self._url)
        authority = f"{f'[{host}]' if ':' in host else host}:{_port(self._url)}"
        head = head_of({"Host": authority, **credentials_in(proxy.geturl(), "Proxy-Authorization")})
        connected.sendall(message_of("CONNECT", authority, head, None))
        reader = AnswerReader()
        while not reader.begun:
            reader.feed(connected.recv(READ_BYTES))
        if reader.status != 200:
            raise OSError(f"the proxy opens no tunnel to {authority}: HTTP {reader.status}")
        if reader.take_body():
            raise ProtocolError(f"something was sent through the tunnel to {authority} before TLS")


def _with_tls(connected: socket.socket, context: ssl.SSLContext, name: str) -> Socket:
    if isinstance(connected, ssl.SSLSocket):
        return NestedTls(connected, context, name)
    return context.wrap_socket(connected, server_hostname=name)


def _tune(connected: socket.socket) -> None:
    """Send without delay, and find out when packets vanish."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _split(url: str) -> SplitResult:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in _PORTS or not parts.hostname or not _port(parts):
        raise ValueError("a URL must be http or https with a host")
    return parts


def _host(url: SplitResult) -> str:
    return url.hostname or ""


def _port(url: SplitResult) -> int:
    return url.port or _PORTS[url.scheme]


def quoted(path: str) -> str:
    """Return a path, with its query if any, in a request's form. A quoted one stays unchanged."""
    return quote(path, safe=_SAFE)


def credentials_in(url: str, header: str) -> dict[str, str]:
    """Return the header that shows the user and the password in ``url``, as Go sends it; none without."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: f"Basic {base64.b64encode(pair.encode()).decode()}"}


def head_of(headers: Mapping[str, str]) -> bytes:
    """Return the headers as a request has them. Raises ValueError if one would be read as two lines, or has
    characters that a header can't have.
    """
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a line break in a header")
    return "".join([f"{line}\r\n" for line in lines]).encode("latin-1")


def message_of(method: str, target: str, head: bytes, body: bytes | None) -> bytes:
    """Return a request's bytes; ``head`` is ``head_of`` its headers. Raises ValueError if the target would be
    read as two lines.
    """
    if "\n" in target or "\r" in target:
        raise ValueError(f"a line break in {target!r}")
    first = f"{method} {target} HTTP/1.1\r\n".encode("latin-1")
    if body is None:
        return b"%b%b\r\n" % (first, head)
    return b"%b%bContent-Length: %d\r\n\r\n%b" % (first, head, len(body), body)
