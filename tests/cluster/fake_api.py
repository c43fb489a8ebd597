"""A small API server for pods: enough to bind one and to fail in every way that matters."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class FakeApi:
    """What the server has and has seen.

    Attributes:
        pods: Manifests by ``namespace/name``.
        bind_status: Answer every binding with this HTTP status instead; 0 cuts the connection.
        binds_anyway: Bind although ``bind_status`` says otherwise, as when an answer is lost.
        bindings: The bodies of all bindings.
    """

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    bind_status: int | None = None
    binds_anyway: bool = False
    bindings: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def bind(self, key: str, binding: dict[str, Any]) -> tuple[int, str]:
        self.bindings.append(binding)
        pod = self.pods.get(key)
        if pod is None:
            return 404, f'pods "{key}" not found'
        if self.bind_status is not None and not self.binds_anyway:
            return self.bind_status, "as the test wants it"
        spec, metadata = pod["spec"], pod["metadata"]
        if (
            metadata["uid"] != binding["metadata"]["uid"]
            or metadata.get("deletionTimestamp")
            or spec.get("nodeName")
            or spec.get("schedulingGates")
        ):
            return 409, "Operation cannot be fulfilled"
        spec["nodeName"] = binding["target"]["name"]
        return (201, "") if self.bind_status is None else (self.bind_status, "as the test wants it")


@contextmanager
def serving(api: FakeApi) -> Iterator[FakeApi]:
    """Serves ``api`` on a free port of the loopback; sets its ``url``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _, _, _, _, namespace, _, name = self.path.split("/")
            pod = api.pods.get(f"{namespace}/{name}")
            self.answer(200 if pod else 404, pod or {"kind": "Status", "message": "not found"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            _, _, _, _, namespace, _, name, _ = self.path.split("/")
            status, message = api.bind(f"{namespace}/{name}", body)
            if status == 0:
                self.close_connection = True
                return
            self.answer(status, {"kind": "Status", "apiVersion": "v1", "message": message, "code": status})

        def answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
