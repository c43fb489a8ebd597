"""/healthz, /livez, /readyz, /metrics and other pages over HTTP, on a listener of its own."""

import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from mooring.serving.addresses import ListenError, split
from mooring.serving.listeners.listen import check_free
from mooring.serving.listeners.pages import PLAIN, Gatekeeper, Page, PageAnswer, PageRequest
from mooring.serving.listeners.probes import Probes

log = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0
"""How long a connection may take in all: handshake, request, answer. Each has one request."""

MAX_CONNECTIONS = 32
"""Connections at once. One more ends the oldest: a probe sends its request at once, and is seldom that."""

BACKLOG = 128
"""Connections that may wait to be taken."""

STOP_SECONDS = 0.05
"""How long a stop may go unnoticed."""


class Collected(Protocol):
    """Metrics, collected like a registry's."""

    def collect(self) -> Iterable[Metric]:
        """All of them, as they are now."""
        ...


class PageListener:
    """Serves probes and metrics over HTTP. Its port is taken when it is made.

    /healthz and /livez answer 503 once the process should be restarted, /readyz while it should get no calls.
    The body says why.

    Args:
        address: HOST:PORT; port 0 takes a free one.
        tls: Returns the context with which a new connection speaks HTTPS; None = plain HTTP.
        broken: Counts a connection that broke, such as one with plain HTTP where TLS is spoken.
        pages: Further pages, by path.
        gatekeeper: Authorizes requests for pages; None = all are allowed.
        share_port: Let other processes listen on the same port.

    Raises:
        ListenError: The address cannot be listened on.
    """

    def __init__(
        self,
        address: str,
        probes: Probes,
        metrics: Collected,
        tls: Callable[[], ssl.SSLContext] | None = None,
        *,
        broken: Callable[[], None],
        pages: Mapping[str, Page] | None = None,
        gatekeeper: Gatekeeper | None = None,
        share_port: bool = False,
    ) -> None:
        host, port = split(address)
        if not share_port:
            check_free(address)
        handler = _handler({**_probing(probes), "/metrics": _metrics(metrics), **(pages or {})}, gatekeeper)
        try:
            self._server = _BoundedHttpServer((host, port), handler, tls, broken, share_port=share_port)
        except OSError as error:
            raise ListenError(
                f"cannot listen on {address}: {error.strerror}; choose another address"
            ) from error
        self.address = f"{address.rpartition(':')[0]}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(STOP_SECONDS,), name="telemetry", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Close the listener."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


class _BoundedHttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = BACKLOG

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        tls: Callable[[], ssl.SSLContext] | None,
        broken: Callable[[], None],
        *,
        share_port: bool,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.allow_reuse_port = share_port
        self._tls = tls
        self._open = _Connections(broken)
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self._tls is not None:
            # A session belongs to its context: none outlives the authorities that let it in. The
            # handshake is left to the thread that serves the client, so a slow one delays no other.
            connection = self._tls().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._open.add(request):
            super().process_request(request, client_address)
        else:
            super().shutdown_request(request)

    def service_actions(self) -> None:
        self._open.drop_late()

    def shutdown_request(self, request: Any) -> None:
        self._open.remove(request, super().shutdown_request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Count a broken connection: a client that doesn't speak TLS or HTTP, or went away."""
        error = sys.exception()
        if isinstance(error, OSError):
            self._open.note_broken(request)
            log.debug("a request of %s was dropped: %s", client_address[0], error)
        else:
            log.error("a request of %s failed", client_address[0], exc_info=error)


class _Connections:
    """The connections that are open, oldest first, each with a thread. Thread-safe. ``broken`` counts a
    connection that broke or was ended.
    """

    def __init__(self, broken: Callable[[], None]) -> None:
        self._broken = broken
        self._lock = threading.Lock()
        self._due: dict[socket.socket, float] = {}
        self._threads = 0

    def add(self, connection: socket.socket) -> bool:
        """Take a connection on, in the place of the oldest one if need be; False while threads don't end."""
        with self._lock:
            if len(self._due) >= MAX_CONNECTIONS:
                self._drop(next(iter(self._due)))
            # A dropped client's thread may still be writing a page, which no one reads.
            if self._threads >= 2 * MAX_CONNECTIONS:
                return False
            self._threads += 1
            self._due[connection] = time.monotonic() + REQUEST_SECONDS
            return True

    def drop_late(self) -> None:
        """End the connections that have had their time."""
        now = time.monotonic()
        with self._lock:
            while self._due and next(iter(self._due.values())) <= now:
                self._drop(next(iter(self._due)))

    def note_broken(self, connection: socket.socket) -> None:
        """Count a connection that broke, unless it was counted when it was ended."""
        if connection in self._due:
            self._broken()

    def remove(self, connection: socket.socket, close: Callable[[socket.socket], None]) -> None:
        """Remove and close a connection whose thread ends; then its number may be another one's."""
        with self._lock:
            self._threads -= 1
            self._due.pop(connection, None)
            close(connection)

    def _drop(self, connection: socket.socket) -> None:
        del self._due[connection]
        self._broken()
        with suppress(OSError):
            # That of TLS would leave the thread that reads without its session.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _probing(probes: Probes) -> dict[str, Page]:
    def page(ask: Callable[[], str]) -> Page:
        def answer(_accept: str) -> PageAnswer:
            fault = ask()
            status = HTTPStatus.SERVICE_UNAVAILABLE if fault else HTTPStatus.OK
            return PageAnswer(status, PLAIN, f"{fault or 'ok'}\n".encode())

        return answer

    return {
        "/healthz": page(probes.not_alive),
        "/livez": page(probes.not_alive),
        "/readyz": page(probes.not_ready),
    }


def _metrics(metrics: Collected) -> Page:
    def answer(accept: str) -> PageAnswer:
        encode, kind = choose_encoder(accept)
        return PageAnswer(HTTPStatus.OK, kind, encode(metrics))

    return answer


def _handler(pages: Mapping[str, Page], gatekeeper: Gatekeeper | None) -> type[BaseHTTPRequestHandler]:
    paths = sorted(pages)

    class Handler(BaseHTTPRequestHandler):
        server_version = "mooring"
        sys_version = ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            page = pages.get(path)
            if page is None:
                self._send(PageAnswer(HTTPStatus.NOT_FOUND, PLAIN, f"try {', '.join(paths)}\n".encode()))
                return
            rejected = gatekeeper(self._asked(path)) if gatekeeper else None
            self._send(rejected or page(self.headers.get("Accept", "")))

        def _asked(self, path: str) -> PageRequest:
            encrypted = isinstance(self.connection, ssl.SSLSocket)
            certificate = self.connection.getpeercert() if encrypted else None
            return PageRequest("get", path, self.headers.get("Authorization", ""), certificate or {})

        def _send(self, answer: PageAnswer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Cache-Control", "no-cache, private")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Probes and scrapes are too many to log."""

    return Handler
