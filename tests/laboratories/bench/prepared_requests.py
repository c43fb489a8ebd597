"""Requests to an API server, written down before the first is sent: the client costs next to nothing."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from httptools import HttpResponseParser

CONNECTIONS = 16
"""As many as create pods at a time."""


@dataclass(frozen=True, slots=True)
class Server:
    """An API server.

    Attributes:
        address: Its URL.
        authority: The certificate that signed its own.
        token: Who we are.
    """

    address: str
    authority: Path
    token: str

    @classmethod
    def of(cls, kubeconfig: Path) -> Server:
        """Return that of a kubeconfig as tests.laboratories.e2e writes it."""
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        authority = Path(cluster["certificate-authority"])
        return cls(cluster["server"], authority, config["users"][0]["user"]["token"])

    def post(self, path: str, document: dict[str, Any]) -> bytes:
        """Return the request that makes an object."""
        body = json.dumps(document)
        head = (
            f"POST {path} HTTP/1.1",
            f"Host: {urlsplit(self.address).netloc}",
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        )
        return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


def send(
    server: Server, requests: Sequence[bytes], pace: float = 0.0, connections: int = CONNECTIONS
) -> list[float]:
    """Send all of them, over some connections, each once the one before it there is answered. All connections
    are open before the first is sent.

    Args:
        server: The server.
        requests: Results of `Server.post`.
        pace: Requests a second; 0 = as fast as they are answered.
        connections: Over how many.

    Returns:
        When each was sent, in seconds of the clock.

    Raises:
        RuntimeError: One was rejected, or not answered.
    """
    times = [0.0] * len(requests)
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(connections))
        opened = [stack.enter_context(one) for one in pool.map(_connected, [server] * connections)]
        began = time.time()
        due = [began + number / pace if pace else 0.0 for number in range(len(requests))]

        def send_share(first: int) -> None:
            share = slice(first, None, connections)
            times[share] = _send_in_turn(opened[first], requests[share], due[share])

        list(pool.map(send_share, range(connections)))
    return times


class _Answers:
    """Counts whole answers; the method is for the parser."""

    def __init__(self) -> None:
        self.count = 0
        self.parser = HttpResponseParser(self)

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        if status != 201:
            raise RuntimeError(f"HTTP {status} instead of 201")
        self.count += 1


def _connected(server: Server) -> ssl.SSLSocket:
    url = urlsplit(server.address)
    plain = socket.create_connection((url.hostname or "", url.port or 443))
    context = ssl.create_default_context(cafile=str(server.authority))
    return context.wrap_socket(plain, server_hostname=url.hostname)


def _send_in_turn(connection: ssl.SSLSocket, requests: Sequence[bytes], due: Sequence[float]) -> list[float]:
    answers, times = _Answers(), []
    for request, earliest in zip(requests, due, strict=True):
        time.sleep(max(0.0, earliest - time.time()))
        times.append(time.time())
        connection.sendall(request)
        while answers.count < len(times):
            received = connection.recv(16 * 1024)
            if not received:
                raise RuntimeError("the API server closed the connection")
            answers.parser.feed_data(received)
    return times
