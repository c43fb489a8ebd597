"""A proxy that breaks a connection after any number of bytes of a request."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kubernetes.client import Configuration

from mooring.cluster.api import ApiServer, ClientOptions
from mooring.cluster.binding import KubernetesBinder
from tests.fake_api_server import FakeApiServer


class CuttingProxy:
    """Passes connections on; the one that a POST comes on is cut after ``cut_at`` bytes of it, once."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut_at: int | None = None
        self.request_bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, suppress(OSError):
            threading.Thread(target=_pass, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                if data.startswith(b"POST"):
                    data += _rest(client, data)
                    self.request_bytes = max(self.request_bytes, len(data))
                    if self.cut_at is not None:
                        cut, self.cut_at = self.cut_at, None
                        server.sendall(data[:cut])
                        return
                server.sendall(data)


def _rest(client: socket.socket, data: bytes) -> bytes:
    """Return the rest of the request that begins with ``data``."""
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    assert found
    missing = int(found[1]) - len(body)
    return client.recv(missing, socket.MSG_WAITALL) if missing else b""


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@contextmanager
def proxied(fake: FakeApiServer) -> Iterator[tuple[KubernetesBinder, CuttingProxy]]:
    host, port = fake.url.removeprefix("http://").split(":")
    proxy = CuttingProxy((host, int(port)))
    configuration: Any = Configuration()
    configuration.host = f"http://127.0.0.1:{proxy.port}"
    try:
        yield KubernetesBinder(ApiServer(lambda: configuration, ClientOptions(timeout_seconds=5.0))), proxy
    finally:
        proxy.close()
