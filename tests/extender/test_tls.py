"""TLS of the adapter: who may bind, and certificates that change while it runs."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mooring.serving.certificates import TlsFiles
from mooring.serving.http import protocol
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import server_context, warn_of_strangers
from mooring_extender.app import ExtenderApp, Options
from tests.certificates import Authority, Pair, trusting
from tests.extender.fakes import FakeClient, Rules, grpc_server
from tests.extender.test_cli import running
from tests.process import until

BINDING = json.dumps({"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n1"})


@contextmanager
def connected(url: str, authority: Authority, pair: Pair) -> Iterator[http.client.HTTPSConnection]:
    context = trusting(authority.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    port = urlsplit(url).port
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    try:
        yield connection
    finally:
        connection.close()


def post(connection: http.client.HTTPSConnection, path: str, body: str) -> tuple[int, bytes]:
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def serving(shown: Pair, authority: Authority) -> list[str]:
    return [
        *("--tls-cert-file", str(shown.certificate), "--tls-private-key-file", str(shown.key)),
        *("--client-ca-file", str(authority.certificate)),
    ]


def test_only_named_clients_bind(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    flags = serving(authority.issue("adapter"), authority)
    with (
        grpc_server(Rules()) as address,
        running(*flags, "--allow-client", "kube-scheduler,spare", "--server", address) as (_, url),
    ):
        with connected(url, authority, authority.issue("kube-scheduler")) as known:
            assert post(known, "/bind", BINDING)[0] == 200
        with connected(url, authority, authority.issue("stranger")) as stranger:
            status, body = post(stranger, "/bind", BINDING)
            assert status == 403
            assert "(cn:stranger) may not call bind" in json.loads(body)["error"]
        with connected(url, authority, authority.issue("reader")) as reader:
            assert post(reader, "/filter", "{}")[0] == 200


def test_who_asked_for_a_binding_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    authority = Authority(tmp_path)
    flags = [*serving(authority.issue("adapter"), authority), "--allow-client", "cn:kube-scheduler", "--v=2"]
    with (
        grpc_server(Rules()) as address,
        running(*flags, "--server", address) as (_, url),
        connected(url, authority, authority.issue("kube-scheduler")) as known,
    ):
        assert post(known, "/bind", BINDING)[0] == 200
    assert "bind client=cn:kube-scheduler pod=default/p uid=u node=n1\n" in capfd.readouterr().err


def test_names_need_an_authority(capsys: pytest.CaptureFixture[str]) -> None:
    from mooring_extender.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["--listen", "127.0.0.1:0", "--allow-client", "kube-scheduler"])
    assert ended.value.code == 2
    assert "--allow-client needs --client-ca-file" in capsys.readouterr().err


def test_new_connections_get_the_new_certificate_and_the_new_authority(tmp_path: Path) -> None:
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    shown, authority = Pair(tmp_path / "tls.crt", tmp_path / "tls.key"), tmp_path / "ca.crt"

    def rotate(to: Authority) -> None:
        pair = to.issue("adapter")
        for source, target in ((pair.key, shown.key), (pair.certificate, shown.certificate)):
            target.write_bytes(source.read_bytes())
        authority.write_bytes(to.certificate.read_bytes())

    rotate(old)
    flags = [
        *("--tls-cert-file", str(shown.certificate), "--tls-private-key-file", str(shown.key)),
        *("--client-ca-file", str(authority)),
    ]
    with running(*flags) as (_, url):

        def livez(server: Authority, client: Authority) -> int:
            with connected(url, server, client.issue("client")) as connection:
                connection.request("GET", "/livez")
                return connection.getresponse().status

        assert livez(old, old) == 200
        shown.certificate.write_text("half a rotation")
        assert livez(old, old) == 200
        rotate(new)
        assert livez(new, new) == 200
        for server, client in ((old, new), (new, old)):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                livez(server, client)


@pytest.mark.parametrize(
    "version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda one: one.name
)
def test_no_session_outlives_the_authority_that_let_it_in(tmp_path: Path, version: ssl.TLSVersion) -> None:
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    authority, own, pair = tmp_path / "ca.crt", old.issue("adapter"), old.issue("kube-scheduler")
    authority.write_bytes(old.certificate.read_bytes())
    context = trusting(old.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    context.minimum_version = context.maximum_version = version

    def status(url: str, session: ssl.SSLSession | None) -> tuple[bytes, ssl.SSLSession | None]:
        address = ("127.0.0.1", urlsplit(url).port)
        with (
            socket.create_connection(address, timeout=30) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as connection,
        ):
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            return connection.recv(12), connection.session

    flags = [
        *("--tls-cert-file", str(own.certificate), "--tls-private-key-file", str(own.key)),
        *("--client-ca-file", str(authority)),
    ]
    with running(*flags) as (_, url):
        answered, session = status(url, None)
        assert answered == b"HTTP/1.1 200"
        authority.write_bytes(new.certificate.read_bytes())
        try:
            answered, _ = status(url, session)
        except (ssl.SSLError, ConnectionError):
            answered = b""
        assert answered == b""


def test_a_silent_handshake_has_the_time_of_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "RECEIVE_SECONDS", 0.2)
    own = Authority(tmp_path).issue("adapter")
    tls = server_context(TlsFiles(own.certificate, own.key))
    server = HttpServer(ExtenderApp(FakeClient, Options()), "127.0.0.1", 0, tls)
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as silent:
            assert silent.recv(1) == b""
    finally:
        server.stop()


def test_the_adapter_shows_a_certificate_to_mooring(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("adapter")
    trusting = [
        *("--server-ca-file", str(authority.certificate)),
        *("--server-cert-file", str(own.certificate), "--server-key-file", str(own.key)),
    ]
    with (
        grpc_server(Rules(), authority=authority) as address,
        running("--server", address, *trusting) as (_, url),
    ):

        def readyz() -> int:
            with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
                connection.request("GET", "/readyz")
                return connection.getresponse().status

        # It has a second each time, which the first handshake may need on a busy machine.
        until(lambda: readyz() == 200, "readiness")


def test_an_unusable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot serve HTTPS with .*none\.pem"):
        server_context(TlsFiles(tmp_path / "none.pem"))


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        pytest.param(
            None, "--insecure-listen: every client that reaches 0.0.0.0:1 may call", id="plain text"
        ),
        pytest.param(TlsFiles(Path("c"), Path("k")), "TLS without --client-ca-file", id="no authority"),
        pytest.param(TlsFiles(Path("c"), Path("k"), Path("a")), "", id="clients have names"),
    ],
)
def test_an_address_that_strangers_reach_is_warned_of(
    caplog: pytest.LogCaptureFixture, files: TlsFiles | None, warning: str
) -> None:
    warn_of_strangers("0.0.0.0:1", files, "--client-ca-file")
    assert warning in caplog.text
    assert len(caplog.records) == bool(warning)
