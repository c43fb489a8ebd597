"""The HTTP listener: uvicorn on one address, its start and its end.

kube-scheduler keeps idle connections for 90 s and does not repeat a POST that meets a closing one, so the
listener keeps them longer.
"""

from __future__ import annotations

import contextlib
import logging
import math
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import uvicorn
import uvloop

from mooring.serving.addresses import ListenError
from mooring.serving.http import protocol
from mooring.serving.http.asgi import HttpApp

log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 120
GRACE_SECONDS: Final = 15


class HttpServer:
    """Listens on one address. The socket is bound at once, so ``url`` is known from the start.

    Args:
        port: A TCP port; 0 takes a free one.
        tls: The server's certificate and the CA of its clients; None serves plain HTTP.
        drain_delay: Seconds from the first signal to the end of listening, in which each answer ends its
            connection.

    Raises:
        ListenError: The address is taken or not of this machine.
    """

    def __init__(
        self,
        app: HttpApp,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        drain_delay: float = 0.0,
    ) -> None:
        self._app = app
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._server = _Server(_config(app, tls), app.withdraw, drain_delay)
        self._thread = threading.Thread(target=self._serve, name="mooring-http", daemon=True)

    def run(self, on_ready: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, then finish what is being answered. Main thread only.

        ``on_ready`` is called with the URL when requests are accepted.
        """
        self._server.on_ready = lambda: on_ready(self.url)
        self._serve()

    def start(self) -> None:
        """Serve in a thread of its own; returns when requests are accepted."""
        ready = threading.Event()
        self._server.on_ready = ready.set
        self._thread.start()
        while not ready.wait(0.1):
            if not self._thread.is_alive():
                raise RuntimeError("the HTTP listener did not start; the log says why")

    def withdraw(self) -> None:
        """Answer on, but end each connection with its answer. ``stop`` follows. Any thread."""
        self._app.withdraw()

    def stop(self) -> None:
        """Finish what is being answered, then end the thread. Takes up to GRACE_SECONDS."""
        self._server.should_exit = True
        self._thread.join()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


class _Server(uvicorn.Server):
    """uvicorn's server, which reports readiness and returns after a signal instead of dying of it."""

    on_ready: Callable[[], None]

    def __init__(self, config: uvicorn.Config, withdraw: Callable[[], None], drain_delay: float) -> None:
        super().__init__(config)
        self._withdraw = withdraw
        self._drain_delay = drain_delay
        self._end = math.inf

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or time.monotonic() >= self._end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._on_hangup)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_hangup(self, _number: int, _frame: FrameType | None) -> None:
        log.warning("SIGHUP changes nothing: flags are read at the start, so restart to change them")

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._end == math.inf:
            self._withdraw()
            self._end = time.monotonic() + self._drain_delay
        else:
            # A second signal does not wait for answers.
            self.force_exit = self.should_exit = True


class GuardedLoop(uvloop.Loop):
    """uvloop's event loop, on which a TLS handshake has no more time than a request.

    Until then a connection is in no protocol's hands, and uvicorn leaves the limit at a minute.
    """

    async def create_server(self, *args: Any, **options: Any) -> Any:
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = protocol.RECEIVE_SECONDS
        return await super().create_server(*args, **options)


def _config(app: HttpApp, tls: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol.GuardedProtocol,
        loop=f"{__name__}:GuardedLoop",
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        # The commands themselves report start and end.
        log_level=logging.WARNING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=(lambda _config, _default: tls) if tls else None,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        text = f"cannot listen on {host}:{port}: {error}; choose another address or end what uses it"
        raise ListenError(text) from error
