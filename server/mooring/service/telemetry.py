"""/healthz, /livez, /readyz and /metrics over HTTP, on a listener of its own."""

import socket
import ssl
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from mooring.service.listen import ListenError, check_free, split
from mooring.service.probes import Probes

CLIENT_SECONDS = 5.0
"""How long a client may take to send its request."""

STOP_SECONDS = 0.05
"""How long a stop may go unnoticed."""

PLAIN = "text/plain; charset=utf-8"


class TelemetryListener:
    """Serves probes and metrics over HTTP. Its port is taken when it is made.

    /healthz and /livez answer 503 once the process should be restarted, /readyz while it should get no calls.
    The body says why.

    Args:
        address: HOST:PORT; port 0 takes a free one.
        probes: What to answer.
        registry: The metrics to show.
        tls: Serve HTTPS with this; None = plain HTTP.

    Raises:
        ListenError: The address cannot be listened on.
    """

    def __init__(
        self, address: str, probes: Probes, registry: CollectorRegistry, tls: ssl.SSLContext | None = None
    ) -> None:
        host, port = split(address)
        check_free(address)
        try:
            self._server = _server(host)((host, port), _handler(probes, registry))
        except OSError as error:
            raise ListenError(
                f"cannot listen on {address}: {error.strerror}; choose another address"
            ) from error
        if tls is not None:
            # The handshake is left to the thread that serves the client: a slow one keeps nobody waiting.
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.address = f"{address.rpartition(':')[0]}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(STOP_SECONDS,), name="telemetry", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Closes the listener."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


def _server(host: str) -> type[ThreadingHTTPServer]:
    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    return Server


def _handler(probes: Probes, registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = CLIENT_SECONDS
        server_version = "mooring"
        sys_version = ""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._send(HTTPStatus.OK, kind, encode(registry))
            elif path in ("/healthz", "/livez"):
                self._probe(probes.not_alive())
            elif path == "/readyz":
                self._probe(probes.not_ready())
            else:
                self._send(HTTPStatus.NOT_FOUND, PLAIN, b"try /healthz, /livez, /readyz or /metrics\n")

        def _probe(self, fault: str) -> None:
            status = HTTPStatus.SERVICE_UNAVAILABLE if fault else HTTPStatus.OK
            self._send(status, PLAIN, f"{fault or 'ok'}\n".encode())

        def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Probes and scrapes are too many to log."""

    return Handler
