"""Who calls through a door, from the certificate, token or intermediary to the server's verdict."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from mooring.documents import write_documents
from mooring.serving.certificates import TlsFiles
from mooring.serving.http.hosts import Hosts
from mooring.serving.http.server import HttpServer
from mooring.serving.http.tls import channel_credentials
from mooring.web.app import WebApp
from mooring.web.processes import Address
from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.certificates import Authority, Pair
from tests.cli.commands import Result, call, serving
from tests.extender.fakes import question
from tests.extender.test_cli import running
from tests.extender.test_tls import connected, post
from tests.fake_api_server import FakeApiServer
from tests.process import until
from tests.web.serving import Page

LONG = 20.0
Rules = Sequence[tuple[str, str]]


def policy(folder: Path, rules: Rules) -> Path:
    file = folder / "policy.yaml"
    written: list[dict[str, list[str]]] = [
        {"subjects": [subject], "roles": [role]} for subject, role in rules
    ]
    for rule in written:
        if rule["roles"] == ["impersonator"]:
            rule["impersonates"] = ["*"]
    file.write_text(
        write_documents({"apiVersion": "mooring.dev/v1", "kind": "AccessPolicy", "rules": written})
    )
    return file


def shown(authority: Authority, prefix: str = "tls") -> list[str]:
    pair = authority.issue("server")
    return [
        *(f"--{prefix}-cert-file={pair.certificate}", f"--{prefix}-private-key-file={pair.key}"),
        f"--tls-client-ca-file={authority.certificate}",
    ]


@contextmanager
def open_channel(address: str, authority: Authority, pair: Pair) -> Iterator[ClusterServiceStub]:
    files = TlsFiles(pair.certificate, pair.key, authority.certificate)
    with grpc.secure_channel(address, channel_credentials(files)) as channel:
        yield ClusterServiceStub(channel)


def code_of(call: Callable[[], object]) -> grpc.StatusCode:
    try:
        call()
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


@pytest.mark.slow
def test_the_adapter_passes_its_client_on(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    rules = [("cn:adapter", "impersonator"), ("user:kube-scheduler", "scheduler")]
    adapter = authority.issue("adapter")
    flags = (*shown(authority), f"--access-policy={policy(tmp_path, rules)}")
    with serving("--source", "sample", *flags) as server:
        own = authority.issue("adapter-server")
        listening = [
            *("--tls-cert-file", str(own.certificate), "--tls-private-key-file", str(own.key)),
            *("--client-ca-file", str(authority.certificate), "--server", server.address("grpc")),
            *("--server-ca-file", str(authority.certificate), "--server-cert-file", str(adapter.certificate)),
            *("--server-key-file", str(adapter.key)),
        ]

        def asked(name: str, *flags: str) -> str:
            with (
                running(*listening, *flags) as (_, url),
                connected(url, authority, authority.issue(name)) as client,
            ):
                status, body = post(client, "/filter", question().decode())
                assert status == 200
                error: str = json.loads(body).get("Error", "")
                return error

        assert asked("kube-scheduler", "--impersonate") == ""
        stranger = asked("stranger", "--impersonate")
        assert "the client (user:stranger, through cn:adapter) may not call Filter" in stranger
        assert "the client (cn:adapter) may not call Filter" in asked("kube-scheduler")


@contextmanager
def page(server: str, *, impersonate: bool) -> Iterator[Page]:
    app = WebApp([Address("own", server)], None, Hosts(()), "", impersonate=impersonate)
    listener = HttpServer(app, "127.0.0.1", 0)
    listener.start()
    try:
        yield Page(listener.port, server)
    finally:
        listener.stop()


@pytest.mark.parametrize(
    ("impersonate", "headers", "status"),
    [
        pytest.param(False, {}, 403, id="its own rights"),
        pytest.param(True, {}, 403, id="those of nobody"),
        pytest.param(False, {"Authorization": "Bearer good"}, 200, id="those of a token"),
        pytest.param(True, {"Authorization": "Bearer good"}, 200, id="a token before nobody"),
        pytest.param(True, {"Authorization": "Bearer bad"}, 401, id="a bad token"),
    ],
)
def test_the_page_passes_its_client_on(
    tmp_path: Path, impersonate: bool, headers: dict[str, str], status: int
) -> None:
    rules = [("group:system:authenticated", "impersonator"), ("user:jane", "reader")]
    with FakeApiServer() as fake:
        fake.people.tokens["good"] = "jane"
        kubeconfig = fake.kubeconfig(tmp_path / "config")
        flags = (f"--access-policy={policy(tmp_path, rules)}", "--token-audience=mooring")
        socket = f"unix:{tmp_path}/socket"
        source = f"kubernetes:{kubeconfig}"
        with (
            serving("--source", source, "--listen", socket, *flags),
            page(socket, impersonate=impersonate) as web,
        ):
            path = "/api/v1/mooring.v1.ClusterService/ListPods"
            until(lambda: web.ask("POST", path, {}, headers).status != 503, "the cluster to be read")
            assert web.ask("POST", path, {}, headers).status == status


@pytest.mark.slow
def test_a_revoked_client_is_rejected_at_once(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    revoked = tmp_path / "revoked"
    revoked.write_text("# none yet\n")
    with (
        serving("--source", "sample", *shown(authority), f"--revoked-clients={revoked}") as server,
        open_channel(server.address("grpc"), authority, authority.issue("lost")) as stub,
    ):
        request = cluster.GetClusterInfoRequest()

        def code() -> grpc.StatusCode:
            return code_of(lambda: stub.GetClusterInfo(request, timeout=LONG))

        assert code() is grpc.StatusCode.OK
        revoked.write_text("cn:lost\n")
        until(lambda: code() is grpc.StatusCode.UNAUTHENTICATED, "the file to be followed")


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    return lambda *words: call(capsys, "access", "check", *words)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(("cn:a", "Bind"), 0, "cn:a may call Bind, which needs the right bind: ", id="may"),
        pytest.param(
            ("cn:b", "Bind"), 1, "cn:b may not call Bind, which needs the right bind: no rule of ", id="no"
        ),
        pytest.param(
            ("user:b", "ListPods", "--group", "g"), 0, "which needs the right read: ", id="by a group"
        ),
        pytest.param(("cn:a", "Bnd"), 1, "'Bnd' is not a row of mooring access list", id="no method"),
        pytest.param(("a", "Bind"), 1, "'a' has no type; write cn:a", id="no type"),
    ],
)
def test_check_names_the_rule(
    ask: Callable[..., Result], tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    file = policy(tmp_path, [("cn:a", "binder"), ("group:g", "reader")])
    result = ask(*words, "--access-policy", str(file))
    assert (result.code, said in result.out + result.err) == (code, True), result.err
    if code == 0:
        assert f"{file}:" in result.out
