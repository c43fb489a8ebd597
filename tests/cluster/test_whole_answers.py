"""Requests as they are sent and answers as they may come, from a server with scripted answers."""

from __future__ import annotations

import math
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import Configuration

from mooring.cluster.api import ApiServer, ClientOptions, connection
from mooring.framework.errors import UnavailableError
from mooring.http_client.client import HttpClient
from tests.certificates import Authority

END = b""
"""Instead of a piece: the server ends the connection."""

LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nX-Said: yes\r\n\r\n{}"
CHUNKED = (
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nX-Said: yes\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n"
)
UNTIL_END = b"HTTP/1.1 201 Created\r\nX-Said: yes\r\n\r\n{}"
CLOSING = LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
OLD = LENGTH.replace(b"1.1", b"1.0")
EMPTY = b"HTTP/1.1 204 No Content\r\nX-Said: yes\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\nX-Hint: a\r\n\r\n"
LONG = b"HTTP/1.1 201 Created\r\nX-Long: %s\r\nX-Said: yes\r\nContent-Length: 2\r\n\r\n{}"


class Scripted:
    """A server that reads a request and then sends the scripted pieces.

    Attributes:
        requests: The requests that it got, each with the number of its connection.
    """

    def __init__(self, listener: socket.socket, pieces: Sequence[bytes]) -> None:
        self._listener = listener
        self._pieces = pieces
        self.requests: list[tuple[int, bytes]] = []

    def accept(self) -> None:
        number = 0
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            threading.Thread(target=self._serve, args=(accepted, number), daemon=True).start()

    def _serve(self, accepted: socket.socket, number: int) -> None:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with accepted, suppress(OSError):
            while request := accepted.recv(65536):
                self.requests.append((number, request))
                for piece in self._pieces:
                    if piece == END:
                        return
                    accepted.sendall(piece)


@contextmanager
def scripted(*pieces: bytes, tls: ssl.SSLContext | None = None) -> Iterator[tuple[Scripted, str]]:
    plain = socket.create_server(("127.0.0.1", 0))
    # Wrapping takes the socket over: it is the wrapped one that has to be closed.
    with tls.wrap_socket(plain, server_side=True) if tls else plain as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        server = Scripted(listener, pieces)
        threading.Thread(target=server.accept, daemon=True).start()
        yield server, address


def client(server: str, **settings: Any) -> ApiServer:
    def load() -> Any:
        configuration: Any = Configuration()
        configuration.host = server
        for name, value in settings.items():
            setattr(configuration, name, value)
        return configuration

    return ApiServer(load, ClientOptions(timeout_seconds=5.0))


def each_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize(
    ("pieces", "connections"),
    [
        pytest.param([LENGTH], 1, id="of known length"),
        pytest.param(each_byte(LENGTH), 1, id="byte by byte"),
        pytest.param([CHUNKED + b"\r\n"], 1, id="in chunks"),
        pytest.param(each_byte(CHUNKED + b"\r\n"), 1, id="in chunks, byte by byte"),
        pytest.param([CHUNKED + b"X-Trailer: t\r\n\r\n"], 1, id="in chunks, with a trailer"),
        pytest.param([CONTINUE, LENGTH], 1, id="after an interim answer"),
        pytest.param([CONTINUE + CONTINUE + LENGTH], 1, id="after interim answers in one piece"),
        pytest.param([LONG % (b"x" * 60_000)], 1, id="with a long header"),
        pytest.param([UNTIL_END, END], 2, id="until the connection ends"),
        pytest.param([CLOSING, END], 2, id="the last one of its connection"),
        pytest.param([CLOSING], 2, id="said to be the last one"),
        pytest.param([OLD], 2, id="HTTP/1.0"),
        pytest.param([LENGTH, END], 2, id="an idle connection is closed"),
        pytest.param([LENGTH + LENGTH], 2, id="and one that nobody asked for"),
    ],
)
def test_whole_answers(pieces: Sequence[bytes], connections: int) -> None:
    with scripted(*pieces) as (server, address):
        api = client(f"http://{address}")
        for _ in range(2):
            answer = api.request("POST", "/pods", body={})
            assert (answer.status, answer.body) == (201, b"{}")
            assert answer.headers["x-said"] == "yes"
            assert "X-Hint" not in answer.headers
            wait_for_end(api, pieces)
        assert [number for number, _ in server.requests] == [1, connections]


def wait_for_end(api: ApiServer, pieces: Sequence[bytes]) -> None:
    """Until the client's side knows that an idle connection was closed."""
    if pieces[-1] != END:
        return
    for kept in api._connection._client._idle:
        assert isinstance(kept.socket, socket.socket)
        kept.socket.recv(1, socket.MSG_PEEK)


def test_an_answer_without_a_body() -> None:
    with scripted(EMPTY) as (server, address):
        api = client(f"http://{address}")
        assert [api.request("DELETE", "/pods").status for _ in range(2)] == [204, 204]
        assert [number for number, _ in server.requests] == [1, 1]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([END], id="nothing"),
        pytest.param([LENGTH[:20], END], id="ends in the headers"),
        pytest.param([LENGTH[:-1], END], id="ends in the body"),
        pytest.param([CHUNKED[:-5], END], id="ends between two chunks"),
        pytest.param([CHUNKED, END], id="ends before the last line"),
        pytest.param([CONTINUE, END], id="ends after an interim answer"),
        pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n"], id="another protocol"),
        pytest.param(
            [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", END], id="101"
        ),
        pytest.param([CHUNKED.replace(b"1\r\n", b"g\r\n")], id="a chunk of no length"),
        pytest.param([LENGTH.replace(b": 2", b": -2")], id="a negative length"),
        pytest.param([LONG % (b"x" * 90_000)], id="headers too long"),
        pytest.param([CONTINUE] * 2_000, id="interim answers without end"),
    ],
)
def test_no_answer(pieces: Sequence[bytes]) -> None:
    """A write is sent once: it may have been carried out."""
    with scripted(*pieces) as (server, address):
        with pytest.raises(UnavailableError, match="did not answer"):
            client(f"http://{address}").request("POST", "/pods", body={})
        assert len(server.requests) == 1


def test_an_answer_has_so_many_bytes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpClient, "exchange", partialmethod(HttpClient.exchange, max_bytes=1))
    with (
        scripted(CLOSING) as (_, address),
        pytest.raises(UnavailableError, match="the answer has more than 1 bytes"),
    ):
        client(f"http://{address}").request("POST", "/pods", body={})


def test_what_is_sent() -> None:
    """The address may have a path of its own; a line break in a token makes no header."""
    with scripted(LENGTH) as (server, address):
        host = f"http://{address}/clusters/c"
        api = client(host, api_key={"authorization": "Bearer secret\n"})
        assert api.request("POST", "/pods", query={"timeout": "5s"}, body={"a": "é"}).ok
        with pytest.raises(ValueError, match="line break"):
            client(host, api_key={"authorization": "Bearer a\r\nX-Evil: b"}).request("POST", "/pods", body={})
        ((_, request),) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first == "POST /clusters/c/pods?timeout=5s HTTP/1.1"
    assert {line.partition(":")[0]: line.partition(": ")[2] for line in headers} == {
        "Host": address,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": api.options.user_agent,
        "Content-Type": "application/json",
        "authorization": "Bearer secret",
        "Content-Length": "10",
    }
    assert body == '{"a":"é"}'.encode()


@pytest.mark.parametrize(("seconds", "second"), [(math.inf, b"Bearer old"), (0.0, b"Bearer new")])
def test_credentials_are_fresh_for_a_while(
    seconds: float, second: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CREDENTIALS_SECONDS", seconds)
    with scripted(LENGTH) as (server, address):
        token = {"authorization": "Bearer old"}
        api = client(f"http://{address}", api_key=token)
        api.request("GET", "/pods")
        token["authorization"] = "Bearer new"
        api.request("GET", "/pods")
        first, last = (request for _, request in server.requests)
    assert b"authorization: Bearer old\r\n" in first
    assert b"authorization: %s\r\n" % second in last


def test_through_a_proxy() -> None:
    with scripted(LENGTH) as (server, address):
        api = client("http://api.example:8080", proxy=f"http://{address}")
        assert api.request("GET", "/pods").ok
        ((_, request),) = server.requests
    assert request.startswith(b"GET http://api.example:8080/pods HTTP/1.1\r\nHost: api.example:8080\r\n")


def test_over_tls(tmp_path: Path) -> None:
    """Also through a proxy; a server without a trusted certificate gets nothing."""
    authority = Authority(tmp_path)
    pair = authority.issue("api")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    with scripted(LENGTH, tls=tls) as (server, address), relaying(address) as (seen, proxy):
        for settings in ({}, {"proxy": f"http://{proxy}"}):
            api = client(f"https://{address}", ssl_ca_cert=str(authority.certificate), **settings)
            for _ in range(2):
                assert api.request("POST", "/pods", body={}).status == 201
        assert [number for number, _ in server.requests] == [1, 1, 2, 2]
        assert seen[0].startswith(f"CONNECT {address} HTTP/1.".encode())
        with pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            client(f"https://{address}").request("POST", "/pods", body={})


@pytest.mark.parametrize(
    ("settings", "answers"),
    [
        pytest.param({"ssl_ca_cert": "ROOT"}, False, id="who vouches for it is not told"),
        pytest.param({"ssl_ca_cert": "INTERMEDIATE"}, True, id="an authority that is no root"),
        pytest.param({"verify_ssl": False}, True, id="not verified"),
        pytest.param({"ssl_ca_cert": "INTERMEDIATE", "tls_server_name": "other"}, False, id="another name"),
    ],
)
def test_which_servers_it_trusts(settings: dict[str, Any], answers: bool, tmp_path: Path) -> None:
    """As Go does, and so kube-scheduler."""
    root = Authority(tmp_path / "root")
    intermediate = root.intermediate(tmp_path / "intermediate")
    files = {"ROOT": str(root.certificate), "INTERMEDIATE": str(intermediate.certificate)}
    pair = intermediate.issue("api")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    with scripted(LENGTH, tls=tls) as (_, address):
        api = client(f"https://{address}", **{name: files.get(at, at) for name, at in settings.items()})
        with nullcontext() if answers else pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            assert api.request("POST", "/pods", body={}).status == 201


@contextmanager
def relaying(target: str) -> Iterator[tuple[list[bytes], str]]:
    """Yield a proxy that passes its first connection on after CONNECT, and its requests."""
    seen: list[bytes] = []

    def relay(listener: socket.socket) -> None:
        client_side, _ = listener.accept()
        seen.append(client_side.recv(65536))
        host, port = target.split(":")
        server_side = socket.create_connection((host, int(port)))
        client_side.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for source, sink in ((client_side, server_side), (server_side, client_side)):
            threading.Thread(target=_pass, args=(source, sink), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=relay, args=(listener,), daemon=True).start()
        yield seen, f"127.0.0.1:{listener.getsockname()[1]}"


def _pass(source: socket.socket, sink: socket.socket) -> None:
    with source, sink, suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
