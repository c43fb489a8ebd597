"""The HTTP listener on a real port: connections, deadlines, limits, what is not HTTP, start and stop."""

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import uvicorn

from mooring.serving.addresses import ListenError
from mooring.serving.http import protocol
from mooring.serving.http import server as server_module
from mooring.serving.http.server import HttpServer
from mooring_extender.app import ExtenderApp, Options
from mooring_extender.client import GrpcClient
from tests.extender.fakes import FakeClient, Reply, Rules, grpc_server, listening, question
from tests.process import until

PATIENCE = 30.0
KUBE_SCHEDULER_IDLE_SECONDS = 90


def head(size: int | None = None, path: str = "/filter", *lines: str) -> bytes:
    length = [] if size is None else [f"Content-Length: {size}"]
    named = ("Host: localhost", "Content-Type: application/json")
    return "\r\n".join([f"POST {path} HTTP/1.1", *named, *length, *lines, "", ""]).encode()


def whole(body: bytes | None = None) -> bytes:
    body = question() if body is None else body
    return head(len(body)) + body


def connect(server: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def answer(connection: socket.socket) -> Reply:
    response = http.client.HTTPResponse(connection, method="POST")
    response.begin()
    body = response.read()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status, headers, body)


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side has closed; what is still on its way is read and dropped."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with listening(FakeClient) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    monkeypatch.setattr(protocol, "RECEIVE_SECONDS", 0.2)
    with listening(FakeClient) as running:
        yield running


def test_idle_connections_outlive_those_of_kube_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener waits longer for the next request than Go's client keeps an idle connection."""
    configured: list[uvicorn.Config] = []
    build = uvicorn.Server.__init__

    def note(self: uvicorn.Server, config: uvicorn.Config) -> None:
        configured.append(config)
        build(self, config)

    monkeypatch.setattr(uvicorn.Server, "__init__", note)
    with listening(FakeClient) as running, connect(running) as connection:
        connection.sendall(whole())
        assert answer(connection).status == 200
        (config,) = configured
        assert config.timeout_keep_alive > KUBE_SCHEDULER_IDLE_SECONDS


def test_connection_is_reused(server: HttpServer) -> None:
    with connect(server) as connection:
        for _ in range(20):
            connection.sendall(whole())
            reply = answer(connection)
            assert (reply.status, reply.headers.get("connection")) == (200, None)
            assert reply.headers["content-length"] == str(len(reply.body))


def test_idle_connections_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "KEEP_ALIVE_SECONDS", 0.2)
    with listening(FakeClient) as running, connect(running) as silent, connect(running) as used:
        used.sendall(whole())
        assert answer(used).status == 200
        assert is_closed(used)
        assert is_closed(silent)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"P", id="one-byte"),
        pytest.param(b"\r\n", id="blank-line"),
        pytest.param(b"POST /filter HTTP/1.1\r\nHost: x\r\n", id="head-without-end"),
        pytest.param(head(100), id="no-body"),
        pytest.param(head(100) + b"{", id="body-without-end"),
        pytest.param(head(None, "/filter", "Transfer-Encoding: chunked") + b"5\r\n{", id="chunk-without-end"),
        pytest.param(whole() + b"POST", id="second-request-without-end"),
    ],
)
def test_slow_senders_are_dropped(impatient: HttpServer, sent: bytes) -> None:
    with connect(impatient) as slow, connect(impatient) as good:
        slow.sendall(sent)
        assert is_closed(slow)
        good.sendall(whole())
        assert answer(good).status == 200


def test_trickling_does_not_buy_time(impatient: HttpServer) -> None:
    """One byte now and then: the deadline counts from the first one."""
    with connect(impatient) as slow:
        done = threading.Event()

        def trickle() -> None:
            try:
                while not done.wait(0.01):
                    slow.sendall(b"x")
            except OSError:
                pass

        slow.sendall(head(10**6))
        thread = threading.Thread(target=trickle)
        thread.start()
        assert is_closed(slow)
        done.set()
        thread.join()


@pytest.mark.parametrize("asks_again", [False, True])
def test_slow_readers_are_dropped(monkeypatch: pytest.MonkeyPatch, asks_again: bool) -> None:
    """The answer of 20 MB does not fit into the socket's buffers, and no client reads it."""
    monkeypatch.setattr(protocol, "SEND_SECONDS", 0.2)
    nodes = {"items": [{"metadata": {"name": f"n{i}"}, "pad": "x" * 10_000} for i in range(2000)]}
    large = question(NodeNames=None, Nodes=nodes)
    with (
        listening(FakeClient, http_timeout=2 * PATIENCE) as running,
        connect(running) as slow,
        connect(running) as good,
    ):
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        good.sendall(whole())
        assert answer(good).status == 200
        slow.sendall(whole(large) + (whole() if asks_again else b""))
        until(lambda: len(running._server.server_state.connections) == 1)
        good.sendall(whole())
        assert answer(good).status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(head(101), 413, id="one-byte-more-announced"),
        pytest.param(head(10**15), 413, id="absurd-length"),
        pytest.param(
            head(None, "/filter", "Transfer-Encoding: chunked") + b"65\r\n" + b"x" * 101 + b"\r\n",
            413,
            id="chunked",
        ),
        pytest.param(head(5, "/filter", "Content-Encoding: gzip"), 415, id="gzip"),
        pytest.param(head(5, "/nowhere"), 404, id="unknown-path"),
        pytest.param(b"GET /filter HTTP/1.1\r\nHost: x\r\n\r\n", 405, id="get"),
    ],
)
@pytest.mark.parametrize("ends", [False, True], ids=["waits", "sends nothing more"])
def test_rejected_before_the_body_is_read(sent: bytes, status: int, ends: bool) -> None:
    with listening(FakeClient, max_body_bytes=100) as running, connect(running) as connection:
        connection.sendall(sent)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        reply = answer(connection)
        assert (reply.status, list(reply.json)) == (status, ["error"])
        assert is_closed(connection)


NO_HTTP = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00",
    "no-version": b"POST /filter\r\n\r\n",
    "unknown-method": b"FILTER /filter HTTP/1.1\r\n\r\n",
    "length-and-chunked": head(5, "/filter", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "two-lengths": head(5, "/filter", "Content-Length: 6") + b"123456",
    "negative-length": head(None, "/filter", "Content-Length: -1"),
    "length-with-sign": head(None, "/filter", "Content-Length: +5") + b"12345",
    "bad-chunk-size": head(None, "/filter", "Transfer-Encoding: chunked") + b"zz\r\n",
    "unknown-transfer-encoding": head(None, "/filter", "Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "folded-header": head(None, "/filter", "X: a", " b"),
    "blank-in-header-name": head(None, "/filter", "Content-Length : 5") + b"12345",
    "nul-in-header": head(None, "/filter", "X: a\0b"),
    "huge-head": b"POST /filter HTTP/1.1\r\nX: " + b"x" * 10**6,
    "many-trailers": head(None, "/filter", "Transfer-Encoding: chunked")
    + b"2\r\n{}\r\n0\r\n"
    + b"X: yyyyyyyy\r\n" * 10**5
    + b"\r\n",
    "huge-trailer": head(None, "/filter", "Transfer-Encoding: chunked")
    + b"2\r\n{}\r\n0\r\nX: %s\r\n\r\n" % (b"x" * 10**6),
}
OVERFLOWING = {NO_HTTP[name] for name in ("huge-head", "many-trailers", "huge-trailer")}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
def test_what_is_no_http_is_400_and_closed(server: HttpServer, sent: bytes) -> None:
    with connect(server) as bad, connect(server) as good:
        try:
            bad.sendall(sent)
            reply = answer(bad)
        except ConnectionError:
            assert sent in OVERFLOWING, "only what overflows may meet a closed door"
        else:
            assert (reply.status, list(reply.json)) == (400, ["error"])
            assert is_closed(bad)
        good.sendall(whole())
        assert answer(good).status == 200


def test_http_1_0_is_answered_and_closed(server: HttpServer) -> None:
    with connect(server) as connection:
        connection.sendall(whole().replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert answer(connection).status == 200
        assert is_closed(connection)


def test_expect_100_continue(server: HttpServer) -> None:
    with connect(server) as connection:
        connection.sendall(head(len(question()), "/filter", "Expect: 100-continue"))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(question())
        assert answer(connection).status == 200


def test_a_body_that_is_late_takes_its_time_from_the_call() -> None:
    with listening(FakeClient, http_timeout=0.2) as running, connect(running) as connection:
        connection.sendall(whole()[:-1])
        time.sleep(0.2)
        connection.sendall(whole()[-1:])
        assert "the body took all the time" in answer(connection).json["Error"]


class Written(asyncio.Transport):
    """A connection that keeps its output, write by write."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.writes: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        """Go on keeping."""

    pause_reading = resume_reading = close

    def is_closing(self) -> bool:
        return False


async def written(*sent: bytes) -> tuple[list[bytes], int]:
    """Return a connection's answers to these pieces, write by write, and the number of tasks."""
    app = ExtenderApp(FakeClient, Options())
    config = uvicorn.Config(app, interface="asgi3", access_log=False, proxy_headers=False)
    config.load()
    state = uvicorn.server.ServerState()
    listener = protocol.GuardedProtocol(config, state, {}, asyncio.get_running_loop())
    connection = Written()
    listener.connection_made(connection)
    for piece in sent:
        listener.data_received(piece)
    tasks = len(state.tasks)
    while state.tasks:
        await asyncio.gather(*state.tasks)
        await asyncio.sleep(0)
    listener.connection_lost(None)
    return connection.writes, tasks


@pytest.mark.parametrize(
    ("sent", "writes"),
    [
        pytest.param(whole(b"{"), [b"HTTP/1.1 400 "], id="answer"),
        pytest.param(whole(b"{") * 2, [b"HTTP/1.1 400 "] * 2, id="two answers"),
        pytest.param(
            head(1, "/filter", "Expect: 100-continue") + b"{",
            [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 400 "],
            id="what a client waits for is not held",
        ),
        pytest.param(
            whole(b"{").replace(b"POST", b"HEAD"), [b"HTTP/1.1 405 "], id="a head that no body follows"
        ),
    ],
)
def test_an_answer_is_one_write(sent: bytes, writes: list[bytes]) -> None:
    """Each is a system call, and wakes the client."""
    found, _ = asyncio.run(written(sent))
    assert [one[: len(beginning)] for one, beginning in zip(found, writes, strict=True)] == writes


@pytest.mark.parametrize("at", [1, len(head(1)), len(whole()) - 1], ids=["head", "body", "end"])
def test_a_request_in_pieces_is_answered_with_the_last_of_them(at: int) -> None:
    """Go's client sends two; a task for the first would be a step of the loop more for each call."""
    found, tasks = asyncio.run(written(whole()[:at], whole()[at:]))
    assert tasks == 0
    assert found[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "target", ["/filter?timeout=2s", "/%66ilter", "http://x/filter"], ids=["query", "escaped", "absolute"]
)
def test_a_verb_is_found_however_its_path_is_written(server: HttpServer, target: str) -> None:
    with connect(server) as connection:
        connection.sendall(head(len(question()), target) + question())
        assert answer(connection).status == 200


def test_pipelined_requests_are_answered_in_order(server: HttpServer) -> None:
    with connect(server) as connection:
        connection.sendall(whole() + whole(b"{}"))
        first = http.client.HTTPResponse(connection, method="POST")
        text = b""
        while text.count(b"HTTP/1.1 200 OK") < 2 or not text.endswith(b"}"):
            text += connection.recv(65536)
        first.close()
        assert text.index(b'"NodeNames":["a","b","c"]') < text.index(b"Pod is missing")


CHUNKED = head(None, "/filter", "Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        pytest.param(whole() + b"\x16\x03\x01\r\n\r\n", 1, id="no-head"),
        pytest.param(whole() + head(None, "/filter", "X: a\0b"), 1, id="bad-head"),
        pytest.param(whole() + CHUNKED + b"zz\r\n", 1, id="bad-body"),
        pytest.param(whole() * 3 + b"\x16\x03\x01\r\n\r\n", 3, id="three-before"),
        pytest.param(whole() * 3 + CHUNKED + b"2\r\n{}zz\r\n", 3, id="three-before-a-bad-body"),
    ],
)
def test_what_came_before_something_invalid_is_answered_first(
    server: HttpServer, sent: bytes, answered: int, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        text = b""
        while piece := connection.recv(65536):
            text += piece
        *before, last = text.split(b"HTTP/1.1 ")[1:]
        assert [reply[:3] for reply in before] == [b"200"] * answered
        assert last.startswith(b"400")
    assert not [record for record in caplog.records if record.exc_info]


def test_trailers_say_nothing_about_their_request(server: HttpServer) -> None:
    with connect(server) as connection:
        chunks = b"%x\r\n%s\r\n0\r\n" % (len(question()), question())
        connection.sendall(CHUNKED + chunks + b"Content-Encoding: gzip\r\n\r\n")
        assert answer(connection).status == 200


def test_a_crowd_of_silent_connections_shuts_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 8
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", most)
    with listening(FakeClient) as running, connect(running) as kept, ExitStack() as crowd:
        kept.sendall(whole())
        assert answer(kept).status == 200
        for number in range(5 * most):
            silent = crowd.enter_context(connect(running))
            if number % 2:
                silent.sendall(b"POST /filter HTTP/1.1\r\n")
        until(lambda: len(running._server.server_state.connections) <= most)
        with connect(running) as new:
            for good in (kept, new):
                good.sendall(whole())
                assert answer(good).status == 200


def test_calls_that_are_answered_are_not_ended_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 2)
    asked, go_on = threading.Event(), threading.Event()

    def verdict(_name: str) -> int:
        asked.set()
        return int(not go_on.wait(PATIENCE))

    with (
        grpc_server(Rules(verdict=verdict)) as address,
        listening(partial(GrpcClient, address), http_timeout=2 * PATIENCE) as running,
        connect(running) as first,
        connect(running) as second,
    ):
        for connection in (first, second):
            connection.sendall(whole())
            assert asked.wait(PATIENCE)
            asked.clear()
        with connect(running) as third:
            assert is_closed(third)
        go_on.set()
        assert [answer(one).status for one in (first, second)] == [200, 200]


def test_an_old_connection_ends_with_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "CONNECTION_SECONDS", 0.0)
    with listening(FakeClient) as running, connect(running) as connection:
        connection.sendall(whole())
        reply = answer(connection)
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert is_closed(connection)


def test_client_that_leaves_early_harms_nobody(server: HttpServer) -> None:
    for sent in (b"POST", head(100), head(100) + b"{", whole()):
        with connect(server) as connection:
            connection.sendall(sent)
    for _ in range(3):
        with connect(server) as connection:
            connection.sendall(whole())
            assert answer(connection).status == 200


def test_taken_port_is_a_clear_error(server: HttpServer) -> None:
    with pytest.raises(
        ListenError, match=rf"cannot listen on 127.0.0.1:{server.port}: .*in use.*choose another"
    ):
        HttpServer(ExtenderApp(FakeClient, Options()), "127.0.0.1", server.port)


def test_stop_finishes_what_is_being_answered() -> None:
    asked, go_on = threading.Event(), threading.Event()

    def verdict(_name: str) -> int:
        asked.set()
        assert go_on.wait(PATIENCE)
        return 0

    with (
        grpc_server(Rules(verdict=verdict)) as address,
        listening(partial(GrpcClient, address), http_timeout=2 * PATIENCE) as running,
        connect(running) as connection,
        connect(running) as idle,
    ):
        connection.sendall(whole())
        assert asked.wait(PATIENCE)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        assert is_closed(idle)
        go_on.set()
        reply = answer(connection)
        assert (reply.status, reply.json["NodeNames"]) == (200, ["a", "b", "c"])
        stopping.join()
        with pytest.raises(ConnectionRefusedError):
            connect(running)


def test_withdrawn_it_answers_and_ends_each_connection(server: HttpServer) -> None:
    with connect(server) as kept:
        kept.sendall(whole())
        assert answer(kept).headers.get("connection") is None
        server.withdraw()
        kept.sendall(whole())
        reply = answer(kept)
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert is_closed(kept)
    with connect(server) as new:
        new.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer(new).status == 503


def test_mooring_over_a_unix_socket(tmp_path: Path) -> None:
    with (
        grpc_server(Rules(), f"unix:{tmp_path}/mooring.sock") as address,
        listening(partial(GrpcClient, address)) as running,
        connect(running) as connection,
    ):
        connection.sendall(whole())
        assert answer(connection).json["NodeNames"] == ["a", "b", "c"]


def test_mooring_that_hangs_is_an_error_in_time() -> None:
    go_on = threading.Event()
    rules = Rules(verdict=lambda _name: int(not go_on.wait(PATIENCE)))
    with (
        grpc_server(rules) as address,
        listening(partial(GrpcClient, address), http_timeout=1.0, profile="p") as running,
        connect(running) as connection,
    ):
        connection.sendall(whole())
        assert "mooring: no answer within 0." in answer(connection).json["Error"]
        go_on.set()


def test_mooring_that_is_away_and_comes_back(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/mooring.sock"

    def error() -> str:
        # The adapter ends a connection with such an error, so that kube-scheduler may meet another replica.
        with connect(running) as connection:
            connection.sendall(whole())
            return str(answer(connection).json["Error"])

    with listening(partial(GrpcClient, address)) as running:
        assert error().startswith("mooring: unavailable: ")
        with grpc_server(Rules(), address):
            while error():
                pass


def test_large_node_lists_pass_both_ways() -> None:
    names = [f"node-{i}" for i in range(600)]
    nodes = {"items": [{"metadata": {"name": name}, "pad": "x" * 10_000} for name in names]}
    body = question(NodeNames=None, Nodes=nodes)
    with (
        grpc_server(Rules()) as address,
        listening(partial(GrpcClient, address), http_timeout=PATIENCE) as running,
        connect(running) as connection,
    ):
        connection.sendall(head(len(body)) + body)
        assert [node["metadata"]["name"] for node in answer(connection).json["Nodes"]["items"]] == names


def test_calls_at_once_get_their_own_answers() -> None:
    """Eight callers on connections of their own, as binds overlap each other and the next pod's filter."""
    rules = Rules(verdict=lambda name: int(name.startswith("no")))

    def call_often(caller: int, answers: list[list[str]]) -> None:
        with connect(running) as connection:
            for i in range(25):
                connection.sendall(whole(question([f"yes-{caller}-{i}", f"no-{caller}-{i}"])))
                answers.append(answer(connection).json["NodeNames"])

    with (
        grpc_server(rules) as address,
        listening(partial(GrpcClient, address), http_timeout=PATIENCE) as running,
    ):
        got: list[list[list[str]]] = [[] for _ in range(8)]
        threads = [threading.Thread(target=call_often, args=(i, got[i])) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == [[[f"yes-{caller}-{i}"] for i in range(25)] for caller in range(8)]
