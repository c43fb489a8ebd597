"""One round of a row: what it may choose, what it counts, and how it ends."""

from __future__ import annotations

import atexit
import logging
import random
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mooring.framework import Plugin
from tests.cluster.following import Following
from tests.fake_api_server import FakeApiServer
from tests.runtime.committing import World, committing

log = logging.getLogger(__name__)

HEALS_WITHIN = 120.0
"""Seconds after the last fault within which a followed state has to be what a fresh list is (I5). A busy
machine may need a minute."""

AT_END = ExitStack()
"""Objects that rows start once for all rounds of a process: they end with it, or with pytest's session."""
atexit.register(AT_END.close)

Item = TypeVar("Item")


@dataclass
class Round:
    """The setting of a row. The same seed makes the same choices; threads remain free in their order.

    Attributes:
        seed: The seed of ``dice``.
        size: The share of the full amount of work, in (0, 1].
        heals_within: Seconds that I5 leaves.
        binds: Bindings that the API accepted.
        faults: Things that went wrong on purpose.
        inputs: Calls, events or steps that were tried.
    """

    seed: int
    size: float = 1.0
    heals_within: float = HEALS_WITHIN
    binds: int = 0
    faults: int = 0
    inputs: int = 0
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def some(self, least: int, most: int) -> int:
        """Return a number between the two, cut down to the round's size; at least 1."""
        return max(1, round(self.dice.randint(least, most) * self.size))

    def count(self, fake: FakeApiServer) -> None:
        """Add what happened at an API server."""
        self.binds += len(list(fake.history.accepted_bindings()))
        self.faults += fake.faults.met

    def heal(self, live: Following) -> None:
        """End all faults; the state is what the server has soon after (I5)."""
        live.fake.faults.clear()
        live.wait_equal(self.heals_within)

    @contextmanager
    def binding(self, *plugins: type[Plugin[Any]], nodes: int, room: int, **how: Any) -> Iterator[World]:
        """Yield nodes ``n0``, ``n1``, ...; at the end all faults end, outcomes become known, and I1 to I4
        hold.
        """
        names = [f"n{at}" for at in range(nodes)]
        with committing(*plugins, nodes=names, room=room, **how) as world:
            yield world
            world.fake.faults.clear()
            world.settle(60.0)
            world.check(room)
            self.inputs += len(world.outcomes)
            self.count(world.fake)


def at_once(callers: int, call: Callable[[Item], Any], items: Sequence[Item]) -> list[Any]:
    """Call ``call`` for each item from ``callers`` threads; return the answers in order."""
    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(call, items))


@dataclass(frozen=True, slots=True)
class Row:
    """One of the rows of faults.

    Attributes:
        id: A1 to G5f.
        title: Its name.
        play: Plays one round; raises when an invariant is violated.
    """

    id: str
    title: str
    play: Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class Played:
    """The result of one round.

    Attributes:
        row: The row's id.
        seed: The round's seed.
        size: The share of the full amount of work.
        binds: Bindings that the API accepted.
        faults: Things that went wrong on purpose.
        inputs: Calls, events or steps that were tried.
        seconds: How long it took.
        violation: The broken invariant; "" = none.
    """

    row: str
    seed: int
    size: float
    binds: int
    faults: int
    inputs: int
    seconds: float
    violation: str = ""


def play(row: Row, round_: Round) -> Played:
    """Play a round; whatever it raises is a violation."""
    began = time.monotonic()
    violation = ""
    try:
        row.play(round_)
    except Exception as error:
        log.exception("row %s, seed %d", row.id, round_.seed)
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = "".join(traceback.format_exception_only(error)).strip()
        violation = f"{said} ({Path(where.filename).name}:{where.lineno}: {where.line})"
    seconds = round(time.monotonic() - began, 3)
    counted = (round_.binds, round_.faults, round_.inputs)
    return Played(row.id, round_.seed, round_.size, *counted, seconds, violation)
