"""The commands of adapters that serve gRPC: flags, certificates, health, start and end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types

from mooring.app.access import parse_policy
from mooring.serving.access.access import Access
from mooring.serving.certificates import TlsFiles
from mooring.testing.builders import make_node
from mooring_adapter.command import Adapter
from mooring_adapter.listener import AdapterListener
from mooring_adapter.mooring import Mooring
from mooring_estimator.estimator import ADAPTER, Estimator, offered
from mooring_estimator.wire import estimator_service_pb2 as pb
from mooring_estimator.wire.estimator_service_pb2_grpc import EstimatorStub
from mooring_expander.expander import ADAPTER as EXPANDER
from tests.certificates import Authority, Pair
from tests.process import free_port
from tests.service.backends import listening, world
from tests.service.harness import LONG

NODE = make_node("a", allocatable={"cpu": "4", "pods": 3})


@contextmanager
def command(*flags: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the command, and the address that it says it is ready at."""
    with subprocess.Popen(
        [sys.executable, "-m", "mooring_estimator", "--listen", "127.0.0.1:0", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        assert process.stdout
        ready = re.fullmatch(r"mooring-estimator ready: (127\.0\.0\.1:\d+)\n", process.stdout.readline())
        try:
            assert ready
            yield process, ready.group(1)
        finally:
            process.kill()


def replicas(channel: grpc.Channel) -> int:
    answer = EstimatorStub(channel).MaxAvailableReplicas(pb.MaxAvailableReplicasRequest(), timeout=LONG)
    return answer.max_replicas


def health(channel: grpc.Channel, service: str = "") -> Any:
    request = health_pb2.HealthCheckRequest(service=service)
    status = health_pb2_grpc.HealthStub(channel).Check(request, timeout=LONG).status
    return health_pb2.HealthCheckResponse.ServingStatus.Name(status)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_serves_until_a_signal_and_exits_with_0(number: signal.Signals) -> None:
    with (
        world(NODE) as w,
        listening(w.backend) as mooring,
        command(MOORING_ESTIMATOR_SERVER=mooring) as (process, address),
        grpc.insecure_channel(address) as channel,
    ):
        assert replicas(channel) == 3
        assert health(channel) == "SERVING"
        process.send_signal(number)
        assert process.wait(LONG) == 0


@pytest.mark.slow
def test_without_mooring_it_is_alive_and_not_ready() -> None:
    with (
        command("--server", f"127.0.0.1:{free_port()}") as (_, address),
        grpc.insecure_channel(address) as channel,
    ):
        assert (health(channel, "liveness"), health(channel)) == ("SERVING", "NOT_SERVING")
        with pytest.raises(grpc.RpcError) as failed:
            replicas(channel)
    error: Any = failed.value
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert error.details().startswith("mooring: ")


def credentials(authority: Authority, shown: Pair | None) -> grpc.ChannelCredentials:
    pair = (shown.key.read_bytes(), shown.certificate.read_bytes()) if shown else (None, None)
    return grpc.ssl_channel_credentials(authority.certificate.read_bytes(), *pair)


@pytest.mark.slow
def test_certificates_on_both_sides(tmp_path: Path) -> None:
    outer, inner = Authority(tmp_path / "outer"), Authority(tmp_path / "inner")
    adapter, karmada, own, server = (
        outer.issue("adapter"),
        outer.issue("karmada"),
        inner.issue("own"),
        inner.issue("server"),
    )
    flags = {
        "tls-cert-file": adapter.certificate,
        "tls-private-key-file": adapter.key,
        "client-ca-file": outer.certificate,
        "server-ca-file": inner.certificate,
        "server-cert-file": own.certificate,
        "server-key-file": own.key,
    }
    tls = TlsFiles(server.certificate, server.key, inner.certificate)
    with (
        world(NODE) as w,
        listening(w.backend, tls=tls) as mooring,
        command("--server", mooring, *(f"--{name}={file}" for name, file in flags.items())) as (_, address),
    ):
        with grpc.secure_channel(address, credentials(outer, karmada)) as channel:
            assert replicas(channel) == 3
        with grpc.secure_channel(address, credentials(outer, None)) as channel:
            with pytest.raises(grpc.RpcError) as failed:
                replicas(channel)
            error: Any = failed.value
            assert error.code() is grpc.StatusCode.UNAVAILABLE


POLICY = """apiVersion: mooring.dev/v1
kind: AccessPolicy
rules:
- {subjects: ["cn:own"], roles: [impersonator], impersonates: ["user:karmada", "user:stranger"]}
- {subjects: ["user:karmada"], roles: [forecaster]}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("caller", "text"),
    [
        pytest.param("karmada", "", id="a forecaster"),
        pytest.param("stranger", "mooring: the client (user:stranger, through cn:own) may not", id="no role"),
        pytest.param("other", "mooring: the client (cn:own) may not call on behalf of other", id="no name"),
    ],
)
def test_the_rights_of_the_caller_count(tmp_path: Path, caller: str, text: str) -> None:
    authority = Authority(tmp_path)
    own, server, shown = (authority.issue(name) for name in ("own", "server", caller))
    of_server = TlsFiles(server.certificate, server.key, authority.certificate)
    of_adapter = TlsFiles(own.certificate, own.key, authority.certificate)
    access = Access(parse_policy(POLICY, "policy.yaml").policy)
    with world(NODE) as w, listening(w.backend, tls=of_server, access=access) as address:
        mooring = Mooring(address, of_adapter, impersonate=True)
        listener = AdapterListener("127.0.0.1:0", offered(Estimator(mooring)), mooring, of_adapter)
        listener.start()
        try:
            with grpc.secure_channel(listener.address, credentials(authority, shown)) as channel:
                if not text:
                    assert replicas(channel) == 3
                    return
                with pytest.raises(grpc.RpcError) as failed:
                    replicas(channel)
                error: Any = failed.value
                assert error.code() is grpc.StatusCode.PERMISSION_DENIED
                assert error.details().startswith(text)
        finally:
            listener.stop(None)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        pytest.param(["--listen", "0.0.0.0:0"], "is not a loopback address", id="open to all"),
        pytest.param(["--client-ca-file", "x"], "need --tls-cert-file", id="names without TLS"),
        pytest.param(["--listen", "nowhere"], "is not HOST:PORT", id="no address"),
    ],
)
@pytest.mark.parametrize("adapter", [ADAPTER, EXPANDER], ids=lambda adapter: adapter.name)
def test_wrong_usage(
    adapter: Adapter, flags: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        adapter.run(flags)
    assert exited.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "text"),
    [
        pytest.param(["--listen", "192.0.2.1:1", "--insecure-listen"], "cannot listen", id="not ours"),
        pytest.param(["--tls-cert-file", "none"], "No such file", id="no certificate"),
        pytest.param(["--server-ca-file", "none"], "No such file", id="no authority"),
    ],
)
def test_what_keeps_it_from_starting(flags: list[str], text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mooring_estimator", "--listen", "127.0.0.1:0", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert text in done.stderr
