"""State, cache and engine: the bursts of the histories' threads, in interleavings that a seed repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from tests.laboratories.histories import in_threads
from tests.laboratories.histories.comparing import Tally
from tests.laboratories.histories.in_threads import InThreads
from tests.laboratories.interleavings.turns import Turns, taking_turns

BURSTS = 8


def play(seed: int) -> list[int]:
    """Play a history of bursts; return for each how often another thread got the turn.

    Raises:
        MismatchError: An answer was true at no moment between call and return, or a rule is broken.
    """
    dice, switches = Random(f"engine/{seed}"), list[int]()
    with taking_turns(), pytest.MonkeyPatch.context() as patch:

        def at_once(calls: Sequence[Callable[[], None]], _: list[BaseException]) -> None:
            turns = Turns(f"engine/{seed}/{len(switches)}")
            turns.run(calls)
            switches.append(turns.switches)

        patch.setattr(in_threads, "_at_once", at_once)
        with InThreads.playing(dice, Tally()) as history:
            for _ in range(BURSTS):
                history.step(dice)
    return switches
