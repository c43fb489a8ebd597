"""Bindings that fail or take long: an admission webhook of the API server."""

import base64
import itertools
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.certificates import Authority

from .api import Api, Manifest

Review = Callable[[int], HTTPStatus | None]
"""Given a binding's number, from 0: the code with which it fails, None = it doesn't; it may take its time."""

_PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_NAME = "bindings.example.com"


@contextmanager
def reviewed_bindings(api: Api, directory: Path, review: Review) -> Iterator[None]:
    """Have the API server call `review` for each binding, from any client."""
    authority = Authority(directory / "webhook")
    pair = authority.issue("webhook")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server = _Server(("127.0.0.1", 0), _handler(review))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        api.call("POST", _PATH, _configuration(server.server_port, authority.certificate))
        yield
    finally:
        api.call("DELETE", f"{_PATH}/{_NAME}")
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing of callers that did not wait for a slow answer."""


def _handler(review: Review) -> type[BaseHTTPRequestHandler]:
    numbers = itertools.count()

    class Reviews(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code = review(next(numbers))
            answer: dict[str, Any] = {"uid": asked["request"]["uid"], "allowed": code is None}
            if code is not None:
                answer["status"] = {"code": code, "message": "fails for the test"}
            body = json.dumps({**asked, "response": answer}).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Reviews


def _configuration(port: int, authority: Path) -> Manifest:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    trusted = base64.b64encode(authority.read_bytes()).decode()
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": _NAME},
        "webhooks": [
            {
                "name": _NAME,
                "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": trusted},
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
