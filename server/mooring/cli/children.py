"""Processes that a command starts, each ready once it says so, and ended together."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

START_SECONDS = 600.0
"""A large cluster takes minutes to be read."""

STOP_SECONDS = 30.0
WATCH_SECONDS = 0.2


class StartError(Exception):
    """A process did not start; the text is its error."""


class InterruptedStartError(Exception):
    """A signal came before everything was ready."""


@dataclass(slots=True)
class Child:
    """A child process and the line that reported it ready."""

    name: str
    process: subprocess.Popen[str]
    ready_line: str = ""

    def stop(self) -> int:
        """Let it drain; its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def start(running: ExitStack, name: str, command: list[str], stop: threading.Event) -> Child:
    """Start a process, which ``running`` ends, and wait for its line ``NAME ready: ...``.

    Raises:
        StartError: It ended before, or takes too long.
        InterruptedStartError: ``stop`` was set meanwhile.
    """
    # A session of its own: Ctrl-C reaches only this process, which then ends the others in order.
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=_environment()
    )
    child = Child(name, process)
    running.callback(child.stop)
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while not stop.is_set():
        try:
            line = lines.get(timeout=WATCH_SECONDS)
        except queue.Empty:
            if time.monotonic() > deadline:
                raise StartError(f"{name} was not ready after {START_SECONDS:.0f} s") from None
            continue
        if line is None:
            raise StartError(f"{name} ended with exit code {process.wait()}; see its message above")
        if line.startswith(f"{name} ready: "):
            child.ready_line = line.strip()
            return child
    raise InterruptedStartError


def field(line: str, name: str) -> str:
    """Return the value of NAME=VALUE in a ready line."""
    return next(part.removeprefix(f"{name}=") for part in line.split() if part.startswith(f"{name}="))


def _environment() -> dict[str, str]:
    """Ours without the twins of flags: the children's flags are all on their command lines."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MOORING_")}


def _forward(stream: IO[str] | None, lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)
