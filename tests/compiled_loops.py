"""Loops as tests meet them: as they are written, unless the test asks for compiled ones.

A process has a loop compiled once it was called often enough, and installs it when the compiler has ended.
Left to that, what a test meets would depend on the tests before it, and on how fast the machine is.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mooring.kernels.compile import Loop

_FOR_ROWS = Loop.for_rows
_LOCK = Path(__file__).parents[1] / ".cache" / "compiling.lock"


@contextmanager
def loops_as_written() -> Iterator[None]:
    """Let no loop be compiled, nor used if it is."""
    with _answering(lambda _loop, _count, _of=0: None):
        yield


@contextmanager
def compiled_loops() -> Iterator[None]:
    """Compile each loop at its first use, also for few rows; without numba the test is skipped.

    Call each loop with the types that it was compiled for: for other types numba compiles it again while the
    decision waits.
    """
    pytest.importorskip("numba", reason="the extra fast isn't installed")
    signatures: dict[Any, int] = {}

    def compiled(loop: Loop[Any], count: int, _of: int = 0) -> Any:
        if not count:
            return None
        found = _compiled(loop)
        signatures.setdefault(found, len(found.signatures))
        return found

    with _answering(compiled):
        yield
    assert signatures == {found: len(found.signatures) for found in signatures}


@cache
def _compiled(loop: Loop[Any]) -> Any:
    """Compile it while no other process of the tests does: what one has made is on disk for the others."""
    _LOCK.parent.mkdir(exist_ok=True)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return loop.compile()


@contextmanager
def loops_compiled_by_calls() -> Iterator[None]:
    """Count calls and compile in the background, as outside of tests."""
    with _answering(_FOR_ROWS):
        yield


@contextmanager
def _answering(for_rows: Callable[..., Any]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Loop, "for_rows", for_rows)
        yield
