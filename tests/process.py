"""Child processes with a log file: started on a clean environment, waited for, ended by their own ids."""

import os
import random
import re
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05

T = TypeVar("T")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment without proxy variables, which kube-scheduler's extender client
    would honour.
    """
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **(extra or {})}


def run(*command: str | Path, directory: Path | None = None, codes: Container[int] = (0,)) -> str:
    """Run a program to its end and return its standard output.

    Raises RuntimeError with the output if its exit code is not in `codes`.
    """
    arguments = [str(part) for part in command]
    done = subprocess.run(
        arguments, cwd=directory, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port() -> int:
    """Return a free TCP port of 127.0.0.1.

    It lies below those that Linux gives to outgoing connections, one of which could have it until it is used.
    """
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("a hundred ports of 127.0.0.1 are all taken")


def until(condition: Callable[[], object], what: str = "a condition to hold", seconds: float = 60.0) -> None:
    """Wait until `condition` returns something true; otherwise as `wait_until`."""
    wait_until(lambda: bool(condition()), what, seconds, pause=0.01)


def wait_until(
    probe: Callable[[], T | None], what: str, seconds: float = START_SECONDS, pause: float = _POLL_SECONDS
) -> T:
    """Call `probe` until it returns something other than None or False, and return that.

    The limit only bounds how long a broken run hangs. Raises TimeoutError naming `what`.
    """
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found is not None and found is not False:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(pause)


class Process:
    """A running program whose output goes to `log`. As a context manager it is stopped at the end."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, extra_env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(extra_env),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._child.pid

    def check_alive(self) -> None:
        """Raise RuntimeError with the end of the log when the process has ended."""
        if self._child.poll() is not None:
            tail = self.output()[-4000:]
            raise RuntimeError(f"{self.name} ended with exit code {self._child.returncode}:\n{tail}")

    def output(self) -> str:
        """Return the output of the process so far."""
        return self.log.read_text(errors="replace")

    def wait_ready(self, probe: Callable[[], T | None], what: str) -> T:
        """`wait_until`, ended early when the process dies; stops the process when it fails."""

        def alive() -> T | None:
            self.check_alive()
            return probe()

        try:
            return wait_until(alive, f"{self.name}: {what}")
        except BaseException:
            self.stop()
            raise

    def wait_line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of output that matches `pattern` from its start."""
        compiled = re.compile(pattern, re.MULTILINE)
        return self.wait_ready(lambda: compiled.search(self.output()), f"a line {pattern!r}")

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        self._child.send_signal(number)

    def wait_end(self) -> int:
        """Wait until the process ends by itself; return its exit code."""
        return self._child.wait(START_SECONDS)

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        self._child.kill()
        self._child.wait()

    def stop(self) -> int:
        """Send SIGTERM, wait, kill only if that was in vain. Return the exit code; repeats do nothing."""
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        return self._child.returncode


class Startable(ABC):
    """A program that can be started and stopped repeatedly; as a context manager it runs for the block."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def start(self) -> None:
        """Start it."""

    @abstractmethod
    def stop(self) -> None:
        """End it; repeats do nothing."""


class Restartable(Startable):
    """A program that can be stopped and started again with the same command line, so at the same address."""

    name: str

    def __init__(self, directory: Path, command: Iterable[str]) -> None:
        self._directory = directory
        self._command = list(command)
        self._starts = 0
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The running process."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        self._starts += 1
        log = self._directory / f"{self.name}-{self._starts}.log"
        self._process = Process(self.name, self._command, log)
        self.wait_ready(self._process)

    @abstractmethod
    def wait_ready(self, process: Process) -> None:
        """Wait until the process that was just started is ready."""

    def stop(self) -> None:
        """End the process; it must drain and exit with 0."""
        if self._process is not None:
            code, log = self._process.stop(), self._process.output()
            self._process = None
            assert code == 0, f"{self.name} ended with exit code {code}:\n{log[-4000:]}"
