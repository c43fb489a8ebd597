"""The page over HTTP, and a server that it asks."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mooring.serving.http.hosts import Hosts
from mooring.serving.http.server import HttpServer
from mooring.web.app import WebApp
from mooring.web.processes import Address
from tests.cli.commands import serving

POD = {"pod": {"reference": {"namespace": "default", "name": "web-3"}}}
"""A question about a pending pod of the sample."""


@dataclass(frozen=True)
class Reply:
    """The answer to a request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Page:
    """A page that is served, and the address of its server."""

    port: int
    server: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request; a body that isn't bytes is sent as JSON, with its type."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        own = {} if body is None else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, sent, {**own, **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def call(self, method: str, request: object, query: str = "") -> Reply:
        return self.ask("POST", f"/api/v1/{path_of(method)}{query}", request)


def path_of(method: str) -> str:
    """Return the path of SERVICE/METHOD below ``api/v1/``; other names stay as they are."""
    return f"mooring.v1.{method}" if "Service/" in method else method


@contextmanager
def page(*flags: object, prefix: str = "", hosts: Hosts | None = None) -> Iterator[Page]:
    """Yield the page about a server of its own, on the sample by default, and about a process that isn't
    there.
    """
    with serving(*flags) as server:
        addresses = [Address("sample", server.address("grpc")), Address("gone", "127.0.0.1:1")]
        app = WebApp(addresses, None, hosts or Hosts(()), prefix)
        listener = HttpServer(app, "127.0.0.1", 0)
        listener.start()
        try:
            yield Page(listener.port, server.address("grpc"))
        finally:
            listener.stop()
