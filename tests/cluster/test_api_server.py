"""The client of the API server: what is repeated, credentials that change, files that load."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.api import (
    RESOURCES,
    ApiServer,
    Response,
    Stream,
    configuration,
    failure,
    served_version,
)
from mooring.cluster.api.client import TokenBucket
from mooring.cluster.cluster_api import KubernetesApi
from mooring.cluster.decoding.protobuf_objects import ENVELOPE
from mooring.cluster.leases import Lease
from mooring.framework import ObjectReference
from mooring.framework.errors import (
    AbortedError,
    InvalidArgumentError,
    MooringError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from mooring.kubernetes.v1 import meta_pb2
from tests.cluster.following import pod
from tests.fake_api_server import Answer, Cut, Delay, FakeApiServer, Hang

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        yield running


def test_requests_name_the_program_and_keep_their_connection(fake: FakeApiServer) -> None:
    client = fake.client(user_agent="mooring-test")
    for _ in range(3):
        assert client.request("GET", PODS).ok
    assert {entry.call.user_agent for entry in fake.history.all()} == {"mooring-test"}


@pytest.mark.parametrize(
    ("method", "fault", "calls", "status"),
    [
        pytest.param("GET", Answer(429, retry_after=0), 2, 200, id="a read that was put off"),
        pytest.param("POST", Answer(429, retry_after=0), 2, 201, id="a write that was put off"),
        pytest.param("GET", Answer(503, retry_after=0), 2, 200, id="a read, come back later"),
        pytest.param("POST", Answer(503, retry_after=0), 1, 503, id="a write that may have been done"),
        pytest.param("GET", Answer(500), 1, 500, id="a read, no time named"),
        pytest.param("GET", Answer(429, retry_after=60), 1, 429, id="put off beyond the deadline"),
        pytest.param("GET", Cut(), 2, 200, id="a read whose connection broke"),
        pytest.param("POST", Cut(), 1, 0, id="a write whose connection broke"),
        pytest.param("GET", Answer(302), 1, 302, id="redirects are not followed"),
        pytest.param("GET", Delay(0.01), 1, 200, id="a slow answer"),
    ],
)
def test_only_what_is_safe_is_repeated(
    fake: FakeApiServer, method: str, fault: Answer | Cut | Delay, calls: int, status: int
) -> None:
    fake.faults.on(method, "/pods$", fault, times=1)
    client = fake.client(timeout_seconds=5)
    try:
        answered = client.request(method, PODS, body=pod("p") if method == "POST" else None).status
    except UnavailableError:
        answered = 0
    assert (answered, len(fake.history.all(method, "/pods"))) == (status, calls)


def test_a_server_that_never_answers_costs_the_timeout(fake: FakeApiServer) -> None:
    fake.faults.on("POST", "/pods$", Hang(after=True))
    with pytest.raises(UnavailableError, match="did not answer"):
        fake.client().request("POST", PODS, body=pod("p"), timeout=0.2)
    assert fake.get("Pod", "p") is not None


def test_a_silent_stream_ends_at_its_read_timeout(fake: FakeApiServer) -> None:
    fake.faults.silent = True
    query = {"watch": "true", "resourceVersion": str(fake.store.version)}
    with (
        fake.client().stream(PODS, query=query, read_timeout=0.2) as stream,
        pytest.raises(UnavailableError, match="timed out"),
    ):
        list(stream)


def streamed(chunks: list[bytes]) -> Stream:
    """Return an answer that comes in these chunks."""
    connection: Any = SimpleNamespace(
        reader=SimpleNamespace(status=200, headers={}), chunks=lambda: iter(chunks)
    )
    return Stream(connection)


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[begin:end] for begin, end in itertools.pairwise(ends)]


@given(st.lists(st.binary(max_size=300), max_size=5), st.lists(st.integers(0, 600), max_size=8))
def test_frames_may_come_in_any_pieces(frames: list[bytes], cuts: list[int]) -> None:
    data = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    assert list(streamed(in_pieces(data, cuts)).frames()) == frames


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"\0\0\0\4abc", "ended within a frame", id="the last one is cut off"),
        pytest.param(b"\0\0\0", "ended within a frame", id="its length is cut off"),
        pytest.param(b"\2\0\0\0abc", "has 33554432 bytes", id="it is longer than any object"),
    ],
)
def test_a_frame_that_is_not_whole_ends_the_stream(data: bytes, why: str) -> None:
    with pytest.raises(UnavailableError, match=why):
        list(streamed([data]).frames())


def test_a_rejection_says_why_in_protobuf_too() -> None:
    status = meta_pb2.Status(message="pods is forbidden", code=403).SerializeToString()
    body = ENVELOPE + meta_pb2.Unknown(raw=status).SerializeToString()
    response = Response(403, {"content-type": "application/vnd.kubernetes.protobuf"}, body)
    assert response.message == "pods is forbidden"
    assert response.cause == ""


def test_a_token_that_was_renewed_is_read_again(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.token = "first"
    client = ApiServer.from_kubeconfig(fake.kubeconfig(tmp_path / "kubeconfig"))
    assert client.request("GET", PODS).ok
    fake.token = "second"
    assert client.request("GET", PODS).status == 401
    fake.kubeconfig(tmp_path / "kubeconfig")
    assert client.request("GET", PODS).ok
    fake.token = "third"
    with client.stream(PODS, read_timeout=1) as stream:
        assert stream.status == 401
    fake.kubeconfig(tmp_path / "kubeconfig")
    with client.stream(PODS, read_timeout=1) as stream:
        assert stream.status == 401
    with client.stream(PODS, read_timeout=1) as stream:
        assert stream.status == 200


def test_a_token_file_is_read_again(fake: FakeApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    config = tmp_path / "kubeconfig"
    fake.token = "first"
    fake.kubeconfig(config)
    config.write_text(config.read_text().replace('token: "first"', "tokenFile: token"))
    client = ApiServer.from_kubeconfig(config)
    assert client.request("GET", PODS).ok
    fake.token = "second"
    token.write_text("second\n")
    assert client.request("GET", PODS).ok


def test_a_service_account_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("TOKEN", "secret\n"), ("CERT", "certificate")):
        file = tmp_path / name
        file.write_text(text)
        monkeypatch.setattr(f"kubernetes.config.incluster_config.SERVICE_{name}_FILENAME", str(file))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    assert configuration.in_cluster().host == "https://[fd00::1]:6443"
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT")
    with pytest.raises(InvalidArgumentError, match="no service account"):
        ApiServer.in_cluster()


KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:8080"}}]
contexts: [{name: c, context: {cluster: c, USER}}]
current-context: c
preferences: {}
USERS
"""


@pytest.mark.parametrize("user", ['user: ""', "namespace: x"])
@pytest.mark.parametrize("users", ["users: []", "users: null", 'users: [{name: "", user: {}}]', ""])
def test_kubeconfigs_without_a_user_load(user: str, users: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG.replace("USERS", users).replace("USER", user))
    assert ApiServer.from_kubeconfig(file).address == "http://127.0.0.1:8080"
    assert ApiServer.from_kubeconfig(file, server="https://other:6443/").address == "https://other:6443"


@pytest.mark.parametrize("text", ["", "[]", "{", "kind: Config", KUBECONFIG.replace("name: c", "name: d")])
def test_kubeconfigs_that_can_not_be_used(text: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(InvalidArgumentError, match="can't be used"):
        ApiServer.from_kubeconfig(file)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(400, InvalidArgumentError, id="400"),
        pytest.param(401, PermissionDeniedError, id="401"),
        pytest.param(403, PermissionDeniedError, id="403"),
        pytest.param(404, NotFoundError, id="404"),
        pytest.param(409, AbortedError, id="409"),
        pytest.param(410, AbortedError, id="410"),
        pytest.param(422, InvalidArgumentError, id="422"),
        pytest.param(429, UnavailableError, id="429"),
        pytest.param(500, UnavailableError, id="500"),
        pytest.param(504, UnavailableError, id="504"),
    ],
)
def test_a_rejection_says_what_was_asked_and_why_not(status: int, error: type[MooringError]) -> None:
    rejection = failure(Response(status, {}, b'{"kind":"Status","message":"because"}'), "bind default/p")
    assert type(rejection) is error
    assert "bind default/p" in rejection.message
    assert "because" in rejection.message


@pytest.mark.parametrize(
    ("details", "metadata"),
    [
        pytest.param(
            {"causes": [{"reason": "NamespaceTerminating"}]}, {"cause": "NamespaceTerminating"}, id="one"
        ),
        pytest.param({"causes": []}, {}, id="none"),
        pytest.param({"causes": [7]}, {}, id="nonsense"),
        pytest.param(None, {}, id="no details"),
    ],
)
def test_a_rejection_has_the_cause_that_the_server_details(details: Any, metadata: dict[str, str]) -> None:
    body = json.dumps({"kind": "Status", "message": "because", "details": details}).encode()
    assert failure(Response(403, {}, body), "make an Event").metadata == metadata


@pytest.mark.parametrize("body", [b"", b"Too many", b"\xff", b"[]", b"{}", b"[" * 100_000])
def test_a_rejection_may_say_it_in_any_form(body: bytes) -> None:
    assert Response(500, {}, body).message == body[:200].decode(errors="replace")


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[]", b"[" * 100_000])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda api: Lease(api, "default", "l", 5.0).read_lease(), id="a lease"),
        pytest.param(
            lambda api: KubernetesApi(api).read(ObjectReference("Pod", "default", "p")), id="an object"
        ),
        pytest.param(lambda api: served_version(api, RESOURCES["Lease"]), id="what is served"),
    ],
)
def test_an_answer_that_makes_no_sense_is_none(
    fake: FakeApiServer, call: Callable[[ApiServer], object], body: bytes
) -> None:
    fake.faults.on("GET", "", Answer(200, body=body))
    with pytest.raises(UnavailableError, match="can't be read"):
        call(fake.client())


def test_the_kernel_finds_out_that_packets_vanish(
    fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[tuple[int, int], Any] = {}
    really = socket.socket.setsockopt

    def noted(it: socket.socket, level: int, name: int, value: Any) -> None:
        options[level, name] = value
        really(it, level, name, value)

    monkeypatch.setattr(socket.socket, "setsockopt", noted)
    with fake.client().stream(PODS, query={"watch": "true"}, read_timeout=600):
        pass
    idle, between, probes = (
        options[socket.IPPROTO_TCP, name]
        for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert options[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    assert idle + between * probes <= 45


def test_requests_are_spread_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = 0.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    monkeypatch.setattr(
        "mooring.cluster.api.client.time", SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    )
    bucket = TokenBucket(qps=50, burst=2)
    assert all(bucket.take_token(10) for _ in range(7))
    assert slept == pytest.approx([1 / 50] * 5)
    slow = TokenBucket(qps=0.001, burst=1)
    assert slow.take_token(1)
    assert not slow.take_token(1)


def test_a_request_that_would_wait_too_long_for_its_turn_is_not_sent(fake: FakeApiServer) -> None:
    client = fake.client(qps=0.001, burst=1)
    assert client.request("GET", PODS).ok
    with pytest.raises(UnavailableError, match="too late"):
        client.request("GET", PODS, timeout=0.5)
    assert len(fake.history.all("GET", "/pods")) == 1


def test_nothing_of_a_request_is_sent_before_it_is_allowed_and_then_all_of_it_at_once() -> None:
    pieces: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                pieces.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")

        def allow() -> None:
            # The connection is there, and what had been sent by now would have been received.
            time.sleep(0.1)
            assert pieces == []

        server = threading.Thread(target=serve)
        server.start()
        client = ApiServer(configuration.at(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        assert client.request("POST", PODS, body=pod("p"), before=allow).status == 201
        server.join()
    (whole,) = pieces
    head, _, body = whole.partition(b"\r\n\r\n")
    assert head.startswith(f"POST {PODS} HTTP/1.1\r\n".encode())
    assert json.loads(body) == pod("p")
