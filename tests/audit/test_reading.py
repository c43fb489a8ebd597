"""``mooring audit`` finds events in a log and its full files."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from mooring.audit.event import AuditedPod, AuditEvent, AuditKind
from mooring.cli.main import main
from tests.audit.events import denial, event

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def pods(*names: str, node: str = "a") -> tuple[AuditedPod, ...]:
    split = (name.split("/") for name in names)
    return tuple(AuditedPod(namespace, name, f"u-{name}", node) for namespace, name in split)


EVENTS = [
    event(time=NOON, pods=pods("prod/web", "test/web"), call="Schedule+Reserve"),
    event(time=NOON + timedelta(minutes=1), pods=pods("prod/db", node="b"), who="user:jo", behind="cn:page"),
    event(time=NOON + timedelta(minutes=2), pods=pods("prod/db"), outcome="NODE_NOT_FOUND"),
    msgspec.structs.replace(denial(), time=NOON + timedelta(minutes=3), pods=(), count=40),
    event(time=NOON + timedelta(minutes=4), kind=AuditKind.PUSH, pods=(), call="PushObjects", source="x"),
]


def written(folder: Path) -> str:
    """Return a log with two full files, in which a process was killed."""
    data = [msgspec.json.encode(each) + b"\n" for each in EVENTS]
    (folder / "log.10").write_bytes(data[0] + b'{"time":"2026-1')
    (folder / "log.9").write_bytes(b"\n" + data[1])
    (folder / "log").write_bytes(b"".join(data[2:]))
    return str(folder / "log")


def found(output: str) -> list[AuditEvent]:
    return [msgspec.json.decode(line, type=AuditEvent) for line in output.splitlines()]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([], [0, 1, 2, 3, 4], id="all"),
        pytest.param(["--who", "cn:team"], [0, 2, 4], id="who"),
        pytest.param(["--who", "jo"], [1], id="who, without a type"),
        pytest.param(["--who", "page"], [1], id="who passed it on"),
        pytest.param(["--pod", "db"], [1, 2], id="pod"),
        pytest.param(["--pod", "prod/db", "--node", "b"], [1], id="pod and node"),
        pytest.param(["--call", "Schedule"], [0], id="call, without its mode"),
        pytest.param(["--call", "Schedule+Bind"], [], id="call, with another mode"),
        pytest.param(["--outcome", "NODE_NOT_FOUND"], [2], id="outcome"),
        pytest.param(["--denied"], [3], id="denied"),
        pytest.param(
            ["--since", "2026-11-30T12:02:00Z", "--until", "2026-11-30T12:03:00Z"], [2, 3], id="time"
        ),
    ],
)
def test_a_filter(
    flags: list[str], expected: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv=["audit", written(tmp_path), "-o", "json", *flags]) == 0
    assert found(capsys.readouterr().out) == [EVENTS[at] for at in expected]


def test_an_event_is_narrowed_to_its_pods_in_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(argv=["audit", written(tmp_path), "-o", "json", "-n", "test"])
    (told,) = found(capsys.readouterr().out)
    assert [pod.key for pod in told.pods] == ["test/web"]


def test_the_table_has_a_row_for_each_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    main(argv=["audit", written(tmp_path)])
    output = capsys.readouterr()
    assert [line.split() for line in output.out.splitlines()] == [
        ["TIME", "WHO", "CALL", "POD", "NODE", "OUTCOME"],
        ["2026-11-30T12:00:00Z", "cn:team", "Schedule+Reserve", "prod/web", "a", "OK"],
        ["2026-11-30T12:00:00Z", "cn:team", "Schedule+Reserve", "test/web", "a", "OK"],
        ["2026-11-30T12:01:00Z", "user:jo", "behind", "cn:page", "Bind", "prod/db", "b", "OK"],
        ["2026-11-30T12:02:00Z", "cn:team", "Bind", "prod/db", "a", "NODE_NOT_FOUND"],
        ["2026-11-30T12:03:00Z", "cn:x", "Bind", "-", "-", "FORBIDDEN", "(40", "times)"],
        ["2026-11-30T12:04:00Z", "cn:team", "PushObjects", "x", "-", "-", "OK"],
    ]
    assert "1 lines were skipped" in output.err


def test_the_table_fits_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    main(argv=["audit", written(tmp_path)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 70


def test_the_standard_input_is_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"mooring ready: grpc=127.0.0.1:1\n" + msgspec.json.encode(EVENTS[0]) + b"\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(argv=["audit", "-", "-o", "json"]) == 0
    assert found(capsys.readouterr().out) == [EVENTS[0]]


def test_a_log_that_is_missing_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv=["audit", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err
