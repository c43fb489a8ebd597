"""Sessions that are resumed and files that are replaced, with a server that says how it was met."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.api import ApiServer
from mooring.framework.errors import UnavailableError
from tests.certificates import Authority, Pair

from .test_exchanges import exchanged
from .test_whole_answers import CLOSING, client


class Server:
    """Answers one request of each connection, over TLS.

    Attributes:
        tls: For the connections from now on.
        met: For each answered connection, whether its session was resumed, and the name in its certificate.
    """

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext) -> None:
        self.tls = tls
        self.met: list[tuple[bool, str]] = []
        self._listener = listener

    def accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with accepted, suppress(OSError), self.tls.wrap_socket(accepted, server_side=True) as connected:
            if connected.recv(65536):
                self.met.append((bool(connected.session_reused), _common_name(connected)))
                connected.sendall(CLOSING)
                connected.recv(65536)


@contextmanager
def serving(tls: ssl.SSLContext) -> Iterator[tuple[Server, str]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener, tls)
        threading.Thread(target=server.accept, daemon=True).start()
        yield server, f"https://127.0.0.1:{listener.getsockname()[1]}"


def server_context(pair: Pair, clients: Authority | None = None, **settings: Any) -> ssl.SSLContext:
    """Return a server's context, which wants a certificate of ``clients`` if there are such."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients is not None:
        context.load_verify_locations(clients.certificate)
        context.verify_mode = ssl.CERT_REQUIRED
    for name, value in settings.items():
        setattr(context, name, value)
    return context


def _common_name(connected: ssl.SSLSocket) -> str:
    found: Any = connected.getpeercert() or {}
    return str(dict(pair for (pair,) in found.get("subject", ())).get("commonName", ""))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def ask(api: ApiServer) -> None:
    """One request over a connection of its own."""
    assert api.request("POST", "/pods", body={}).status == 201


@pytest.mark.parametrize(
    ("settings", "resumed"),
    [
        pytest.param({}, [False, True, True], id="TLS 1.3"),
        pytest.param({"maximum_version": ssl.TLSVersion.TLSv1_2}, [False, True, True], id="TLS 1.2"),
        pytest.param({"num_tickets": 0}, [False, False, False], id="without tickets"),
    ],
)
def test_further_connections_resume_a_session(
    settings: dict[str, Any], resumed: list[bool], authority: Authority
) -> None:
    with serving(server_context(authority.issue("api"), **settings)) as (server, address):
        api = client(address, ssl_ca_cert=str(authority.certificate))
        for _ in range(3):
            ask(api)
        assert [one for one, _ in server.met] == resumed


def test_connections_for_bindings_resume_it(authority: Authority) -> None:
    with serving(server_context(authority.issue("api"))) as (server, address):
        api = client(address, ssl_ca_cert=str(authority.certificate))
        ask(api)
        for _ in range(2):
            assert api.open_ahead()
            exchanged(api)
        assert [one for one, _ in server.met] == [False, True, True]
        api.close()


def test_a_server_that_has_begun_anew_knows_no_session(authority: Authority) -> None:
    pair = authority.issue("api")
    with serving(server_context(pair)) as (server, address):
        api = client(address, ssl_ca_cert=str(authority.certificate))
        for _ in range(2):
            ask(api)
        server.tls = server_context(pair)
        for _ in range(3):
            ask(api)
        assert [one for one, _ in server.met] == [False, True, False, True, True]


def test_who_resumes_a_session_is_known(authority: Authority) -> None:
    us = authority.issue("us")
    files = {"cert_file": str(us.certificate), "key_file": str(us.key)}
    with serving(server_context(authority.issue("api"), authority)) as (server, address):
        api = client(address, ssl_ca_cert=str(authority.certificate), **files)
        for _ in range(2):
            ask(api)
        assert server.met == [(False, "us"), (True, "us")]


def _overwritten(file: Path, source: Path) -> None:
    file.write_bytes(source.read_bytes())


def _renamed(file: Path, source: Path) -> None:
    Path(shutil.copy(source, file.with_suffix(".new"))).rename(file)


def _linked(file: Path, source: Path) -> None:
    file.unlink()
    file.symlink_to(source)


REPLACEMENTS = pytest.mark.parametrize(
    "replace",
    [
        pytest.param(_overwritten, id="overwritten"),
        pytest.param(_renamed, id="another one gets its name"),
        pytest.param(_linked, id="a link to another, as in a mounted Secret"),
    ],
)


@REPLACEMENTS
def test_our_certificate_is_replaced(
    replace: Callable[[Path, Path], None], authority: Authority, tmp_path: Path
) -> None:
    """A session says who began it: another certificate begins another."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    with serving(server_context(authority.issue("api"), authority)) as (server, address):
        files = {"cert_file": str(certificate), "key_file": str(key)}
        api = client(address, ssl_ca_cert=str(authority.certificate), **files)
        for name in ("first", "second"):
            pair = authority.issue(name)
            for file, source in ((certificate, pair.certificate), (key, pair.key)):
                file.touch()
                replace(file, source)
            for _ in range(2):
                ask(api)
        assert server.met == [(False, "first"), (True, "first"), (False, "second"), (True, "second")]


def test_half_of_a_pair_is_replaced(authority: Authority, tmp_path: Path) -> None:
    """The pair in use stays until the other half fits."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    first, second = authority.issue("first"), authority.issue("second")
    with serving(server_context(authority.issue("api"), authority)) as (server, address):
        files = {"cert_file": str(certificate), "key_file": str(key)}
        api = client(address, ssl_ca_cert=str(authority.certificate), **files)
        for source, file in (
            (first.certificate, certificate),
            (first.key, key),
            (second.key, key),
            (second.certificate, certificate),
        ):
            shutil.copy(source, file)
            if key.exists():
                ask(api)
        assert [name for _, name in server.met] == ["first", "first", "second"]


@REPLACEMENTS
def test_the_authority_is_replaced(
    replace: Callable[[Path, Path], None], authority: Authority, tmp_path: Path
) -> None:
    """No server without a certificate of the new one gets a request, whatever was verified earlier."""
    other, trusted = Authority(tmp_path / "other"), tmp_path / "trusted.crt"
    shutil.copy(authority.certificate, trusted)
    with serving(server_context(authority.issue("api"))) as (server, address):
        api = client(address, ssl_ca_cert=str(trusted))
        ask(api)
        replace(trusted, other.certificate)
        with pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(api)
        server.tls = server_context(other.issue("api"))
        ask(api)
        assert len(server.met) == 2


def test_files_that_cannot_be_used(authority: Authority, tmp_path: Path) -> None:
    """No password is requested; a file is used once it is valid."""
    us, encrypted, key = authority.issue("us"), tmp_path / "encrypted.key", tmp_path / "tls.key"
    subprocess.run(
        ["openssl", "pkey", "-in", us.key, "-aes256", "-passout", "pass:secret", "-out", encrypted],
        check=True,
        capture_output=True,
    )
    with serving(server_context(authority.issue("api"), authority)) as (server, address):
        files = {"cert_file": str(us.certificate), "key_file": str(key)}
        api = client(address, ssl_ca_cert=str(authority.certificate), **files)
        with pytest.raises(UnavailableError, match="No such file"):
            ask(api)
        shutil.copy(encrypted, key)
        with pytest.raises(UnavailableError, match="SSLError"):
            ask(api)
        shutil.copy(us.key, key)
        ask(api)
        assert server.met == [(False, "us")]
