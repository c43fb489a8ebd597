"""An HTTP server in Prometheus' place: it answers what a test says and keeps the queries."""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.certificates import Pair


@dataclass
class StubPrometheus:
    """Its answer may be changed at any time.

    Attributes:
        values: Bytes per second by the value of the label that names the node.
        label: That label.
        status: The HTTP status of the next answers.
        body: Sent instead of an answer with ``values``.
        queries: The queries so far.
        headers: Those of the queries, names in lower case.
        redirect: Where to send who asks.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    label: str = "instance"
    status: int = 200
    body: bytes = b""
    queries: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    redirect: str = ""
    address: str = ""

    def answer(self) -> bytes:
        result = [
            {"metric": {self.label: host}, "value": [1700000000.5, str(value)]}
            for host, value in self.values.items()
        ]
        document = {"status": "success", "data": {"resultType": "vector", "result": result}}
        return self.body or json.dumps(document).encode()


@contextmanager
def stub_prometheus(stub: StubPrometheus, pair: Pair | None = None) -> Iterator[StubPrometheus]:
    """`stub` on a free port of 127.0.0.1, over HTTPS with a certificate; `address` is set."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            assert asked.path == "/api/v1/query"
            stub.queries.append(parse_qs(asked.query)["query"][0])
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            if stub.redirect:
                self.send_response(302)
                self.send_header("Location", f"{stub.redirect}{self.path}")
                self.end_headers()
                return
            body = stub.answer()
            self.send_response(stub.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            """A test's output stays its own."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        stub.address = f"http://127.0.0.1:{server.server_address[1]}"
        if pair is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(pair.certificate, pair.key)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            stub.address = stub.address.replace("http:", "https:")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()
