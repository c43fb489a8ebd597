"""The audit log loses no event silently, and with ``--audit-fail-closed`` nothing is committed without it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import msgspec
import pytest

from mooring.audit import log as log_module
from mooring.audit.event import AuditEvent, AuditKind
from mooring.audit.files import RotatingFile
from mooring.audit.log import AuditLog
from mooring.framework.errors import UnavailableError
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.telemetry.metrics import Metrics
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.audit.events import Broken, denial, event
from tests.process import until
from tests.service.backends import Stubs, direct, named, rejected, sent, world
from tests.service.test_bind import order
from tests.service.test_reserve import reserve, unreserve


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(log_module, "STOP_SECONDS", 0.5)


class Log:
    """An audit log, its target, and what both say."""

    def __init__(self, most: int = 100, *, fail_closed: bool = False) -> None:
        self.target, self.metrics = Broken(), Metrics()
        self.trail = AuditLog(self.target, self.metrics, fail_closed=fail_closed, most=most)

    def events(self) -> list[AuditEvent]:
        return [msgspec.json.decode(line, type=AuditEvent) for line in self.target.lines]

    def count(self, result: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"mooring_audit_{result}_events_total")


@contextmanager
def logging_to(most: int = 100, *, fail_closed: bool = False) -> Iterator[Log]:
    log = Log(most, fail_closed=fail_closed)
    try:
        yield log
    finally:
        log.target.broken = False
        log.trail.stop()


def test_events_are_written_as_they_are() -> None:
    with logging_to() as log:
        told = event("web", who="user:jo", behind="cn:adapter", version=7, configuration="abc/default")
        log.trail.record(told)
        until(lambda: log.target.lines)
        assert log.events() == [told]
        assert (
            b'"pods":[{"namespace":"default","name":"web","uid":"u-web","node":"a"}]' in log.target.lines[0]
        )


def test_what_cannot_be_written_waits_and_is_written_later(caplog: pytest.LogCaptureFixture) -> None:
    with logging_to() as log, caplog.at_level(logging.WARNING):
        log.target.broken = True
        for name in ("p", "q"):
            log.trail.record(event(name))
        until(lambda: "can't be written" in caplog.text)
        log.target.broken = False
        until(lambda: len(log.target.lines) == 2)
        assert [each.pods[0].name for each in log.events()] == ["p", "q"]
        assert "is written again" in caplog.text
        assert log.count("lost") == 0


def test_what_finds_no_place_is_counted_logged_and_noted(caplog: pytest.LogCaptureFixture) -> None:
    with logging_to(most=4) as log:
        log.target.broken = True
        for number in range(10):
            log.trail.record(event(str(number)))
        assert log.count("lost") == 6
        assert "events of the audit log are lost" in caplog.text
        log.target.broken = False
        until(lambda: len(log.target.lines) == 5)
        loss = next(each for each in log.events() if each.kind is AuditKind.LOG)
        assert (loss.outcome, loss.count) == ("LOST", 6)


def test_denials_leave_places_for_commits() -> None:
    with logging_to(most=10) as log:
        log.target.broken = True
        for number in range(20):
            log.trail.record(denial(f"cn:{number}"))
        log.trail.record(event())
        assert log.count("lost") == 15
        log.target.broken = False
        until(lambda: any(each.kind is AuditKind.COMMIT for each in log.events()))


def test_equal_denials_share_lines() -> None:
    with logging_to(most=10_000) as log:
        for call in ("Bind", "Reserve"):
            for _ in range(500):
                log.trail.record(denial(call=call))
        log.trail.record(denial("cn:other"))
        log.trail.stop()
        told = [(each.who, each.call, each.count) for each in log.events()]
        assert sorted(told) == [
            ("cn:other", "Bind", 1),
            *(("cn:x", call, count) for call in ("Bind", "Reserve") for count in (1, 499)),
        ]


def test_the_end_writes_what_waits_and_counts_what_it_cannot(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    log.target.broken = True
    log.trail.record(event())
    log.trail.stop()
    assert log.count("lost") == 1
    assert "lost at the end" in caplog.text


def test_a_killed_process_leaves_whole_lines(tmp_path: Path) -> None:
    """But for its last one; the next process begins a line of its own."""
    path = tmp_path / "log"
    code = (
        "import sys, itertools; from pathlib import Path\n"
        "from mooring.audit.files import RotatingFile; from mooring.audit.log import AuditLog\n"
        "from mooring.telemetry.metrics import Metrics; from tests.audit.events import event\n"
        "log = AuditLog(RotatingFile(Path(sys.argv[1]), 1 << 20, 3), Metrics())\n"
        "for number in itertools.count(): log.record(event(str(number)))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[2])
    until(lambda: path.exists() and path.stat().st_size > 10_000, seconds=60)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    whole = path.read_bytes()
    with closing(RotatingFile(path, 1 << 30, 3)) as log:
        log.append(b"{}\n")
    lines = path.read_bytes().splitlines()
    decoded = [msgspec.json.decode(line, type=AuditEvent) for line in lines[: whole.count(b"\n")]]
    assert [each.pods[0].name for each in decoded] == [
        str(number) for number in range(int(decoded[0].pods[0].name), int(decoded[-1].pods[0].name) + 1)
    ]
    assert lines[-1] == b"{}"


def test_events_name_decision_and_version_of_each_pod() -> None:
    request = pb.ScheduleRequest(
        templates=[pb.PodTemplate(pod=sent(make_pod("p")))],
        commit_mode=pb.COMMIT_MODE_RESERVE,
        pods=pb.PodColumns(
            template_indices=[0] * 60,
            names=[f"p-{number}" for number in range(60)],
            uids=[f"u-{number}" for number in range(60)],
        ),
    )
    with world(make_node("a")) as w:
        assert w.backend.decisions is not None
        journal, target = w.backend.decisions.journal, Broken()
        log = AuditLog(target, w.backend.metrics, journal)
        with direct(replace(w.backend, audit=log)) as stubs:
            stubs.scheduling.Schedule(request)
            stubs.scheduling.Reserve(reserve(sent(make_pod("q"))))
        log.stop()
        events = [msgspec.json.decode(line, type=AuditEvent) for line in target.lines]
        assert [len(each.pods) for each in events] == [50, 10, 1]
        for told in events:
            assert told.journal == journal.id
            assert told.configuration == w.backend.engine.profiles["default-scheduler"].key
            for pod in told.pods:
                record = journal.find(pod.decision)
                assert record is not None
                assert (pod.uid, pod.node) == (record.uid, "a")
                assert pod.version == record.state_version


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda stubs: stubs.scheduling.Bind(order("p", "a")), id="Bind"),
        pytest.param(lambda stubs: stubs.scheduling.Reserve(reserve(named("p"))), id="Reserve"),
        *(
            pytest.param(
                lambda stubs, mode=mode: stubs.scheduling.Schedule(
                    pb.ScheduleRequest(templates=[pb.PodTemplate(pod=named("p"))], commit_mode=mode)
                ),
                id=f"Schedule, mode {mode}",
            )
            for mode in (pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_BIND)
        ),
    ],
)
def test_nothing_is_committed_without_a_log(call: Callable[[Stubs], object]) -> None:
    with logging_to(fail_closed=True) as log, world(make_node("a"), make_pod("p")) as w:
        cycle = BindingCycle(w.backend.engine, gate=log.trail.require_writable)
        backend = replace(w.backend, audit=log.trail, committer=Committer(cycle))
        log.target.broken = True
        log.trail.record(event())
        until(log.trail.fault)
        with direct(backend) as stubs:
            failed = rejected(lambda: call(stubs))
            assert (failed.code, failed.info.reason) == (grpc.StatusCode.UNAVAILABLE, "AUDIT_UNWRITABLE")
            assert len(cycle.reservations) == 0
            assert not w.state.snapshot.pods.records["pod/default/p"].node_name
            stubs.scheduling.Unreserve(unreserve("p"))  # a released place needs no space in the log
            log.target.broken = False
            until(lambda: not log.trail.fault())
            call(stubs)
        cycle.stop()


def test_a_log_that_falls_behind_closes_the_door_before_it_is_full() -> None:
    with logging_to(most=8, fail_closed=True) as log:
        writing = threading.Event()
        log.target.held = lambda: writing.wait(60)
        for number in range(7):
            log.trail.record(event(str(number)))
        with pytest.raises(UnavailableError, match="too many events wait"):
            log.trail.require_writable()
        writing.set()
        assert log.count("lost") == 0
