"""Contestants take turns of a fraction of a second, since a machine may be twice as fast seconds later.

Each has a control plane of its own. All of its programs stand still while it is another's turn, so that none
costs the others anything.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from tests.laboratories.bench.observed import Bindings, Programs, check_alive, cpu_milliseconds
from tests.laboratories.bench.workload import Sample

TURN_SECONDS = 0.25
SETTLING_SECONDS = 0.5
LONGEST_SECONDS = 1800.0


class Contestant:
    """The programs of one contestant; they stand still as soon as this is made.

    Args:
        programs: By role; those that ask come before those that answer.
        bindings: Their bindings so far, and the later ones.
        enough: How many bindings are there to be made.
    """

    def __init__(self, programs: Programs, bindings: Bindings, enough: int) -> None:
        self._programs = programs
        self._bindings = bindings
        self._enough = enough
        self._seconds = 0.0
        # Others may take a minute to begin, and etcd gives up a request after seconds: none is left undone.
        self._signal(signal.SIGSTOP, SETTLING_SECONDS)
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
        if self.done:
            # Who has nothing left to do is not slow.
            ended = min(ended, self._bindings.last)
        else:
            check_alive(self._programs)
        self._seconds += ended - began

    def sample(self) -> Sample:
        """Return the rate in all turns so far, and the milliseconds of processor time a pod by role."""
        after, bound = cpu_milliseconds(self._programs), self._bindings.count() - self._early
        cpu = {f"{role} ms/pod": (after[role] - self._before[role]) / bound for role in self._programs}
        return {"pods/s": bound / self._seconds, **cpu}

    def _signal(self, number: signal.Signals, pause: float = 0.0) -> None:
        """Send a signal to those that ask, and after ``pause`` seconds to those that answer."""
        for processes in self._programs.values():
            for process in processes:
                # `Process.signal` polls the process, which would lose its resource usage.
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)
            time.sleep(pause)


@contextmanager
def begun(programs: Programs, bindings: Bindings, enough: int) -> Iterator[Contestant]:
    """Yield a contestant that has bound a tenth, so all connections are open; at the end its programs run
    again, so that they can be ended.
    """
    bindings.wait(max(1, enough // 10), programs=programs)
    contestant = Contestant(programs, bindings, enough)
    try:
        yield contestant
    finally:
        contestant.resume()


def take_turns(contestants: Iterable[Contestant]) -> None:
    """Let each run again and again until all are done; who was first is last the next time.

    A scheduler that decides far ahead of its bindings has decided about all pods when it has bound a part of
    them. So each continues to the end, and its cost is for its bindings.

    Raises:
        RuntimeError: A program has ended.
        TimeoutError: It wasn't over in time.
    """
    order, end = list(contestants), time.monotonic() + LONGEST_SECONDS
    while not all(contestant.done for contestant in order):
        if time.monotonic() > end:
            raise TimeoutError(f"pods were not bound within {LONGEST_SECONDS:.0f} s")
        for contestant in order:
            if not contestant.done:
                contestant.take_turn()
        order.reverse()
