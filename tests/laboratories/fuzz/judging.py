"""Checks of every input to every target."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from random import Random

SECONDS = 1.0
"""The longest that one input may take on a machine of its own."""

LONGEST_TEXT = 1024
"""Characters of a text that says what is wrong."""


class Finding(AssertionError):  # noqa: N818 - it is not an error of the one who looks
    """Something that must not be: what, and for which input is known elsewhere."""


Judge = Callable[[bytes], bool]
"""Tries an input. True: it was accepted; False: it was rejected. An error that it raises is a finding."""


@dataclass(frozen=True, slots=True)
class Target:
    """One of the doors by which others' bytes come in.

    Attributes:
        id: Its name, and that of its folder in the corpus.
        title: The subject of the target.
        seeds: Inputs to begin with, besides those of the corpus.
        change: An input that is nearly like one of them: dice, the input, and all of them.
        judging: Yields the judge for some thousands of inputs one after the other.
    """

    id: str
    title: str
    seeds: Callable[[], Sequence[bytes]]
    change: Callable[[Random, bytes, Sequence[bytes]], bytes]
    judging: Callable[[], AbstractContextManager[Judge]]


class _Defects(logging.Handler):
    """Keeps errors in the log: code that catches an unexpected exception logs it there."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def watched(judge: Judge) -> Iterator[Judge]:
    """Yield the same, to which an error in the log is a finding as well."""
    defects, root = _Defects(), logging.getLogger()
    root.addHandler(defects)
    # Lines below are written for almost every input, and cost more than the input.
    logging.disable(logging.WARNING)

    def watching(data: bytes) -> bool:
        defects.records.clear()
        taken = judge(data)
        if defects.records:
            record = defects.records[0]
            cause = record.exc_info[1] if record.exc_info else None
            raise Finding(f"logged: {record.getMessage()[:500]}") from cause
        return taken

    try:
        yield watching
    finally:
        logging.disable(logging.NOTSET)
        root.removeHandler(defects)


def check_text(text: str) -> None:
    """Raise ``Finding`` if an error text has no bounds."""
    if len(text) > LONGEST_TEXT:
        raise Finding(f"a text of {len(text)} characters says what is wrong")


def check(held: bool, what: str) -> None:
    """Raise ``Finding`` unless it held."""
    if not held:
        raise Finding(what)


def crowding() -> float:
    """Return how much longer everything takes because others use the machine, at least 1."""
    cpu, wall = time.process_time(), time.perf_counter()
    while time.process_time() - cpu < 0.02:
        pass
    return max((time.perf_counter() - wall) / 0.02, 1.0)


def timed(judge: Judge, data: bytes) -> tuple[bool, float]:
    """Return whether the input was taken, and the seconds that took.

    Raises:
        Finding: More than ``SECONDS`` in each of three attempts on a machine that is not slower meanwhile.
    """
    began = time.perf_counter()
    taken = judge(data)
    seconds = time.perf_counter() - began
    for _ in range(2):
        if seconds <= SECONDS:
            return taken, seconds
        slower, began = crowding(), time.perf_counter()
        judge(data)
        seconds = min(seconds, (time.perf_counter() - began) / max(slower, crowding()))
    check(seconds <= SECONDS, f"it takes {seconds:.1f} s")
    return taken, seconds
