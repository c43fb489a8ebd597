"""`mooring doctor`: what it finds in a cluster that lacks nothing, and for each thing that is missing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mooring.app.doctor.api_server import _clock
from mooring.testing.builders import pod_manifest
from tests.cli.commands import Result, call, scoring, write_config, write_manifests
from tests.fake_api_server import Answer, FakeApiServer

NAMESPACE = "mooring-system"
CALLED = f"mooring-scheduler.{NAMESPACE}.svc"
COLLECTOR = f"system:serviceaccount:{NAMESPACE}:prometheus"
LABELS = {"app.kubernetes.io/name": "mooring"}
Manifest = dict[str, Any]


@cache
def certificate(days: float, name: str = CALLED) -> bytes:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "mooring")])
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=90)).not_valid_after(now + timedelta(days=days))
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


def own(name: str, **more: Any) -> Manifest:
    return {"metadata": {"name": name, "namespace": NAMESPACE, **more}}


def secret(name: str, crt: bytes = b"", annotations: Mapping[str, str] = {}) -> Manifest:
    data = {"tls.crt": base64.b64encode(crt).decode()} if crt else {}
    return {"kind": "Secret", **own(name, annotations=annotations), "data": data}


def lease(name: str, namespace: str, holder: str, seconds_ago: float = 0.0) -> Manifest:
    renewed = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat()
    spec = {"holderIdentity": holder, "renewTime": renewed}
    return {"kind": "Lease", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def mooring_pod(*, ready: bool) -> Manifest:
    made = pod_manifest("mooring-0", namespace=NAMESPACE, labels=LABELS, node="n")
    made["spec"]["volumes"] = [{"name": "tls", "secret": {"secretName": "tls"}}]
    made["status"] = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return made


def monitor(**authorization: Any) -> Manifest:
    endpoint = {"port": "telemetry", "tlsConfig": {"serverName": CALLED}, "authorization": authorization}
    spec = {"selector": {"matchLabels": LABELS}, "podMetricsEndpoints": [endpoint]}
    return {"kind": "PodMonitor", **own("mooring"), "spec": spec}


def event(number: int, instance: str) -> Manifest:
    time = (datetime.now(UTC) + timedelta(seconds=number)).isoformat()
    said = {"reason": "Scheduled", "reportingController": "mine", "reportingInstance": instance}
    metadata = {"name": f"e-{number}", "namespace": "default"}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": metadata,
        "eventTime": time,
        **said,
    }


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    """Yield a cluster in which nothing is missing."""
    with FakeApiServer(without=()) as made:
        made.kinds.pop(("v1", "events"))
        made.faults.on("GET", "/version", Answer(200, body=b'{"gitVersion": "v1.37.2"}'))
        made.people.readers.add((COLLECTOR, "/metrics"))
        made.add(
            mooring_pod(ready=True),
            secret("tls", certificate(60)),
            secret("token", annotations={"kubernetes.io/service-account.name": "prometheus"}),
            monitor(credentials={"name": "token", "key": "token"}),
            lease("mooring", "kube-system", "mooring-0_1"),
            lease("kube-scheduler", "kube-system", "control-plane_1"),
        )
        yield made


@pytest.fixture
def ask(fake: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    config = write_config(tmp_path / "config.yaml", scoring(("NodeResourcesFit", 1), name="mine"))

    def asked(*flags: object) -> Result:
        file = fake.kubeconfig(tmp_path / "kubeconfig")
        return call(capsys, "doctor", "--kubeconfig", file, "--config", config, *flags)

    return asked


def test_a_cluster_that_lacks_nothing(ask: Callable[..., Result]) -> None:
    found = ask("-o", "json")
    assert [each for each in found.document if each["state"] != "ok"] == []
    checks = {each["check"] for each in found.document}
    whole = {
        "configuration",
        "version",
        "clock",
        "rights",
        "lease",
        "schedulers",
        "processes",
        "certificates",
    }
    assert checks == whole | {"metrics"}
    assert found.code == 0


Change = Callable[[FakeApiServer], object]


def replaced(item: Manifest) -> Change:
    """Put an object in the place of the one of its name."""
    metadata = item["metadata"]

    def change(fake: FakeApiServer) -> None:
        fake.remove(item["kind"], metadata["name"], metadata["namespace"])
        fake.add(item)

    return change


def gone(kind: str, name: str, namespace: str = NAMESPACE) -> Change:
    return lambda fake: fake.remove(kind, name, namespace)


def denied(right: str) -> Change:
    return lambda fake: fake.people.denied.add(right)


def release(version: str) -> Change:
    def change(fake: FakeApiServer) -> None:
        fake.faults.clear()
        fake.faults.on("GET", "/version", Answer(200, body=b'{"gitVersion": "%s"}' % version.encode()))

    return change


def not_ready(fake: FakeApiServer) -> None:
    replaced(mooring_pod(ready=False))(fake)
    fake.faults.on("GET", r".*/proxy/readyz", Answer(503, body=b"Lease is not read"))


def rivals(fake: FakeApiServer) -> None:
    fake.add(*(event(number, f"mine-{number % 2}") for number in range(6)))


LEASE = ("Lease", "mooring", "kube-system")
SILENT = lease("mooring", "kube-system", "x", 99)
FAULTS: dict[str, tuple[Change, str, str, str]] = {
    "reading": (denied("watch nodes"), "rights", "may not watch nodes", "reader.yaml"),
    "binding": (denied("create pods/binding"), "rights", "may not create pods/binding", "binding"),
    "the lease": (denied("update leases"), "rights", "may not update the lease mooring", "mooring-lease"),
    "no leader": (gone(*LEASE), "lease", "no replica holds the lease", "MooringNoLeader"),
    "a silent leader": (replaced(SILENT), "lease", "x holds the lease", "MooringNoLeader"),
    "rivals": (rivals, "schedulers", "bind pods of mine by turns: mine-0, mine-1", "schedulerName"),
    "expires": (replaced(secret("tls", certificate(3))), "certificates", "valid for 3 days", "renew"),
    "expired": (replaced(secret("tls", certificate(-2))), "certificates", "expired 2 days ago", "renew"),
    "other name": (
        replaced(secret("tls", certificate(60, "other"))),
        "certificates",
        f"clients call it {CALLED}",
        f"sign one with {CALLED}",
    ),
    "no certificate": (gone("Secret", "tls"), "certificates", "there is no Secret tls", "create it"),
    "no token": (gone("Secret", "token"), "metrics", "'token'", "create the Secret"),
    "collector": (lambda fake: fake.people.readers.clear(), "metrics", "/metrics", "metrics-reader"),
    "no monitor": (gone("PodMonitor", "mooring"), "metrics", "no PodMonitor", "podMonitor.enabled"),
    "not ready": (not_ready, "processes", "not ready: Lease is not read", "Probes"),
    "older server": (release("v1.36.1"), "version", "has v1.36.1", "--kube-version=1.36"),
    "too old server": (release("v1.30.0"), "version", "mooring follows 1.34", "a release of mooring"),
}


@pytest.mark.parametrize(("change", "check", "said", "do"), FAULTS.values(), ids=FAULTS)
def test_what_is_missing_is_the_only_finding(
    fake: FakeApiServer, ask: Callable[..., Result], change: Change, check: str, said: str, do: str
) -> None:
    change(fake)
    found = ask("-o", "json")
    (one,) = [each for each in found.document if each["state"] != "ok"]
    assert (one["check"], said in one["said"], do in one["do"]) == (check, True, True), one
    assert found.code == (one["state"] == "fault")


def test_a_profile_of_kube_schedulers_name(tmp_path: Path, ask: Callable[..., Result]) -> None:
    both = write_config(tmp_path / "both.yaml", scoring(("NodeResourcesFit", 1)))
    found = ask("--config", both, "-o", "json")
    (one,) = [each for each in found.document if each["state"] != "ok"]
    assert "kube-scheduler (control-plane_1) runs" in one["said"]
    assert found.code == 1


def test_the_rights_of_another_user_are_asked_for_by_name(
    fake: FakeApiServer, ask: Callable[..., Result]
) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:mooring-scheduler"
    fake.people.denied.add("patch pods/status")
    found = ask("--as", user, "--mode", "extender-loopback")
    assert found.code == 1
    assert f"{user} may not patch pods/status" in found.out
    reviews = [entry.call.body for entry in fake.history.all("POST", "accessreviews")]
    assert {review["kind"] for review in reviews} == {"SubjectAccessReview"}
    assert reviews[0]["spec"]["groups"][-1] == f"system:serviceaccounts:{NAMESPACE}"


def test_no_server_and_a_wrong_file_are_findings(
    tmp_path: Path, fake: FakeApiServer, ask: Callable[..., Result]
) -> None:
    fake.stop()
    wrong = write_manifests(tmp_path / "wrong.yaml", {"kind": "KubeSchedulerConfiguration", "profile": []})
    found = ask("--config", wrong, "-o", "json")
    assert found.code == 1
    assert {each["check"] for each in found.document if each["state"] == "fault"} == {
        "configuration",
        "version",
    }


def test_extenders_are_asked_and_their_files_read(tmp_path: Path, ask: Callable[..., Result]) -> None:
    (tmp_path / "tls.crt").write_bytes(certificate(1))
    stanza = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "nodeCacheCapable": True}
    theirs = write_config(tmp_path / "theirs.yaml", {"schedulerName": "mine"}, extenders=[stanza])
    found = ask("--extenders", theirs, "--certificate", tmp_path / "tls.crt", "-o", "json")
    states = {each["check"]: each for each in found.document if each["state"] != "ok"}
    assert states["extenders"]["state"] == "fault"
    assert "extenders[0].filterVerb" in states["extenders"]["said"]
    assert states["certificates"]["state"] == "warning"


@pytest.mark.parametrize(
    ("ahead", "state"),
    [
        pytest.param(0.0, "ok", id="equal"),
        pytest.param(-1.5, "ok", id="within a second or two"),
        pytest.param(9.0, "warning", id="ahead"),
        pytest.param(-300.0, "fault", id="far behind"),
    ],
)
def test_clocks(ahead: float, state: str) -> None:
    header, there = "Mon, 30 Nov 2026 12:00:00 GMT", datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
    assert _clock(header, there + ahead).state == state
    assert _clock("", there).state == "unknown"
