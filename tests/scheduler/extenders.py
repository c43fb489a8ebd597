"""An extender with given answers, which records its requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mooring.config.types import ExtenderStanza, ManagedResource
from mooring.framework import SUCCESS, Pod, Status
from mooring.framework.preemption import Candidate
from mooring.runtime.profiles.extender import FilterAnswer, MetaVictims

Answers = Mapping[str, Any]
"""By verb: the JSON answer, bytes to send as they are, an HTTP status, or a function of the request."""


@dataclass
class Recorded:
    """A running extender.

    Attributes:
        url: Its address.
        answers: Its answers.
        requests: The verb and body of each request.
        connections: The number of connections.
        authorizations: The credentials of each request; None = nothing.
        encoding: How answers are compressed.
    """

    url: str = ""
    answers: Answers = field(default_factory=dict)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    connections: int = 0
    authorizations: list[str | None] = field(default_factory=list)
    encoding: str = "identity"

    def asked(self, verb: str) -> list[dict[str, Any]]:
        return [body for asked, body in self.requests if asked == verb]


@contextmanager
def http_extender(answers: Answers, tls: ssl.SSLContext | None = None) -> Iterator[Recorded]:
    """Yield an extender on a free port of 127.0.0.1."""
    recorded = Recorded(answers=answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            recorded.connections += 1

        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            verb = self.path.removeprefix("/v1/")
            recorded.requests.append((verb, body))
            recorded.authorizations.append(self.headers["Authorization"])
            answer = recorded.answers[verb]
            answer = answer(body) if callable(answer) else answer
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Encoding", recorded.encoding)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_request(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    recorded.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/v1"
    try:
        yield recorded
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def stanza(url: str, *verbs: str, manages: Sequence[str] = (), **fields: Any) -> ExtenderStanza:
    """Return a stanza with these verbs, each at the path of its name."""
    named: dict[str, Any] = {f"{verb}_verb": verb for verb in verbs}
    return ExtenderStanza(
        **{
            "url_prefix": url,
            "http_timeout": timedelta(seconds=30),
            "node_cache_capable": True,
            "weight": 1,
            "managed_resources": tuple(map(ManagedResource, manages)),
            **named,
            **fields,
        }
    )


@dataclass(eq=False)
class FakeExtender:
    """Implements ``ExtenderStanza`` in this process: its answers about nodes are in dicts, by node.

    Attributes:
        rejects: Nodes that it rejects, and why; None = without a word.
        unresolvable: Nodes that it rejects for good, and why.
        scores: Its scores.
        fails: The error that every call raises.
        binding: Called to bind.
        preempting: Called with the candidates.
        calls: The calls, and the nodes that each named.
    """

    name: str = "http://extender"
    weight: int = 1
    ignorable: bool = False
    filters: bool = True
    prioritizes: bool = True
    rejects: Mapping[str, str | None] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    fails: Exception | None = None
    interested: Callable[[Pod], bool] = lambda _: True
    binding: Callable[[Pod, str], Status] | None = None
    preempting: Callable[[Sequence[Candidate]], Mapping[str, MetaVictims]] | None = None
    before: Callable[[], object] = lambda: None
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    @property
    def binds(self) -> bool:
        return self.binding is not None

    @binds.setter
    def binds(self, _: bool) -> None:
        raise AssertionError

    @property
    def preempts(self) -> bool:
        return self.preempting is not None

    @preempts.setter
    def preempts(self, _: bool) -> None:
        raise AssertionError

    def is_interested(self, pod: Pod) -> bool:
        return self.interested(pod)

    def filter(self, pod: Pod, node_names: Sequence[str]) -> FilterAnswer:
        self._called("filter", node_names)
        rejected = self.rejects.keys() | self.unresolvable.keys()
        failed = {name: why for name, why in self.rejects.items() if why is not None}
        return FilterAnswer([name for name in node_names if name not in rejected], failed, self.unresolvable)

    def prioritize(self, pod: Pod, node_names: Sequence[str]) -> Sequence[tuple[str, int]]:
        self._called("prioritize", node_names)
        return list(self.scores.items())

    def bind(self, pod: Pod, node_name: str) -> Status:
        self._called("bind", [node_name])
        return self.binding(pod, node_name) if self.binding else SUCCESS

    def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, MetaVictims]:
        self._called("preempt", [candidate.node_name for candidate in candidates])
        assert self.preempting is not None
        return self.preempting(candidates)

    def _called(self, verb: str, node_names: Sequence[str]) -> None:
        self.calls.append((verb, tuple(sorted(node_names))))
        self.before()
        if self.fails is not None:
            raise self.fails
