"""Contestants that take turns of a fraction of a second, as a machine may be twice as fast seconds later.

Each has a control plane of its own. All of its programs stand still while it is another's turn, so that none
costs the others anything.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence

from tests.bench.observed import Bindings, cpu_milliseconds
from tests.bench.workload import Sample
from tests.process import Process

TURN_SECONDS = 0.25
LONGEST_SECONDS = 600.0


class Contestant:
    """The programs that bind somebody's pods; they stand still as soon as this is made.

    Args:
        programs: By role; those that ask come before those that answer.
        bindings: What they have bound, and go on to bind.
        enough: How many bindings are there to be made.
    """

    def __init__(self, programs: Mapping[str, Sequence[Process]], bindings: Bindings, enough: int) -> None:
        self._programs = programs
        self._bindings = bindings
        self._enough = enough
        self._seconds = 0.0
        self._signal(signal.SIGSTOP)
        self._early = bindings.count()
        self._before = cpu_milliseconds(programs)

    @property
    def done(self) -> bool:
        """Whether there is nothing left to bind."""
        return self._bindings.count() >= self._enough

    def resume(self) -> None:
        """Let the programs run."""
        self._signal(signal.SIGCONT)

    def take_turn(self) -> None:
        """Let the programs run for a while."""
        began = time.time()
        self.resume()
        time.sleep(TURN_SECONDS)
        self._signal(signal.SIGSTOP)
        ended = time.time()
        # Who has nothing left to do is not slow.
        self._seconds += (min(ended, self._bindings.last) if self.done else ended) - began

    def sample(self) -> Sample:
        """The rate in all turns so far, and the milliseconds of processor time a pod by role."""
        after, bound = cpu_milliseconds(self._programs), self._bindings.count() - self._early
        cpu = {f"{role} ms/pod": (after[role] - self._before[role]) / bound for role in self._programs}
        return {"pods/s": bound / self._seconds, **cpu}

    def _signal(self, number: signal.Signals) -> None:
        for processes in self._programs.values():
            for process in processes:
                # Who has ended takes no notice; asking for it would do away with what it has used.
                os.kill(process.pid, number)


def take_turns(contestants: Sequence[Contestant]) -> None:
    """Let each run again and again until one of them is done; who was first is last the next time.

    Raises:
        TimeoutError: None was done in time.
    """
    order, end = list(contestants), time.monotonic() + LONGEST_SECONDS
    while not any(contestant.done for contestant in order):
        if time.monotonic() > end:
            raise TimeoutError(f"nobody bound all pods within {LONGEST_SECONDS:.0f} s")
        for contestant in order:
            contestant.take_turn()
        order.reverse()
