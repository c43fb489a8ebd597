"""A Service for two replicas: new connections go to the ready ones."""

import contextlib
import socket
import threading
import urllib.request
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

_LOOK_SECONDS = 0.5
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Balancer:
    """Forwards the TCP connections to a port. A connection stays where it went, as with kube-proxy.

    So does the client, as with the session affinity ClientIP: as long as its backend is known as ready, new
    connections go there again. That is the hardest case for a backend that ends.

    Args:
        backends: Their URLs.
        probes: By URL, the one that has /readyz; the backend's own if none is given.

    Attributes:
        chosen: The backend of the last connection.
    """

    def __init__(self, backends: list[str], probes: Mapping[str, str] | None = None) -> None:
        self._backends = backends
        self._probes = probes or {}
        self._ready: list[str] = []
        self.chosen = ""
        self._stop = threading.Event()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._ready = self._found()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._run(self._look)
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        # Only this wakes threads that accept or read.
        for one in (self._listener, *self._open):
            _shut(one, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def is_ready(self, url: str) -> bool:
        """Return whether new connections go there."""
        return url in self._ready

    def _run(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            self._ready = self._found()

    def _found(self) -> list[str]:
        return [url for url in self._backends if _is_ready(self._probes.get(url, url))]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._stop.is_set():
                client, _ = self._listener.accept()
                self._open.append(client)
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        """Pass everything on, both ways, until both sides have ended."""
        ready = self._ready
        if self.chosen not in ready:
            self.chosen = next(iter(ready), "")
        with client, contextlib.suppress(OSError, ValueError):
            host, _, port = self.chosen.removeprefix("http://").rpartition(":")
            with socket.create_connection((host, int(port)), timeout=10) as server:
                server.settimeout(None)
                self._open.append(server)
                back = threading.Thread(target=_forward, args=(server, client))
                back.start()
                _forward(client, server)
                back.join()


def _forward(source: socket.socket, target: socket.socket) -> None:
    """Pass on the data, and then the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut(target, socket.SHUT_WR)


def _shut(one: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(how)


def _is_ready(url: str) -> bool:
    try:
        with _NO_PROXY.open(f"{url}/readyz", timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False
