"""The HTTPS endpoint of `mooring scheduler`: who may read what, and the pages for people."""

from __future__ import annotations

import json
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.app.secure_serving import Delegated
from mooring.cluster.reviews import MAX_ANSWERS, MAX_REVIEWS, Lifetimes, Reviews
from mooring.serving.listeners.pages import PageRequest
from mooring.testing.builders import node_manifest
from tests.certificates import Authority, Pair
from tests.cli.commands import Started, program, write_config
from tests.cli.schedulers import MINE, pending, probe, scheduler, scheduling
from tests.fake_api_server import Answer, FakeApiServer, Hang
from tests.process import free_port, until

PROMETHEUS = "system:serviceaccount:monitoring:prometheus"
PROBES = ("/healthz", "/livez", "/readyz")
CONFIG = "config.k8s.io"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        running.add(node_manifest("a"))
        running.people.tokens |= {"good": PROMETHEUS, "other": "jane"}
        running.people.readers |= {(PROMETHEUS, "/metrics"), ("admin", "/metrics")}
        yield running


@contextmanager
def endpoint(fake: FakeApiServer, folder: Path, *flags: str) -> Iterator[int]:
    """Yield its port; the scheduler is in this process."""
    port = free_port()
    with scheduling(fake, folder, f"--secure-port={port}", "--leader-elect=false", *flags):
        yield port


@contextmanager
def logging_endpoint(fake: FakeApiServer, folder: Path, *flags: str) -> Iterator[tuple[int, Started]]:
    """Yield its port, and the process with its log."""
    port = free_port()
    with scheduler(fake, folder, f"--secure-port={port}", "--leader-elect=false", *flags) as started:
        assert started.ready
        yield port, started


def asked(path: str = "/metrics", token: str = "", **certificate: Any) -> PageRequest:
    return PageRequest("get", path, f"Bearer {token}" if token else "", certificate)


def delegated(fake: FakeApiServer, **lifetimes: float) -> Delegated:
    reviews = Reviews(fake.client(), fake.client(), Lifetimes(**lifetimes))
    return Delegated(reviews, PROBES)


def reviews_of(fake: FakeApiServer, plural: str) -> list[Any]:
    return [entry.call.body["spec"] for entry in fake.history.all() if entry.call.path.endswith(plural)]


def said(gatekeeper: Delegated, request: PageRequest) -> tuple[int, str]:
    answer = gatekeeper(request)
    return (200, "") if answer is None else (int(answer.status), json.loads(answer.body)["message"])


def subject(name: str, *groups: str) -> dict[str, Any]:
    pairs = [(("commonName", name),), *((("organizationName", group),) for group in groups)]
    return {"subject": tuple(pairs)}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        pytest.param(asked("/healthz"), (200, ""), id="a probe"),
        pytest.param(asked("/healthz", "bad"), (200, ""), id="a probe with a bad token"),
        pytest.param(
            asked(),
            (403, 'forbidden: User "system:anonymous" cannot get path "/metrics"'),
            id="nobody",
        ),
        pytest.param(asked(token="bad"), (401, "Unauthorized"), id="a bad token"),
        pytest.param(asked(token="good"), (200, ""), id="a reader"),
        pytest.param(
            asked(token="other"),
            (403, 'forbidden: User "jane" cannot get path "/metrics"'),
            id="another user",
        ),
        pytest.param(
            asked("/configz", "good"),
            (403, f'forbidden: User "{PROMETHEUS}" cannot get path "/configz"'),
            id="another path",
        ),
        pytest.param(asked(**subject("admin", "masters")), (200, ""), id="a certificate"),
        pytest.param(
            asked(token="good", **subject("eve")),
            (403, 'forbidden: User "eve" cannot get path "/metrics"'),
            id="a certificate goes before a token",
        ),
    ],
)
def test_who_may_read(fake: FakeApiServer, request_: PageRequest, answer: tuple[int, str]) -> None:
    assert said(delegated(fake), request_) == answer


def test_the_api_server_is_told_all_of_a_user(fake: FakeApiServer) -> None:
    gatekeeper = delegated(fake)
    gatekeeper(asked(token="good"))
    gatekeeper(asked(**subject("admin", "masters")))
    assert reviews_of(fake, "tokenreviews") == [{"token": "good"}]
    attributes = {"verb": "get", "path": "/metrics"}
    assert reviews_of(fake, "subjectaccessreviews") == [
        {
            "user": PROMETHEUS,
            "groups": ["system:authenticated"],
            "uid": f"uid-of-{PROMETHEUS}",
            "extra": {},
            "nonResourceAttributes": attributes,
        },
        {
            "user": "admin",
            "groups": ["masters", "system:authenticated"],
            "uid": "",
            "extra": {},
            "nonResourceAttributes": attributes,
        },
    ]


@pytest.mark.parametrize("token", ["good", "other", "bad", ""])
def test_answers_count_for_a_while(fake: FakeApiServer, token: str) -> None:
    remembering, forgetting = delegated(fake), delegated(fake, token=0, allowed=0, denied=0)
    answers = {said(remembering, asked(token=token)) for _ in range(3)}
    once = len(fake.history.all())
    answers |= {said(forgetting, asked(token=token)) for _ in range(3)}
    assert len(answers) == 1
    assert len(fake.history.all()) == 4 * once


def test_few_answers_are_remembered(fake: FakeApiServer) -> None:
    reviews = Reviews(fake.client(), fake.client(), Lifetimes())
    for number in range(MAX_ANSWERS + 1):
        assert reviews.user_of(f"bad-{number}") is None
    before = len(fake.history.all())
    reviews.user_of(f"bad-{MAX_ANSWERS}")
    assert len(fake.history.all()) == before
    reviews.user_of("bad-0")
    assert len(fake.history.all()) == before + 1


@pytest.mark.parametrize("plural", ["tokenreviews", "subjectaccessreviews"])
def test_where_the_api_server_does_not_say_nobody_is_let_in(
    fake: FakeApiServer, plural: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake.forbidden.add(plural)
    gatekeeper = delegated(fake)
    for _ in range(2):
        assert said(gatekeeper, asked(token="good"))[0] == HTTPStatus.SERVICE_UNAVAILABLE
    (line,) = caplog.messages
    assert "system:auth-delegator" in line
    assert said(gatekeeper, asked("/livez"))[0] == 200


def test_a_slow_api_server_holds_few_threads(fake: FakeApiServer) -> None:
    from concurrent.futures import ThreadPoolExecutor

    fake.faults.on("POST", "/tokenreviews$", Hang())
    gatekeeper = delegated(fake)
    with ThreadPoolExecutor(MAX_REVIEWS) as threads:
        waiting = [threads.submit(said, gatekeeper, asked(token=f"t{n}")) for n in range(MAX_REVIEWS)]
        until(lambda: fake.faults.met == MAX_REVIEWS, "as many reviews as may be")
        assert said(gatekeeper, asked(token="one more"))[0] == 503
        assert not any(one.done() for one in waiting)
        assert {one.result(30)[0] for one in waiting} == {503}


def test_metrics_are_for_those_who_may_read_them(fake: FakeApiServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    flags = (f"--client-ca-file={authority.certificate}", "--authentication-skip-lookup")
    with endpoint(fake, tmp_path, *flags) as port:
        assert probe(port, "metrics")[0] == 403
        assert probe(port, "metrics", Authorization="Bearer bad")[0] == 401
        assert probe(port, "metrics", Authorization="Bearer other")[0] == 403
        status, text = probe(port, "metrics", Authorization="Bearer good")
        assert (status, "mooring_pending_pods" in text) == (200, True)
        assert probe(port, "metrics", pair=authority.issue("admin"))[0] == 200
        assert probe(port, "metrics", pair=authority.issue("eve"))[0] == 403
        assert [probe(port, path.lstrip("/"))[0] for path in PROBES] == [200, 200, 200]
        assert probe(port, "nope", Authorization="Bearer good")[0] == 404


def taken(port: int, pair: Pair) -> bool:
    """Return whether the endpoint takes a client's certificate."""
    try:
        return probe(port, "metrics", pair=pair)[0] == 200
    except OSError:
        return False


def test_the_authority_of_certificates_is_looked_up_and_followed(fake: FakeApiServer, tmp_path: Path) -> None:
    def name(authority: Authority) -> None:
        body = {"kind": "ConfigMap", "data": {"client-ca-file": authority.certificate.read_text()}}
        where = "/kube-system/configmaps/extension-apiserver-authentication$"
        fake.faults.clear()
        fake.faults.on("GET", where, Answer(200, body=json.dumps(body).encode()))

    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    first, second = old.issue("admin"), new.issue("admin")
    name(old)
    with endpoint(fake, tmp_path) as port:
        assert [taken(port, pair) for pair in (first, second)] == [True, False]
        name(new)
        until(lambda: taken(port, second), "the new authority counts")
        assert not taken(port, first)


def test_new_connections_follow_the_files_and_resume_nothing_earlier(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    authorities, certificate, key = (tmp_path / name for name in ("clients.crt", "tls.crt", "tls.key"))

    def put(authority: Authority, name: str) -> None:
        pair = authority.issue(name)
        for file, source in (
            (authorities, authority.certificate),
            (certificate, pair.certificate),
            (key, pair.key),
        ):
            file.write_bytes(source.read_bytes())

    def shown(pair: Pair, session: Any = None) -> tuple[bytes, Any]:
        """Return the certificate that is shown, and the session, which TLS 1.2 resumes by its number."""
        context = client_context(pair)
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), session=session) as one:
            one.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert one.recv(100)
            return one.getpeercert(binary_form=True) or b"", one.session

    contexts: dict[Path, ssl.SSLContext] = {}

    def client_context(pair: Pair) -> ssl.SSLContext:
        if pair.certificate not in contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.load_cert_chain(pair.certificate, pair.key)
            contexts[pair.certificate] = context
        return contexts[pair.certificate]

    put(old, "first")
    flags = (
        f"--client-ca-file={authorities}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
    )
    mine, other = old.issue("admin"), new.issue("other")
    with endpoint(fake, tmp_path, *flags) as port:
        before, session = shown(mine)
        put(new, "second")
        for resumed in (None, session):
            with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
                shown(mine, resumed)
        after, _ = shown(other)
    assert before != after


@pytest.mark.slow
def test_a_look_up_that_fails_is_tolerated_unless_asked_otherwise(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    with logging_endpoint(fake, tmp_path) as (port, started):
        assert probe(port, "metrics", Authorization="Bearer good")[0] == 200
        assert "client certificates are not taken, only tokens" in started.log.read_text()
    with scheduler(
        fake, tmp_path, f"--secure-port={free_port()}", "--authentication-tolerate-lookup-failure=false"
    ) as strict:
        assert strict.process.wait(60) == 1
        assert "extension-apiserver-authentication" in strict.log.read_text()


STUCK = """
import sys, time
from mooring.cli import main, with_plugin
from mooring.framework import FilterPlugin
from mooring.scheduler import scheduler

class Stuck(FilterPlugin):
    name = "Stuck"

    def filter(self, state, pod, node):
        time.sleep(3600)

scheduler.LONGEST_DECISION_SECONDS = 0.2
sys.exit(main(with_plugin("Stuck", Stuck)))
"""


@pytest.mark.slow
def test_a_decision_without_end_ends_liveness(fake: FakeApiServer, tmp_path: Path) -> None:
    script, port = tmp_path / "stuck.py", free_port()
    script.write_text(STUCK)
    plugins = {"filter": {"enabled": [{"name": "Stuck"}]}}
    config = write_config(tmp_path / "config.yaml", {**MINE, "plugins": plugins})
    source = f"kubernetes:{fake.kubeconfig(tmp_path / 'kubeconfig')}"
    command = [sys.executable, script, "scheduler", "--config", config, "--source", source]
    command += ["--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=false"]
    with program(tmp_path, *command) as started:
        try:
            assert started.ready, started.log.read_text()
            assert probe(port, "livez") == (200, "ok\n")
            fake.add(pending("first"))
            until(lambda: probe(port, "livez")[0] == HTTPStatus.SERVICE_UNAVAILABLE, "a decision that lasts")
            assert "the decision about pod default/first has lasted" in probe(port, "livez")[1]
        finally:
            started.process.kill()  # it would see its decision to the end


ALL = "--authorization-always-allow-paths=/*"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Started]]:
    """Yield a scheduler for tests that only read from it; every caller may read everything."""
    flags = ["--v=10", "--tls-min-version=VersionTLS13", "--grpc-listen=0.0.0.0:0", "--grpc-insecure-listen"]
    folder = tmp_path_factory.mktemp("shared")
    with FakeApiServer() as fake, logging_endpoint(fake, folder, ALL, *flags) as running:
        yield running


def test_pages_for_people_and_programs(shared: tuple[int, Started]) -> None:
    port, _ = shared
    config = json.loads(probe(port, "configz")[1])["componentconfig"]
    assert (config["kind"], config["profiles"][0]["schedulerName"]) == (
        "KubeSchedulerConfiguration",
        "mine",
    )
    assert f"\nsecure-port={port}\n" in probe(port, "flagz")[1]
    status = probe(port, "statusz")[1]
    assert status.startswith("\nmooring-scheduler statusz\n")
    assert "\nPaths: /configz /flagz /healthz /livez /metrics /readyz\n" in status
    for kind, path in (("Flagz", "flagz"), ("Statusz", "statusz")):
        for media, read in (("json", json.loads), ("yaml", yaml.safe_load)):
            accept = f"application/{media};v=v1beta1;g={CONFIG};as={kind}"
            found = read(probe(port, path, Accept=accept)[1])
            assert (found["kind"], found["apiVersion"]) == (kind, f"{CONFIG}/v1beta1")
            assert found["metadata"] == {"name": "mooring-scheduler"}
    assert found["startTime"]
    assert found["uptimeSeconds"] >= 0
    assert probe(port, "flagz", Accept="text/html, */*;q=0.1")[0] == 200
    assert probe(port, "flagz", Accept="application/json")[0] == 406


def test_metrics_are_shown_as_far_as_asked(fake: FakeApiServer, tmp_path: Path) -> None:
    manifest = tmp_path / "labels.yaml"
    manifest.write_text("allowListMapping: {'mooring_source_last_event_age_seconds,kind': 'Node'}")
    flags = [
        "--disabled-metrics=mooring_reservations",
        "--allow-metric-labels=scheduler_pending_pods,queue=active,gated",
        f"--allow-metric-labels-manifest={manifest}",
    ]
    with endpoint(fake, tmp_path, ALL, *flags) as port:
        text = probe(port, "metrics")[1]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if line.startswith("mooring_reservations")]
    queues = {line.partition("{")[2].partition("}")[0] for line in lines if "_pending_pods{" in line}
    assert queues == {'queue="active"', 'queue="gated"', 'queue="unexpected"'}
    assert len([line for line in lines if "_pending_pods{" in line]) == 3
    assert 'kind="unexpected"' in text
    assert 'age_seconds{kind="Pod"' not in text


def test_metrics_have_the_names_that_boards_of_kube_scheduler_ask_for(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    flags = ["--metrics-prefix=scheduler", "--disabled-metrics=scheduler_reservations"]
    with endpoint(fake, tmp_path, ALL, *flags) as port:
        text = probe(port, "metrics")[1]
    assert "mooring_" not in text
    assert "# TYPE scheduler_pending_pods gauge" in text
    assert 'scheduler_pending_pods{queue="active"}' in text
    assert "# TYPE process_cpu_seconds_total counter" in text
    assert "scheduler_reservations" not in text


def test_the_grpc_listener_names_its_own_flags(shared: tuple[int, Started]) -> None:
    _, started = shared
    assert "--grpc-insecure-listen: every client that reaches" in started.log.read_text()


def test_who_speaks_no_tls_leaves_no_traceback(shared: tuple[int, Started]) -> None:
    port, started = shared
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        plain.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        while plain.recv(1000):
            pass
    until(lambda: "was dropped: " in started.log.read_text(), "the line about it")
    assert "Traceback" not in started.log.read_text()


@pytest.mark.slow
def test_two_processes_share_a_port_when_asked(fake: FakeApiServer, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with (
        endpoint(fake, tmp_path, "--permit-port-sharing") as port,
        scheduler(
            fake,
            tmp_path / "second",
            f"--secure-port={port}",
            "--leader-elect=false",
            "--permit-port-sharing",
        ) as second,
    ):
        assert second.ready


def test_tls_is_as_old_as_allowed(shared: tuple[int, Started]) -> None:
    port, _ = shared
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        pytest.raises(ssl.SSLError),
    ):
        old.wrap_socket(plain)
