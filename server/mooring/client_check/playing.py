"""Plays cases with a driver, and judges its lines and its calls."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, Self, cast

import grpc
import msgspec

from mooring.client_check.cases import CaseStep, ContractCase, Json, Transport, differences, shown, used
from mooring.client_check.doors import Door, certificates
from mooring.client_check.scripted import Scene, Script, serving

PATIENCE: Final = 60.0
"""Seconds beyond a command's timeout after which its driver counts as stuck."""


@dataclass(slots=True)
class Said:
    """The events of one step.

    Attributes:
        done: The command.
        printed: The driver's line; None without one.
        received: The calls that arrived.
    """

    done: Json
    printed: Json | None
    received: list[Json]


@dataclass(slots=True)
class Played:
    """A case that was played.

    Attributes:
        case: Its name.
        steps: The events of each step.
        ended: The driver's exit code; None if it had to be ended.
    """

    case: str
    steps: list[Said] = field(default_factory=list)
    ended: int | None = 0


class Driver:
    """A driver's process; ends with its ``with`` block."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # the caller's own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._input, output = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

    def done(self, command: Json) -> Json | None:
        """Give it a command; its answer, or None if it gives none."""
        try:
            print(json.dumps(command), file=self._input, flush=True)
            answer = json.loads(self._lines.get(timeout=command["timeout"] + PATIENCE))
        except (BrokenPipeError, queue.Empty, json.JSONDecodeError):
            return None
        return answer if isinstance(answer, dict) else None

    def end(self) -> int | None:
        """End its input; its exit code, or None if it went on."""
        with suppress(BrokenPipeError):
            self._input.close()
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None
        finally:
            self._reader.join()

    def _read(self, output: IO[str]) -> None:
        with output:
            for line in output:
                self._lines.put(line)
        self._lines.put("")


class Sample:
    """A real server on the sample cluster.

    Args:
        flags: More flags of ``mooring serve``.
        path: The Unix socket at which its door listens; None = a port.

    Attributes:
        door: Where clients connect.
    """

    def __init__(self, flags: Sequence[str], path: Path | None) -> None:
        self._flags = flags
        self.door = Door(self._started(), path)

    def restart(self, seconds: float) -> None:
        """Stop the server, and start another one; clients can't connect for ``seconds`` at least."""
        self.door.shut(seconds)
        self._stop()
        self.door.port = self._started()

    def close(self) -> None:
        """End it."""
        self.door.close()
        self._stop()

    def _stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _started(self) -> int:
        listen = ("--listen", "127.0.0.1:0", "--health-listen", "", "--metrics-listen", "")
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "mooring", "serve", "--source", "sample", *listen, *self._flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        output = cast("IO[str]", self._process.stdout)
        ready = next((line for line in output if line.startswith("mooring ready: ")), "")
        return int(ready.split("grpc=")[1].split()[0].rpartition(":")[2])


class CasePlayer:
    """Plays cases with the drivers that a command starts, in a ``with`` block. Safe from any thread."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._folder = Path(self._stack.enter_context(TemporaryDirectory()))
        self._files = certificates(self._folder)
        self._others = certificates(Path(self._stack.enter_context(TemporaryDirectory())))
        self._samples: dict[Transport, Sample] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def all_played(self, cases: Iterable[ContractCase], jobs: int) -> Iterator[Played]:
        """Play cases, ``jobs`` at once; they come in their order."""
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(self.played, cases)

    def played(self, case: ContractCase) -> Played:
        """Play a case."""
        with ExitStack() as stack:
            path = Path(stack.enter_context(TemporaryDirectory())) / "s" if case.transport == "unix" else None
            scene, leader = Scene(), ""
            if case.server == "sample":
                sample = self._sample(case, path, stack)
                door, restart = sample.door, sample.restart
            else:
                ports = [
                    stack.enter_context(serving(scene, at, self._credentials(case.transport)))
                    for at in ("server", "leader")
                ]
                door, other = (Door(port, where) for port, where in zip(ports, (path, None), strict=True))
                stack.callback(other.close)
                stack.callback(door.close)
                scene.cut, scene.reset, restart, leader = door.cut, door.reset, door.shut, other.target
            driver = Driver(
                [*self._command, *self._client_files(case.transport), *case.arguments, door.target]
            )
            made = Played(case.name)
            saved: Json = {}
            for step in with_leader(case.steps, leader):
                if step.restart:
                    restart(step.restart)
                command = used(step.do, saved)
                with scene.playing(step.serve) as received:
                    printed = driver.done(command)
                made.steps.append(Said(command, printed, received))
                list(differences(step.expect, printed, saved))
                if printed is None:
                    break
            made.ended = driver.end()
            return made

    def _sample(self, case: ContractCase, path: Path | None, stack: ExitStack) -> Sample:
        """Return a server for the case alone if it restarts, else one for all cases of its transport."""
        if path or any(step.restart for step in case.steps):
            sample = Sample(self._server_flags(case.transport), path)
            stack.callback(sample.close)
            return sample
        with self._lock:
            if case.transport not in self._samples:
                sample = self._samples[case.transport] = Sample(self._server_flags(case.transport), None)
                self._stack.callback(sample.close)
            return self._samples[case.transport]

    def _server_flags(self, transport: Transport) -> list[str]:
        files = self._files
        flags: list[str] = []
        if secured(transport):
            flags += ["--tls-cert-file", str(files.server), "--tls-private-key-file", str(files.server_key)]
        if transport.startswith("mtls"):
            flags += ["--tls-client-ca-file", str(files.authority)]
        return flags

    def _client_files(self, transport: Transport) -> list[str]:
        known = self._others if transport == "tls-stranger" else self._files
        flags = ["--ca", str(known.authority)] if secured(transport) else []
        if transport == "mtls":
            flags += ["--cert", str(self._files.client), "--key", str(self._files.client_key)]
        return flags

    def _credentials(self, transport: Transport) -> grpc.ServerCredentials | None:
        if not secured(transport):
            return None
        files = self._files
        pair = files.server_key.read_bytes(), files.server.read_bytes()
        if transport.startswith("tls"):
            return grpc.ssl_server_credentials([pair])
        return grpc.ssl_server_credentials([pair], files.authority.read_bytes(), require_client_auth=True)


def secured(transport: Transport) -> bool:
    """Return whether there is TLS."""
    return "tls" in transport


def with_leader(steps: Sequence[CaseStep], target: str) -> list[CaseStep]:
    """Return the steps with the leader's address in the metadata of failures."""
    written = msgspec.json.encode(steps).decode().replace("{{leader}}", target)
    return msgspec.json.decode(written, type=list[CaseStep])


def faults(case: ContractCase, played: Played | None) -> Iterator[str]:
    """Yield a line for each fault of a driver in a case; None = it was not played."""
    if played is None:
        yield "not played"
        return
    saved: Json = {}
    for number, (step, said) in enumerate(zip(case.steps, played.steps, strict=False), 1):
        for fault in _faults_of_step(step, said, saved):
            yield f"step {number}, {step.do['call']}: {fault}"
    for number in range(len(played.steps), len(case.steps)):
        yield f"step {number + 1} was not reached"
    if played.ended != 0:
        yield (
            "the driver went on after the end of its input"
            if played.ended is None
            else (f"the driver ended with code {played.ended}")
        )


def _faults_of_step(step: CaseStep, said: Said, saved: Json) -> Iterator[str]:
    if said.printed is None:
        yield "no line with an object"
        return
    script = Script(step.serve)
    for call in said.received:
        entry = script.take(call["method"], call["at"])
        if entry is None:
            yield f"{call['method']} arrived at the {call['at']}, which should not be"
        elif not call["deadline"]:
            yield f"{call['method']} arrived without a deadline"
        else:
            yield from differences(entry.request, call["request"], saved, f"request of {entry.method}")
    yield from script.missing()
    if wrong := list(differences(step.expect, said.printed, saved)):
        yield from wrong
        yield f"it printed {shown(said.printed)}"
