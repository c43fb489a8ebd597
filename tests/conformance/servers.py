"""An extender over HTTP whose answers and whose manners a test chooses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[str, Any]
"""By verb: the JSON answer, bytes to send as they are, an HTTP status, or a function of the request."""

MANNERS = (
    "closes",
    "closes-idle",
    "dies-of-nonsense",
    "ignores-nonsense",
    "any-path",
    "dies-of-lost-callers",
)
"""Faults of a server besides its answers."""


@contextmanager
def serving(answers: Answers, manner: str = "") -> Iterator[str]:
    """A server on a free port; yields the URL that the verbs follow."""
    assert not manner or manner in MANNERS
    dead = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0" if manner == "closes" else "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True
        timeout = 0.02 if manner == "closes-idle" else None

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length and manner == "dies-of-lost-callers":
                dead.set()
            if not dead.is_set():
                self._send(self._answer(body))

        def _answer(self, body: bytes) -> Any:
            verb = self.path.removeprefix("/v1/")
            if verb not in answers and manner != "any-path":
                return 404
            answer = answers.get(verb, {"Error": ""})
            if not callable(answer):
                return answer
            try:
                return answer(json.loads(body))
            except (ValueError, TypeError, KeyError):
                if manner == "dies-of-nonsense":
                    raise
                return b"" if manner == "ignores-nonsense" else 400

        def _send(self, answer: Any) -> None:
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Callers hang up, and some manners raise."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
