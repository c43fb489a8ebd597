"""The HTTP client by itself: deadlines and proxies. tests/cluster has answers and requests."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from mooring.http_client.answers import ProtocolError
from mooring.http_client.client import HttpClient
from mooring.http_client.origin import Origin, head_of, message_of
from mooring.http_client.proxies import proxy_for
from tests.certificates import Authority, trusting
from tests.cluster.test_whole_answers import LENGTH, scripted


def asking(origin: Origin, method: str = "GET") -> bytes:
    return message_of(method, origin.target("/pods"), head_of(origin.headers), None)


@pytest.mark.parametrize(
    ("url", "no_proxy", "proxy"),
    [
        pytest.param("http://e.example:1", "", "http://p:1", id="named"),
        pytest.param("https://e.example", "", "http://s:1", id="by scheme, without its own"),
        pytest.param("http://127.0.0.2", "", "", id="this host"),
        pytest.param("http://localhost", "", "", id="this host by name"),
        pytest.param("http://e.example", "other, E.example", "", id="by name"),
        pytest.param("http://e.example", ".example", "", id="by domain"),
        pytest.param("http://eexample", "example", "http://p:1", id="not a domain"),
        pytest.param("http://10.1.2.3", "10.0.0.0/8", "", id="by network"),
        pytest.param("http://11.1.2.3", "10.0.0.0/8,x/y", "http://p:1", id="by another network"),
        pytest.param("http://e.example", "*", "", id="all"),
    ],
)
def test_proxies(url: str, no_proxy: str, proxy: str) -> None:
    environment = {"HTTP_PROXY": "http://p:1", "https_proxy": "s:1", "NO_PROXY": no_proxy}
    assert proxy_for(url, environment) == proxy


@pytest.mark.parametrize(
    "url", ["ftp://e.example", "http://", "http://e.example:x", "http://e.example:99999"]
)
def test_urls_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|ort"):
        Origin(url)


def test_a_name_that_no_host_can_have() -> None:
    with pytest.raises(OSError, match="is not the name of a host"):
        Origin(f"http://{'x' * 64}.example").connect(1.0)


def test_the_time_is_for_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slowly its parts come."""
    times = iter([0.0, 1.0, 2.0])
    clock = SimpleNamespace(monotonic=lambda: next(times, 6.0))
    with scripted(LENGTH[:5]) as (_, address):
        origin = Origin(f"http://{address}")
        client = HttpClient(origin, 1)
        monkeypatch.setattr("mooring.http_client.client.time", clock)
        with pytest.raises(TimeoutError, match="timed out"):
            client.exchange(asking(origin), 5.0)


def test_a_proxy_gets_the_credentials_in_its_url() -> None:
    with scripted(LENGTH) as (server, address):
        origin = Origin("http://e.example/v1", proxy=f"http://me:s%40y@{address}")
        assert HttpClient(origin, 0).exchange(asking(origin), 30.0).status == 201
        ((_, request),) = server.requests
    assert request.startswith(b"GET http://e.example/v1/pods HTTP/1.1\r\nHost: e.example\r\n")
    assert b"Proxy-Authorization: Basic bWU6c0B5\r\n" in request


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP 407", id="rejected"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nearly", "before TLS", id="more than an answer"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP", id="another protocol"),
    ],
)
def test_tunnels_that_are_not_opened(answer: bytes, error: str) -> None:
    with scripted(answer) as (_, address), pytest.raises(OSError, match=error):
        Origin("https://e.example", proxy=f"http://{address}").connect(30.0)


def test_tls_inside_the_tls_to_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    pair = authority.issue("both")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.certificate, pair.key)
    with scripted(LENGTH, tls=tls) as (server, address), passing_on(address, tls) as proxy:
        origin = Origin(
            f"https://{address}", lambda: trusting(authority.certificate), proxy=f"https://{proxy}"
        )
        client = HttpClient(origin, 1)
        for _ in range(2):
            assert client.exchange(asking(origin), 30.0).body == b"{}"
        assert [number for number, _ in server.requests] == [1, 1]
        connection = client.open(asking(origin), 30.0, 30.0)
        connection.interrupt()
        connection.socket.close()
        client.close()


def test_what_follows_an_answer_belongs_to_no_request() -> None:
    with scripted(LENGTH + b"more") as (_, address):
        origin = Origin(f"http://{address}")
        with pytest.raises(ProtocolError):
            HttpClient(origin, 1).exchange(asking(origin), 30.0)


@contextmanager
def passing_on(target: str, tls: ssl.SSLContext) -> Iterator[str]:
    """Yield a proxy with TLS that opens one tunnel."""

    def pass_on(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        host, _, port = target.partition(":")
        with (
            suppress(OSError),
            tls.wrap_socket(accepted, server_side=True) as client,
            socket.create_connection((host, int(port))) as server,
        ):
            assert client.recv(65536).startswith(b"CONNECT ")
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            other = {client: server, server: client}
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    other[one].sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=pass_on, args=(listener,))
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()
