"""Listening, TLS, options that gRPC would ignore in silence, reflection, drain."""

import socket
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (  # type: ignore[import-untyped]
    ProtoReflectionDescriptorDatabase,
)

from mooring.serving.addresses import ListenError, is_local
from mooring.serving.certificates import TlsFiles
from mooring.serving.listeners import listen
from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import cluster_service_pb2_grpc as pb_grpc
from tests.process import until
from tests.service.frames import MAX_CONCURRENT_STREAMS, connect, settings
from tests.service.harness import LONG, SERVICE, blocked, failed, running

TESTDATA = Path(__file__).parent / "testdata"
CERTIFICATE = TESTDATA / "localhost.crt"
FILES = TlsFiles(CERTIFICATE, TESTDATA / "localhost.key")


@pytest.mark.parametrize("option", ["listen", "health_listen", "metrics_listen"])
def test_a_taken_port_is_an_error_that_names_it(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        change: dict[str, Any] = {option: address}
        message = f"cannot listen on {address}: Address already in use"
        with pytest.raises(ListenError, match=message), running(**change):
            pass


def test_a_second_server_on_the_same_port_is_rejected() -> None:
    with (
        running() as first,
        pytest.raises(ListenError, match=first.server.address),
        running(listen=first.server.address),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "message"),
    [
        pytest.param("0.0.0.0:0", "can be reached from other machines", id="every address"),
        pytest.param("[::]:0", "can be reached from other machines", id="every IPv6 address"),
        pytest.param("example.invalid:80", "can be reached from other machines", id="a name"),
        pytest.param("127.0.0.1", "is not an address", id="no port"),
        pytest.param("127.0.0.1:http", "is not an address", id="a port by name"),
        pytest.param("127.0.0.1:65536", "is not an address", id="a port too high"),
        pytest.param(":50051", "is not an address", id="no host"),
        pytest.param("unix:/no/such/folder/socket", "there is no directory", id="no directory"),
    ],
)
def test_an_address_is_rejected(address: str, message: str) -> None:
    with pytest.raises(ListenError, match=message), running(listen=address):
        pass


@pytest.mark.parametrize(
    ("address", "local"),
    [
        pytest.param("127.8.8.8:1", True, id="loopback"),
        pytest.param("[::1]:1", True, id="IPv6 loopback"),
        pytest.param("localhost:1", True, id="localhost"),
        pytest.param("unix:socket", True, id="unix socket"),
        pytest.param("10.0.0.1:1", False, id="a private network"),
    ],
)
def test_local_addresses_are_known(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_plain_text_for_others_can_be_allowed() -> None:
    with running(listen="0.0.0.0:0", insecure_listen=True) as mooring:
        port = mooring.server.address.rpartition(":")[2]
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = pb_grpc.ClusterServiceStub(channel)
            assert stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG).synced


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        pytest.param(
            {"insecure_listen": True}, "--insecure-listen: every client that reaches", id="plain text"
        ),
        pytest.param(
            {"insecure_listen": True, "insecure_flag": "--x"},
            "--x: every client that reaches",
            id="another flag",
        ),
        pytest.param({"tls": FILES}, "TLS without --tls-client-ca-file", id="no authority"),
        pytest.param({"tls": replace(FILES, authority=CERTIFICATE)}, "", id="clients have names"),
        pytest.param({"listen": "127.0.0.1:0", "insecure_listen": True}, "", id="loopback"),
    ],
)
def test_an_address_that_strangers_reach_is_warned_of(
    caplog: pytest.LogCaptureFixture, options: dict[str, Any], warning: str
) -> None:
    with running(**{"listen": "0.0.0.0:0", **options}):
        pass
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == bool(warning)
    assert warning in "".join(told)


def test_a_unix_socket_serves_and_is_not_taken_from_its_owner(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'mooring.sock'}"
    with running(listen=address) as mooring:
        assert mooring.server.address == address
        assert mooring.ask().synced
        with pytest.raises(ListenError, match="the socket is in use"), running(listen=address):
            pass
        assert mooring.ask().synced


def test_a_unix_socket_is_its_owners_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "made" / "mooring.sock"
    with running(listen=f"unix:{path}") as mooring:
        assert mooring.ask().synced
        modes = [stat.S_IMODE(made.stat().st_mode) for made in (path, path.parent)]
        assert modes == [0o600, 0o700]
    until(lambda: not path.exists())


@pytest.mark.parametrize(
    ("mode", "taken"),
    [
        pytest.param(0o777, False, id="all may replace the socket"),
        pytest.param(0o1777, True, id="all may add files, as in /tmp"),
        pytest.param(0o755, True, id="one may write"),
    ],
)
def test_a_socket_is_not_put_where_anyone_could_replace_it(tmp_path: Path, mode: int, taken: bool) -> None:
    folder = tmp_path / "sockets"
    folder.mkdir()
    folder.chmod(mode)
    allowed = nullcontext() if taken else pytest.raises(ListenError, match=f"all may write to {folder}")
    with allowed, running(listen=f"unix:{folder}/mooring.sock") as mooring:
        assert mooring.ask().synced


def test_a_socket_left_behind_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "mooring.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with running(listen=f"unix:{path}") as mooring:
        assert mooring.ask().synced


def test_a_file_is_not_replaced_by_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("kept")
    with pytest.raises(ListenError, match="is not a socket"), running(listen=f"unix:{path}"):
        pass
    assert path.read_text() == "kept"


def over_tls(address: str, certificate: bytes) -> pb.GetClusterInfoResponse:
    credentials = grpc.ssl_channel_credentials(certificate)
    with grpc.secure_channel(address, credentials) as channel:
        return pb_grpc.ClusterServiceStub(channel).GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG)


def test_tls_serves_and_rejects_plain_text() -> None:
    with running(tls=FILES) as mooring:
        assert over_tls(mooring.server.address, CERTIFICATE.read_bytes()).synced
        assert mooring.fails(timeout=5).code is grpc.StatusCode.UNAVAILABLE


def test_client_certificates_are_required_where_an_authority_is_given() -> None:
    with running(tls=TlsFiles(FILES.certificate, FILES.key, authority=CERTIFICATE)) as mooring:
        failure = failed(lambda: over_tls(mooring.server.address, CERTIFICATE.read_bytes()))
    assert failure.code is grpc.StatusCode.UNAVAILABLE


def test_a_plain_text_client_of_a_tls_port_has_no_detail_and_the_log_explains_its_handshake(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """gRPC's TLS library ends the connection before any code of ours sees it."""
    with caplog.at_level("INFO"), running(tls=FILES) as mooring:
        failure = mooring.fails()
        address = mooring.server.address
    assert (failure.code, failure.told) == (grpc.StatusCode.UNAVAILABLE, None)
    said = "WRONG_VERSION_NUMBER"
    assert [r.getMessage().startswith(address) for r in caplog.records if said in r.getMessage()] == [True]
    assert said in capfd.readouterr().err


def test_a_broken_rotation_keeps_the_certificate_in_use(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(CERTIFICATE.read_bytes())
    key.write_bytes((TESTDATA / "localhost.key").read_bytes())
    with running(tls=TlsFiles(certificate, key)) as mooring:
        assert over_tls(mooring.server.address, CERTIFICATE.read_bytes()).synced
        key.unlink()
        assert over_tls(mooring.server.address, CERTIFICATE.read_bytes()).synced


def test_big_messages_pass() -> None:
    def big(_: grpc.ServicerContext) -> pb.GetClusterInfoResponse:
        return pb.GetClusterInfoResponse(kube_version="x" * (5 * 2**20))

    unlimited = [("grpc.max_receive_message_length", -1)]
    with running(big) as mooring, grpc.insecure_channel(mooring.server.address, unlimited) as channel:
        stub = pb_grpc.ClusterServiceStub(channel)
        request = pb.PushObjectsRequest(source="x" * (5 * 2**20))
        assert len(stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG).kube_version) == 5 * 2**20
        # It arrives, and only then is found to be unimplemented.
        assert failed(lambda: stub.PushObjects(request, timeout=LONG)).code is grpc.StatusCode.UNIMPLEMENTED


def test_streams_per_connection_are_limited() -> None:
    with running() as mooring, connect(mooring.server.address) as connection:
        assert settings(connection)[MAX_CONCURRENT_STREAMS] == 1024


def test_connections_are_limited_so_that_files_are_left_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "file_limit", lambda: 64)
    with running() as mooring, ExitStack() as attackers:
        assert mooring.ask().synced
        host, _, port = mooring.server.address.rpartition(":")
        silent = [attackers.enter_context(socket.create_connection((host, int(port)))) for _ in range(60)]
        until(lambda: closed(silent[-1]))
        assert not closed(silent[0]), "it was there before it was one too many"
        assert mooring.ask().synced
        with grpc.insecure_channel(mooring.server.health_address) as channel:
            request = health_pb2.HealthCheckRequest()
            assert health_pb2_grpc.HealthStub(channel).Check(request, timeout=LONG).status


def closed(connection: socket.socket) -> bool:
    """Return whether the other side has closed; it may have sent something before."""
    connection.settimeout(0)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def listed(mooring_address: str, compression: grpc.Compression | None = None) -> list[str]:
    with grpc.insecure_channel(mooring_address, compression=compression) as channel:
        return list(ProtoReflectionDescriptorDatabase(channel).get_services())


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="loopback"),
        pytest.param({"listen": "0.0.0.0:0", "insecure_listen": True, "reflection": True}, id="asked for"),
    ],
)
def test_reflection_is_offered(options: dict[str, Any]) -> None:
    with running(**options) as mooring:
        assert SERVICE.full_name in listed(mooring.server.address)


def test_reflection_knows_the_types_of_an_errors_details() -> None:
    with running() as mooring:
        failure = failed(lambda: mooring.stub.PushObjects(pb.PushObjectsRequest(), timeout=LONG))
        with grpc.insecure_channel(mooring.server.address) as channel:
            pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
            for detail in failure.told, failure.info:
                name = detail.DESCRIPTOR.full_name
                found = GetMessageClass(pool.FindMessageTypeByName(name))
                assert str(found.FromString(detail.SerializeToString())) == str(detail)


def test_reflection_is_off_where_others_can_connect() -> None:
    with running(listen="0.0.0.0:0", insecure_listen=True) as mooring:
        assert failed(lambda: listed(mooring.server.address)).code is grpc.StatusCode.UNIMPLEMENTED


def test_drain_ends_readiness_first_and_lets_running_calls_finish() -> None:
    with (
        blocked() as (answer, release),
        running(answer, drain_delay=LONG, stop_grace=LONG) as mooring,
        ThreadPoolExecutor(3) as threads,
    ):
        running_call = threads.submit(mooring.ask)
        until(lambda: mooring.value("mooring_inflight_calls") == 1)
        drained = threads.submit(mooring.server.drain)
        until(lambda: not mooring.server.ready())
        # Not ready, but a client that has not noticed yet is still served.
        late_call = threads.submit(mooring.ask)
        until(lambda: mooring.value("mooring_inflight_calls") == 2)
        mooring.server._ended.set()
        until(rejected(mooring.fails))
        release.set()
        assert running_call.result() is not None
        assert late_call.result() is not None
        drained.result(LONG)


def rejected(call: Callable[[float], object]) -> Callable[[], bool]:
    def condition() -> bool:
        return call(0.5).code is grpc.StatusCode.UNAVAILABLE  # type: ignore[attr-defined]

    return condition


def test_stop_can_be_repeated() -> None:
    with running() as mooring:
        mooring.server.stop()
        mooring.server.stop()
        assert mooring.fails(timeout=2).code is grpc.StatusCode.UNAVAILABLE


def test_a_head_passes_up_to_8_kb_and_never_above() -> None:
    """By itself gRPC rejects heads of 8 to 16 kB at random."""
    with running() as mooring:

        def ask(size: int) -> pb.GetClusterInfoResponse:
            metadata = (("x-long", "y" * size),)
            return mooring.stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=LONG, metadata=metadata)

        for _ in range(20):
            assert ask(6_000).synced
            assert failed(lambda: ask(9_000)).code is grpc.StatusCode.RESOURCE_EXHAUSTED
