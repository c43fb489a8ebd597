"""Who may call what: names in client certificates, by listener and by call."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.framework.errors import PermissionDeniedError
from mooring.service.calls.access import check_access
from mooring.service.calls.namespaces import no_pod
from mooring.serving.access.access import Access
from mooring.serving.access.clients import Client
from mooring.serving.access.roles import METHODS as RIGHTS
from mooring.serving.access.roles import Right
from mooring.serving.calls import listener
from mooring.serving.calls.identity import certified
from mooring.serving.certificates import TlsFiles
from mooring_client.v1 import (
    cluster_service_pb2,
    decision_service_pb2,
    plugin_service_pb2,
    simulation_service_pb2,
)
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2 import GetClusterInfoRequest, PushObjectsRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.certificates import Authority, Pair, certificate
from tests.process import until
from tests.service.harness import LONG, failed, running

FILES = (cluster_service_pb2, plugin_service_pb2, pb, simulation_service_pb2, decision_service_pb2)
METHODS = [
    f"/{service.full_name}/{method.name}"
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
SCHEDULE = "/mooring.v1.SchedulingService/Schedule"
SCHEDULES = {SCHEDULE: pb.ScheduleRequest, f"{SCHEDULE}Groups": pb.ScheduleGroupsRequest}
CHANGING = {
    "/mooring.v1.SchedulingService/Bind",
    "/mooring.v1.SchedulingService/Reserve",
    "/mooring.v1.SchedulingService/Unreserve",
    "/mooring.v1.SchedulingService/UnreserveMany",
    "/mooring.v1.ClusterService/PushObjects",
    "/mooring.v1.ClusterService/RemoveSource",
}


def shown(*names: str) -> Client:
    """Return the client whose certificate has these names; none without a certificate."""
    return certified(certificate(*names)) if names else Client(peer="ipv4:192.0.2.1:1")


def passes(access: Access, method: str, client: Client, request: Any = None) -> bool:
    try:
        check_access(access, method, request or pb.ScheduleRequest(), client, no_pod)
    except PermissionDeniedError:
        return False
    return True


def test_every_call_has_a_rule() -> None:
    assert {method.partition(" ")[0] for method in RIGHTS if method.startswith("/mooring.v1.")} == set(
        METHODS
    )


NAMES = ("kube-scheduler", "spiffe://a/b")
CHANGES = (Right.RESERVE, Right.BIND, Right.PUSH)
NOTHING, STATE, CLUSTER = Right(0), Right.RESERVE | Right.PUSH, Right.RESERVE | Right.BIND | Right.PUSH
GUARDED = Access.at("0.0.0.0:50051", NAMES)


@pytest.mark.parametrize(
    ("access", "may"),
    [
        pytest.param(Access.at("10.0.0.1:1"), NOTHING, id="others can connect"),
        pytest.param(Access.at("[::]:1", insecure_binding=True), NOTHING, id="others, and the flag"),
        pytest.param(Access.at("127.0.0.1:1"), STATE, id="loopback"),
        pytest.param(Access.at("[::1]:1"), STATE, id="loopback of IPv6"),
        pytest.param(Access.at("localhost:1", insecure_binding=True), CLUSTER, id="the flag"),
        pytest.param(replace(Access.at("localhost:1"), binds=False), CLUSTER, id="no API server"),
        pytest.param(Access.at("unix:/run/mooring.sock"), CLUSTER, id="unix socket"),
        pytest.param(Access.at("localhost:1", NAMES, insecure_binding=True), NOTHING, id="names"),
        pytest.param(Access.at("unix:/run/mooring.sock", NAMES), NOTHING, id="names at a socket"),
        pytest.param(Access(read_only=True), NOTHING, id="questions alone"),
    ],
)
def test_what_a_client_without_a_certificate_may_change(access: Access, may: Right) -> None:
    assert [right for right in CHANGES if not access.rejection("Call", right, Client())] == list(may)


def test_binding_without_a_certificate_is_warned_of_where_it_is_allowed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for address in ("127.0.0.1:1", "127.0.0.1:2", "10.0.0.1:1", "unix:socket"):
        Access.at(address, insecure_binding=True)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(" may bind")[0] for text in told] == [
        f"--insecure-binding: any program that reaches 127.0.0.1:{port}" for port in (1, 2)
    ]


@pytest.mark.parametrize("method", METHODS)
def test_where_others_can_connect_only_named_clients_change_something(method: str) -> None:
    reads = method not in CHANGING
    assert passes(GUARDED, method, shown()) is reads
    assert passes(GUARDED, method, shown("cn:stranger", "dns:of.stranger")) is reads
    assert passes(GUARDED, method, shown("cn:kube-scheduler"))
    assert passes(GUARDED, method, shown("cn:another", "uri:spiffe://a/b"))
    assert passes(Access(), method, shown())


@pytest.mark.parametrize(
    ("mode", "changes"),
    [
        pytest.param(pb.COMMIT_MODE_UNSPECIFIED, False, id="unspecified"),
        pytest.param(pb.COMMIT_MODE_DRY_RUN, False, id="dry run"),
        pytest.param(pb.COMMIT_MODE_OBSERVE, False, id="observe"),
        pytest.param(pb.COMMIT_MODE_RESERVE, True, id="reserve"),
        pytest.param(pb.COMMIT_MODE_BIND, True, id="bind"),
        pytest.param(77, True, id="a mode of a later version"),
    ],
)
@pytest.mark.parametrize("method", SCHEDULES)
def test_schedule_changes_something_unless_it_is_a_dry_run(
    method: str, mode: pb.CommitMode.ValueType, changes: bool
) -> None:
    request = SCHEDULES[method](commit_mode=mode)
    assert passes(GUARDED, method, shown(), request) is not changes
    assert passes(GUARDED, method, shown("cn:kube-scheduler"), request)


def test_a_call_without_a_row_is_nobodys() -> None:
    assert not passes(GUARDED, "/mooring.v1.SchedulingService/Later", shown("cn:kube-scheduler"))


def as_client(address: str, authority: Authority, pair: Pair) -> grpc.Channel:
    return grpc.secure_channel(
        address,
        grpc.ssl_channel_credentials(
            authority.certificate.read_bytes(), pair.key.read_bytes(), pair.certificate.read_bytes()
        ),
    )


def test_names_are_read_from_verified_certificates(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.issue("server")
    files = TlsFiles(shown.certificate, shown.key, authority=authority.certificate)
    with running(tls=files, allow_clients=frozenset({"pusher", "pusher.example"})) as mooring:
        address = mooring.server.address

        def push(pair: Pair) -> grpc.StatusCode:
            with as_client(address, authority, pair) as channel:
                stub = ClusterServiceStub(channel)
                assert stub.GetClusterInfo(GetClusterInfoRequest(), timeout=LONG).synced
                return failed(lambda: stub.PushObjects(PushObjectsRequest(), timeout=LONG)).code

        # The servicer of these tests has no PushObjects: UNIMPLEMENTED means that the call got through.
        assert push(authority.issue("pusher")) is grpc.StatusCode.UNIMPLEMENTED
        assert push(authority.issue("other", "DNS:pusher.example")) is grpc.StatusCode.UNIMPLEMENTED
        assert push(authority.issue("stranger")) is grpc.StatusCode.PERMISSION_DENIED
        forged = Authority(tmp_path / "forger").issue("pusher")
        with as_client(address, authority, forged) as channel:
            stub = ClusterServiceStub(channel)
            code = failed(lambda: stub.GetClusterInfo(GetClusterInfoRequest(), timeout=LONG)).code
    assert code is grpc.StatusCode.UNAVAILABLE


def test_new_connections_get_the_new_certificate_and_the_new_authority(tmp_path: Path) -> None:
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    files = TlsFiles(certificate, key, authority=tmp_path / "ca.crt")

    def rotate(to: Authority) -> None:
        pair = to.issue("server")
        for source, target in (
            (pair.key, key),
            (pair.certificate, certificate),
            (to.certificate, tmp_path / "ca.crt"),
        ):
            target.write_bytes(source.read_bytes())

    rotate(old)
    with running(tls=files) as mooring:

        def ask(server: Authority, client: Authority) -> bool:
            with as_client(mooring.server.address, server, client.issue("client")) as channel:
                return (
                    ClusterServiceStub(channel).GetClusterInfo(GetClusterInfoRequest(), timeout=LONG).synced
                )

        assert ask(old, old)
        rotate(new)
        assert ask(new, new)
        for server, client in ((old, new), (new, old)):
            assert failed(partial(ask, server, client)).code is grpc.StatusCode.UNAVAILABLE


def test_an_open_connection_ends_and_with_it_the_access_by_a_replaced_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = {"grpc.max_connection_age_ms": 500, "grpc.max_connection_age_grace_ms": 100}
    assert ages.keys() <= dict(listener.SERVER_OPTIONS).keys()
    monkeypatch.setattr(listener, "SERVER_OPTIONS", tuple((dict(listener.SERVER_OPTIONS) | ages).items()))
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    shown, authority = old.issue("server"), tmp_path / "ca.crt"
    authority.write_bytes(old.certificate.read_bytes())
    with (
        running(tls=TlsFiles(shown.certificate, shown.key, authority=authority)) as mooring,
        as_client(mooring.server.address, old, old.issue("client")) as channel,
    ):
        stub = ClusterServiceStub(channel)

        def answered() -> bool:
            try:
                return stub.GetClusterInfo(GetClusterInfoRequest(), timeout=LONG).synced
            except grpc.RpcError as error:
                return error.code() is not grpc.StatusCode.UNAVAILABLE

        assert answered()
        authority.write_bytes(new.certificate.read_bytes())
        until(lambda: not answered())


def test_in_plain_text_nobody_has_a_name() -> None:
    with running(listen="0.0.0.0:0", insecure_listen=True) as mooring:
        port = mooring.server.address.rpartition(":")[2]
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = ClusterServiceStub(channel)
            failure = failed(lambda: stub.PushObjects(PushObjectsRequest(), timeout=LONG))
    assert failure.code is grpc.StatusCode.PERMISSION_DENIED
    assert failure.info.reason == "FORBIDDEN"
    assert "--allow-client" in failure.text
