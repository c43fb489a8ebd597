"""A mooring that answers by simple rules, as a client and as a gRPC server, and a caller of the app."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import Message

from mooring.serving.access.clients import Client
from mooring.serving.http.server import HttpServer
from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import plugin_service_pb2 as plugins
from mooring_client.v1 import scheduling_service_pb2 as scheduling
from mooring_client.v1.nodes_pb2 import NodeSelection
from mooring_client.v1.verdicts_pb2 import (
    VERDICT_CODE_SUCCESS,
    VERDICT_CODE_UNSCHEDULABLE,
    VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
    Verdict,
)
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.failures import CallError
from tests.certificates import Authority

CAPTURED = Path(__file__).parents[1] / "testdata" / "extender" / "captured"

STATUSES = (
    Verdict(code=VERDICT_CODE_SUCCESS),
    Verdict(
        code=VERDICT_CODE_UNSCHEDULABLE, plugin="Slots", reasons=["node(s) had no free slot", "too small"]
    ),
    Verdict(code=VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE, reasons=["node(s) not known to mooring"]),
)
FAILED = "node(s) had no free slot, too small"
UNRESOLVABLE = "node(s) not known to mooring"


def names_in(selection: NodeSelection) -> list[str]:
    if selection.WhichOneof("selection") == "joined_names":
        return selection.joined_names.decode().split("\0")
    return [json.loads(node.json)["metadata"]["name"] for node in selection.inline.nodes]


@dataclass
class Rules:
    """The fake mooring's rules for a node: an index into STATUSES, and a total of at most 100 * weight."""

    verdict: Callable[[str], int] = lambda _name: 0
    total: Callable[[str], int] = lambda _name: 0
    weight_sum: int = 1
    outcome: scheduling.CommitOutcome.ValueType = scheduling.COMMIT_OUTCOME_BOUND
    requests: list[Any] = field(default_factory=list)

    def filter(self, request: scheduling.FilterRequest) -> scheduling.FilterResponse:
        self.requests.append(request)
        response = scheduling.FilterResponse()
        response.verdicts.distinct.extend(STATUSES)
        names = names_in(request.nodes)
        response.verdicts.node_verdicts.extend(map(self.verdict, names))
        if request.include_totals:
            response.totals.extend(self.total(name) for name in names if not self.verdict(name))
            response.weight_sum = self.weight_sum
        return response

    def score(self, request: scheduling.ScoreRequest) -> scheduling.ScoreResponse:
        self.requests.append(request)
        names = names_in(request.nodes)
        response = scheduling.ScoreResponse(weight_sum=self.weight_sum, totals=map(self.total, names))
        response.verdicts.distinct.extend(STATUSES)
        response.verdicts.node_verdicts.extend(self.verdict(name) for name in names)
        return response

    def bind(self, request: scheduling.BindRequest) -> scheduling.BindResponse:
        self.requests.append(request)
        return scheduling.BindResponse(outcome=self.outcome)

    def preempt(self, request: scheduling.PreemptRequest) -> scheduling.PreemptResponse:
        """Keep every candidate but the first; whole pods become references."""
        self.requests.append(request)
        kept = list(request.candidates.candidates)[1:]
        for victim in (victim for candidate in kept for victim in candidate.victims):
            if victim.WhichOneof("source") == "object":
                victim.reference.uid = json.loads(victim.object.json)["metadata"]["uid"]
        return scheduling.PreemptResponse(candidates=kept)


class FakeClient:
    """The adapter's Client, answering by `rules`; `failure`, if set, is raised by every call instead."""

    def __init__(self, rules: Rules | None = None, failure: CallError | None = None) -> None:
        self.rules = rules or Rules()
        self.failure = failure
        self.profile_names = ["first", "second"]
        self.synced = True
        self.seconds: list[float] = []

    def _note(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self.failure:
            raise self.failure

    async def filter(self, request: scheduling.FilterRequest, seconds: float) -> scheduling.FilterResponse:
        self._note(seconds)
        return self.rules.filter(request)

    async def score(self, request: scheduling.ScoreRequest, seconds: float) -> scheduling.ScoreResponse:
        self._note(seconds)
        return self.rules.score(request)

    async def bind(self, request: scheduling.BindRequest, seconds: float) -> scheduling.BindResponse:
        self._note(seconds)
        return self.rules.bind(request)

    async def preempt(self, request: scheduling.PreemptRequest, seconds: float) -> scheduling.PreemptResponse:
        self._note(seconds)
        return self.rules.preempt(request)

    async def profiles(self, seconds: float) -> plugins.ListProfilesResponse:
        self._note(seconds)
        return plugins.ListProfilesResponse(profiles=[plugins.Profile(name=n) for n in self.profile_names])

    async def cluster_info(self, seconds: float) -> cluster.GetClusterInfoResponse:
        self._note(seconds)
        return cluster.GetClusterInfoResponse(synced=self.synced)

    async def list_nodes(
        self, request: cluster.ListNodesRequest, seconds: float
    ) -> cluster.ListNodesResponse:
        raise AssertionError("answers without provenance give no reason to ask")

    async def close(self) -> None:
        pass


def _service(name: str, **calls: tuple[Callable[[Any], Any], type[Message]]) -> grpc.GenericRpcHandler:
    """Return a service of mooring.v1 with these calls: what answers, and the type of the request."""
    return grpc.method_handlers_generic_handler(
        f"mooring.v1.{name}",
        {
            call: grpc.unary_unary_rpc_method_handler(
                partial(_answer, answer), kind.FromString, lambda response: response.SerializeToString()
            )
            for call, (answer, kind) in calls.items()
        },
    )


def _answer(answer: Callable[[Any], Any], request: Any, _context: object) -> Any:
    return answer(request)


@contextmanager
def grpc_server(
    rules: Rules, address: str = "127.0.0.1:0", authority: Authority | None = None
) -> Iterator[str]:
    """A mooring on an address of its own, yielded; with an authority it speaks TLS and asks for it."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    server.add_generic_rpc_handlers(
        (
            _service(
                "SchedulingService",
                Filter=(rules.filter, scheduling.FilterRequest),
                Score=(rules.score, scheduling.ScoreRequest),
                Bind=(rules.bind, scheduling.BindRequest),
                Preempt=(rules.preempt, scheduling.PreemptRequest),
            ),
            _service(
                "PluginService",
                ListProfiles=(
                    lambda _request: plugins.ListProfilesResponse(profiles=[plugins.Profile(name="first")]),
                    plugins.ListProfilesRequest,
                ),
            ),
            _service(
                "ClusterService",
                GetClusterInfo=(
                    lambda _request: cluster.GetClusterInfoResponse(synced=True),
                    cluster.GetClusterInfoRequest,
                ),
            ),
        )
    )
    if authority:
        own = authority.issue("mooring")
        pairs = [(own.key.read_bytes(), own.certificate.read_bytes())]
        credentials = grpc.ssl_server_credentials(pairs, authority.certificate.read_bytes(), True)
        port = server.add_secure_port(address, credentials)
    else:
        port = server.add_insecure_port(address)
    server.start()
    try:
        yield address if address.startswith("unix:") else f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@contextmanager
def listening(make_client: Callable[[], Any], **options: Any) -> Iterator[HttpServer]:
    """Yield an adapter on a port of its own."""
    server = HttpServer(ExtenderApp(make_client, Options(**options)), "127.0.0.1", 0)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    client: FakeClient,
    path: str,
    *bodies: bytes,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    **options: Any,
) -> Reply:
    """Send one request straight to the app, its body in as many pieces as given; return the last answer."""
    return ask_often(client, [(path, *bodies)], methods=[method], headers=headers, **options)[-1]


def ask_often(
    client: FakeClient,
    requests: Sequence[tuple[Any, ...]],
    *,
    methods: Sequence[str] = (),
    headers: dict[str, str] | None = None,
    **options: Any,
) -> list[Reply]:
    """Send requests (path, piece, ...) one after the other to one app; `methods` are POST by default."""
    app = ExtenderApp(lambda: client, Options(**options))

    async def run() -> list[Reply]:
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        started = asyncio.Event()

        async def lifespan_send(_message: Any) -> None:
            started.set()

        events.put_nowait({"type": "lifespan.startup"})
        life = asyncio.create_task(app({"type": "lifespan"}, events.get, lifespan_send))
        await started.wait()
        replies = [
            await _one(app, method, path, bodies, headers or {})
            for method, (path, *bodies) in zip(methods or ["POST"] * len(requests), requests, strict=True)
        ]
        events.put_nowait({"type": "lifespan.shutdown"})
        await life
        return replies

    return asyncio.run(run())


async def _one(
    app: ExtenderApp, method: str, path: str, bodies: list[bytes], headers: dict[str, str]
) -> Reply:
    pieces = bodies or [b""]
    messages = [
        {"type": "http.request", "body": piece, "more_body": i + 1 < len(pieces)}
        for i, piece in enumerate(pieces)
    ]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    sent_along = {"Host": "localhost", "Content-Type": "application/json", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "server": ("127.0.0.7", 8888),
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent_along.items()],
        "state": {"client": Client(), "began": time.monotonic()},
    }
    await app(scope, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], head, b"".join(message["body"] for message in sent[1:]))


def question(names: list[Any] | None = None, **fields: Any) -> bytes:
    """Return a filter or prioritize question as Go writes it; `fields` replace or add top-level keys."""
    document = {"Pod": {"metadata": {"name": "p", "namespace": "d", "uid": "u"}}, "Nodes": None} | {
        "NodeNames": ["a", "b", "c"] if names is None else names
    }
    return json.dumps(document | fields, ensure_ascii=False, separators=(",", ":")).encode()


BIND = b'{"PodName":"p","PodNamespace":"d","PodUID":"u1","Node":"a"}'
PREEMPT = (
    b'{"Pod":{"metadata":{"name":"p"}},"NodeNameToVictims":null,'
    b'"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"v1"}],"NumPDBViolations":1},'
    b'"b":{"Pods":[{"UID":"v2"},{"UID":"v3"}],"NumPDBViolations":2}}}'
)
BODIES = {"filter": question(), "prioritize": question(), "bind": BIND, "preempt": PREEMPT}
