"""Runs the command line in this process, or as a process if the test is about one."""

from __future__ import annotations

import json
import logging
import os
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mooring.app.server import serve
from mooring.cli import Option, main
from mooring.cli.main import SharedWriter, _parser
from mooring.cli.serve import _server_options
from mooring.documents import write_documents

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LISTENERS = ("listen", "health-listen", "metrics-listen")
ANY_PORT = "127.0.0.1:0"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def complaints(self) -> list[str]:
        return self.err.splitlines()


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's, changed, without the terminal's width, which is set where tests run in parallel."""
    return {name: value for name, value in os.environ.items() if name != "COLUMNS"} | dict(changes or {})


def call(
    capsys: pytest.CaptureFixture[str],
    *argv: object,
    options: Iterable[Option] = (),
    columns: int | None = None,
) -> Result:
    """Return one command in this process; the logging that it sets up ends with it, and is of it alone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    # A server of a fixture goes on meanwhile, and may start threads: its lines are not the command's.
    own = {threading.current_thread()}
    start = threading.Thread.start

    def start_noted(thread: threading.Thread) -> None:
        if threading.current_thread() in own:
            own.add(thread)
        start(thread)

    capsys.readouterr()
    try:
        with (
            patch.dict(os.environ, environment({"COLUMNS": str(columns)} if columns else None), clear=True),
            patch.object(threading.Thread, "start", start_noted),
            patch.object(SharedWriter, "filter", lambda _writer, _record: threading.current_thread() in own),
        ):
            code = main(*options, argv=[str(word) for word in argv])
    except SystemExit as end:
        code = int(str(end.code))
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    captured = capsys.readouterr()
    return Result(code, captured.out, captured.err)


def write_manifests(file: Path, *objects: Mapping[str, Any]) -> Path:
    file.write_text(write_documents(*objects))
    return file


def write_config(file: Path, *profiles: Mapping[str, Any], **fields: Any) -> Path:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(write_documents({**head, "profiles": list(profiles), **fields}))
    return file


def scoring(*plugins: tuple[str, int], name: str = "default-scheduler") -> dict[str, Any]:
    """Return a profile that scores by these plugins, with these weights, alone."""
    enabled = [{"name": plugin, "weight": weight} for plugin, weight in plugins]
    return {"schedulerName": name, "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": enabled}}}


@dataclass
class Ready:
    """A program's first line once it answers; "" if it ended instead."""

    ready: str

    def address(self, name: str) -> str:
        return dict(part.split("=", 1) for part in self.ready.split()[2:])[name]


@dataclass
class Started(Ready):
    """A process, what it had printed before it was ready, and its log."""

    process: subprocess.Popen[str]
    shown: list[str]
    log: Path

    def memory(self, field: str = "VmRSS") -> int:
        """Return the bytes of memory that it holds now, or with VmHWM the most that it has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith(f"{field}:")]
        return int(line.split()[1]) << 10


@contextmanager
def program(folder: Path, *command: object, twins: Mapping[str, str] | None = None) -> Iterator[Started]:
    """Start a program and wait for its ready line, or its end; it is killed at the end of the block."""
    log = folder / f"{Path(str(command[0])).name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(twins),
        )
    assert process.stdout
    try:
        shown: list[str] = []
        while (line := process.stdout.readline()) and " ready: " not in line:
            shown.append(line.rstrip("\n"))
        yield Started(line.strip(), process, shown, log)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate()


def _served(flags: Iterable[object]) -> list[str]:
    """`mooring serve` on free ports, without a pause before its end; on the sample by default."""
    words = [str(flag) for flag in flags]
    source = [] if "--source" in words else ["--source", "sample"]
    listeners = [word for name in LISTENERS for word in (f"--{name}", ANY_PORT)]
    return ["serve", "--drain-delay", "0", *listeners, *source, *words]


@contextmanager
def in_this_process(
    run: Callable[[threading.Event, Callable[[Mapping[str, str]], None]], bool],
) -> Iterator[Ready]:
    """Yield a program that runs until its event is set, and says where it listens; its log goes nowhere."""
    listening: Future[Mapping[str, str]] = Future()
    stop = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(run, stop, listening.set_result)
        try:
            either: list[Future[Any]] = [listening, ended]
            wait(either, return_when=FIRST_COMPLETED)
            if not listening.done():
                ended.result()
            addresses = (f"{name}={address}" for name, address in listening.result().items())
            yield Ready(f"mooring ready: {' '.join(addresses)}")
        finally:
            stop.set()
    assert ended.result()


@contextmanager
def serving(*flags: object) -> Iterator[Ready]:
    """`mooring serve` in this process."""
    args = _parser(["serve"]).parse_args(_served(flags))
    with in_this_process(partial(serve, _server_options(args, ()))) as ready:
        yield ready


@contextmanager
def serving_process(
    folder: Path, *flags: object, twins: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """Yield the same as a process of its own, with signals, a log and twins of its flags."""
    with program(folder, BIN / "mooring", *_served(flags), twins=twins) as started:
        yield started


def fetch(url: str, body: bytes | None = None, *, context: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30, context=context) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
