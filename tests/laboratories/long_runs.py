"""Parts that long runs with a ledger share: its lines, their progress, and processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).parents[2]
LEDGERS = ROOT / ".cache"
"""Git ignores it."""

Entry = TypeVar("Entry")


def read(file: Path, kind: type[Entry]) -> list[Entry]:
    """Return every line of a ledger; none if there is no ledger yet."""
    if not file.exists():
        return []
    decode = msgspec.json.Decoder(kind).decode
    return [decode(line) for line in file.read_bytes().splitlines()]


def append(file: Path, entry: object) -> None:
    """Write a line down."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as ledger:
        ledger.write(msgspec.json.encode(entry) + b"\n")


def console() -> Console:
    """Return a console for a run's output; piped lines keep their full length."""
    return Console(width=None if Console().is_terminal else 120)


@contextmanager
def progress(to: Console, minutes: float) -> Iterator[Callable[[str], None]]:
    """A bar over the time of a run, on a terminal; what is yielded says what it is at."""
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=to, transient=True, disable=not to.is_terminal) as bar:
        task = bar.add_task("", total=minutes * 60)
        yield lambda said: bar.update(task, description=said, completed=time.monotonic() - began)


def lines_of(module: str, arguments: Sequence[Any], log: Path, longest: float) -> tuple[list[bytes], int]:
    """Run a module of the tests in a process of its own; return its lines and its exit code.

    Args:
        module: Its name.
        arguments: Its arguments.
        log: Gets what it writes to standard error.
        longest: Seconds after which it counts as hanging, and is ended with all that it started.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
        try:
            said, _ = process.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            # Processes that it started are in its session.
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
    return said.splitlines(), process.returncode
