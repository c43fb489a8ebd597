"""One round of a target: thousands of inputs from a seed; an input that found something is made smaller."""

from __future__ import annotations

import gc
import hashlib
import re
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from random import Random

from tests.laboratories.fuzz.judging import Finding, Judge, Target, timed, watched
from tests.laboratories.fuzz.mutating import LARGEST

CORPUS = Path(__file__).parent / "corpus"
"""By target, what found something once, and what should never."""

INPUTS = 4_000
"""Inputs of a round; the same world gets all of them."""

PATIENCE = 20.0
"""Seconds for making an input smaller that found something."""


@dataclass(frozen=True, slots=True)
class Found:
    """An input that found something.

    Attributes:
        name: Its name in the corpus.
        said: Its text.
        data: The input, as small as it still finds that; by itself, unless ``said`` says otherwise.
    """

    name: str
    said: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Played:
    """The result of a round.

    Attributes:
        target: The target's id.
        seed: The seed.
        inputs: How many were tried.
        taken: Those of them that were not rejected.
        seconds: How long that took.
        slowest: Seconds of the slowest input.
        findings: The findings, each with the name of its file; () = none.
    """

    target: str
    seed: int
    inputs: int
    taken: int
    seconds: float
    slowest: float
    findings: tuple[str, ...] = ()


def inputs_of(target: Target) -> tuple[bytes, ...]:
    """Return the corpus and the target's own seeds."""
    return (*corpus(target.id).values(), *target.seeds())


def corpus(target: str) -> dict[str, bytes]:
    """Return the inputs in the repository, by name."""
    return {file.name: file.read_bytes() for file in sorted((CORPUS / target).glob("*"))}


def drawn(target: Target, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Return an input of a round."""
    dice = Random(f"{target.id}/{seed}/{number}")
    return target.change(dice, dice.choice(seeds), seeds)[:LARGEST]


def tried(judge: Judge, data: bytes) -> tuple[bool, float, Exception | None]:
    """Return whether an input was taken, its seconds, and what it found."""
    try:
        return *timed(judge, data), None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        return False, 0.0, error


def play(
    target: Target,
    seed: int,
    count: int = INPUTS,
    note: bytearray | mmap | None = None,
    patience: float = PATIENCE,
) -> tuple[Played, list[Found]]:
    """Play a round; the same finding is reported once. ``note`` gets each input before it is tried."""
    began, seeds = time.monotonic(), inputs_of(target)
    found: dict[str, tuple[bytes, Exception]] = {}
    taken, slowest = 0, 0.0
    with target.judging() as judge, watched(judge) as watching:
        for number in range(count):
            data = drawn(target, seeds, seed, number)
            if note is not None:
                write_down(note, data)
            was_taken, seconds, error = tried(watching, data)
            taken, slowest = taken + was_taken, max(slowest, seconds)
            if error is not None:
                found.setdefault(named(error), (data, error))
    seconds = round(time.monotonic() - began, 3)
    kept = [smaller(target, name, *what, patience) for name, what in found.items()]
    gc.collect()
    said = tuple(f"{one.name}: {one.said}" for one in kept)
    return Played(target.id, seed, count, taken, seconds, round(slowest, 3), said), kept


def named(error: Exception) -> str:
    """Return a name for a finding, the same for the same fault: what it is, and where it comes from."""
    cause = error.__cause__ if isinstance(error, Finding) and error.__cause__ else error
    if isinstance(cause, Finding):
        words = re.sub(r"\d+|b?['\"].*", "", str(cause))
        return "-".join(re.findall(r"[a-z]+", words.lower())[:8])
    # A recursion ends anywhere.
    where = traceback.extract_tb(cause.__traceback__)[-1 if not isinstance(cause, RecursionError) else 0]
    return f"{type(cause).__name__}-{Path(where.filename).stem}-{where.name.strip('_<>')}".lower()


def smaller(target: Target, name: str, data: bytes, error: Exception, patience: float) -> Found:
    """Return the input with fewer bytes, as long as it alone still finds the same."""
    said = "".join(traceback.format_exception_only(error.__cause__ or error)).strip()[:500]
    end = time.monotonic() + patience
    with target.judging() as judge, watched(judge) as watching:
        if not _finds(watching, name, data):
            return Found(_file(name, data), f"{said} (only with what came before in its round)", data)
        size = max(len(data) // 2, 1)
        while size:
            at = 0
            while at < len(data) and time.monotonic() < end:
                fewer = data[:at] + data[at + size :]
                if _finds(watching, name, fewer):
                    data = fewer
                else:
                    at += size
            size = size // 2 if time.monotonic() < end else 0
    return Found(_file(name, data), said, data)


def _finds(judge: Judge, name: str, data: bytes) -> bool:
    error = tried(judge, data)[2]
    return error is not None and named(error) == name


def _file(name: str, data: bytes) -> str:
    return f"{name}-{hashlib.sha256(data).hexdigest()[:6]}"


def write_down(note: bytearray | mmap, data: bytes) -> None:
    """Put an input where it is found if the process ends: its length, then its bytes."""
    note[: 8 + len(data)] = len(data).to_bytes(8, "little") + data


def read_note(note: bytes) -> bytes:
    """Return the last note."""
    return note[8 : 8 + int.from_bytes(note[:8], "little")]
