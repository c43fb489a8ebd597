"""Rounds of interleavings: each is played in a process of its own, so that a seed always shows the same."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import msgspec

from tests.laboratories.interleavings import committing, engine, scheduling

PLAYS: dict[str, Callable[[int], Sequence[int]]] = {
    "engine": engine.play,
    "commits": committing.play,
    "scheduler": scheduling.play,
}
"""By scene: plays a seed, and returns for each interleaving how often another thread got the turn."""

LONGEST = 600
"""Seconds after which a round counts as hanging, on a busy machine too."""


@dataclass(frozen=True)
class Played:
    """The result of a round.

    Attributes:
        scene: A key of ``PLAYS``.
        seed: Its seed.
        interleavings: How many were played.
        switches: How often another thread got the turn.
        seconds: How long that took.
        found: The broken invariant; "" = none.
    """

    scene: str
    seed: int
    interleavings: int
    switches: int
    seconds: float
    found: str = ""

    @property
    def again(self) -> str:
        """The command that plays it once more."""
        return f"python -m tests.laboratories.interleavings --scene {self.scene} --seed {self.seed}"


def play(scene: str, seed: int) -> Played:
    """Play a round in this process."""
    began, found, switches = time.monotonic(), "", list[int]()
    # Which calls of plugins are timed is left to chance.
    random.seed(seed)
    try:
        switches = list(PLAYS[scene](seed))
    except Exception as error:  # noqa: BLE001 - told with the round
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = "".join(traceback.format_exception_only(error)).strip()
        found = f"{said} ({Path(where.filename).name}:{where.lineno})"
        traceback.print_exc(file=sys.stderr)
    seconds = round(time.monotonic() - began, 3)
    return Played(scene, seed, len(switches), sum(switches), seconds, found)


@cache
def warm_up() -> None:
    """Fill what a process keeps, so that a copy of it needs only the time of its own round."""
    for scene in PLAYS:
        play(scene, -1)


def play_forked(scene: str, seed: int) -> Played:
    """Play a round in a copy of this process, which must have no other threads."""
    warm_up()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        # A round that hangs is ended by this signal.
        signal.alarm(LONGEST)
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(msgspec.json.encode(asdict(play(scene, seed))))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if not said:
        return Played(scene, seed, 0, 0, 0.0, f"the process ended with {os.waitstatus_to_exitcode(status)}")
    return msgspec.json.decode(said, type=Played)


def rounds(scenes: Sequence[str], minutes: float, first: int) -> Iterator[Played]:
    """Play until the time is over; the scene that got the least of it is next."""
    end, spent, seed = time.monotonic() + minutes * 60, dict.fromkeys(scenes, 0.0), first
    while time.monotonic() < end:
        scene = min(spent, key=lambda name: spent[name])
        played = play_forked(scene, seed)
        spent[scene] += max(played.seconds, 0.001)
        seed += 1
        yield played
