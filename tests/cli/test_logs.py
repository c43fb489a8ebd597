"""Lines of the log: none waits for another thread's, none is lost; their formats; what servers say."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.main import SharedWriter
from mooring.serving.logs import formatter
from tests.cli.commands import BIN, program, scoring, serving_process, write_config


class Slow(io.StringIO):
    """A stream whose first write takes until ``go_on`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.go_on = threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        assert self.go_on.wait(10)
        return super().write(text)


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("test", logging.INFO, __file__, 1, text, None, None)


class Untouched:
    """A lock that is always free."""

    def acquire(self) -> None:
        raise AssertionError("a line waits for other threads")

    __enter__ = acquire


def test_no_line_takes_the_lock_of_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    writer = SharedWriter(stream)
    monkeypatch.setattr(writer, "lock", Untouched())
    assert writer.handle(record("line"))
    writer.addFilter(lambda line: line.getMessage() != "filtered")
    assert not writer.handle(record("filtered"))
    assert stream.getvalue() == "line\n"


def test_who_comes_while_another_one_writes_leaves_the_line_to_that_one() -> None:
    stream = Slow()
    writer = SharedWriter(stream)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(writer.handle, record("first"))
        assert stream.entered.wait(10)
        writer.handle(record("second"))
        writer.handle(record("third"))
        assert stream.getvalue() == ""
        stream.go_on.set()
        first.result(10)
    assert stream.getvalue() == "first\nsecond\nthird\n"


def test_every_line_of_every_thread_is_written_once_and_in_its_order() -> None:
    stream = io.StringIO()
    writer = SharedWriter(stream)

    def talk(thread: int) -> None:
        for number in range(500):
            writer.handle(record(f"{thread} {number}"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(talk, range(8)))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 8 * 500
    for thread in range(8):
        said = [line for line in lines if line.startswith(f"{thread} ")]
        assert said == [f"{thread} {number}" for number in range(500)]


def test_a_stream_that_breaks_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    writer = SharedWriter(stream)
    stream.close()
    writer.handle(record("lost"))
    writer.handle(record("lost, too"))
    assert capsys.readouterr().err.count("I/O operation on closed file") == 2


def logged(format_name: str, *args: Any, level: int = logging.INFO, name: str = "test") -> str:
    given = logging.LogRecord(name, level, "/some/file.py", 7, *args)
    given.created = 1700000000.1234
    return formatter(format_name).format(given)


def test_a_line_of_text_has_the_time_with_its_zone() -> None:
    line = logged("text", "bound %s", ("a\nb",), None)
    assert line == r"2023-11-14T22:13:20.123Z INFO test: bound a\nb"


def test_no_line_of_a_traceback_looks_like_an_entry() -> None:
    forged = "2026-01-01T00:00:00.000Z INFO mooring: bound"
    error = ValueError(f"x\n{forged}\r{forged}\x1b[2K")
    text = logged("text", "failed", (), (ValueError, error, None))
    first, *others = text.splitlines()
    assert first.endswith("INFO test: failed")
    assert sum(forged in line for line in others) == 2
    assert all(line.startswith("    ") and line.isprintable() for line in others)


@pytest.mark.parametrize(
    ("level", "name", "said"),
    [
        pytest.param(
            logging.INFO, "mooring.x", {"logger": "mooring.x", "severity": "INFO", "v": 0}, id="info"
        ),
        pytest.param(logging.INFO - 4, "x", {"logger": "x", "severity": "INFO", "v": 4}, id="level 4"),
        pytest.param(logging.DEBUG, "x", {"logger": "x", "severity": "INFO", "v": 10}, id="level 10"),
        pytest.param(logging.WARNING, "x", {"logger": "x", "severity": "WARNING", "v": 0}, id="warning"),
        pytest.param(logging.ERROR, "x", {"logger": "x", "severity": "ERROR"}, id="an error has no v"),
        pytest.param(
            logging.INFO, "uvicorn.error", {"logger": "uvicorn", "severity": "INFO", "v": 0}, id="uvicorn"
        ),
    ],
)
def test_a_line_of_json_has_the_keys_of_kubernetes(level: int, name: str, said: dict[str, Any]) -> None:
    line = logged("json", 'pod "%s"', ("a\nb",), None, level=level, name=name)
    assert "\n" not in line
    assert json.loads(line) == {
        "ts": 1700000000123.4,
        "caller": "file.py:7",
        "msg": 'pod "a\nb"',
        **said,
    }


def test_an_exception_in_json_is_one_line_too() -> None:
    try:
        int("boom")
    except ValueError:
        line = logged("json", "failed", (), sys.exc_info(), level=logging.ERROR)
    entry = json.loads(line)
    assert (entry["msg"], entry["err"]) == ("failed", "invalid literal for int() with base 10: 'boom'")
    assert entry["stacktrace"].startswith("Traceback")
    assert entry["stacktrace"].endswith(entry["err"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "logger"),
    [
        pytest.param(["mooring", "serve", "--source=sample"], "mooring.start", id="serve"),
        pytest.param(["mooring-extender", "--listen=127.0.0.1:0"], "grpc._cython.cygrpc", id="adapter"),
    ],
)
def test_servers_log_in_json(command: list[str], logger: str, tmp_path: Path) -> None:
    program_, *flags = command
    flags += ["--v=5", "--logging-format=json"]
    if program_ == "mooring":
        flags += [f"--{name}=127.0.0.1:0" for name in ("listen", "health-listen", "metrics-listen")]
    with program(tmp_path, BIN / program_, *flags) as started:
        assert started.ready
    entries = [json.loads(line) for line in started.log.read_text().splitlines()]
    assert logger in {entry["logger"] for entry in entries}


@pytest.mark.slow
def test_what_a_server_says_at_its_start_is_a_record_each(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.yaml", scoring(("ImageLocality", 7)))
    with serving_process(
        tmp_path, "--source=sample", "--config", config, "--v=1", "--logging-format=json"
    ) as started:
        assert started.ready
    messages = [json.loads(line)["msg"] for line in started.log.read_text().splitlines()]
    assert f'FLAG: --config="{config}"' in messages
    assert 'FLAG: --drain-delay="0s"' in messages
    assert any(re.fullmatch(r"Starting mooring \S+ \(Kubernetes 1\.37, .*\)", one) for one in messages)
    (shown,) = [one for one in messages if one.startswith("Using component config: ")]
    assert json.loads(shown.removeprefix("Using component config: "))["kind"] == "KubeSchedulerConfiguration"
