"""Concurrent callers on a cluster that keeps changing, at full size and without a thread that is held.

``python -m tests.laboratories.histories.callers --rounds 1000 --calls 1000`` plays two things:

- *rounds*: two callers each place a pod with required anti-affinity by zone and a disk at the same time, on
  1,000 nodes of three zones. Both in one zone, and the rule is broken.
- *calls*: preemption is requested on 500 nodes. A call that fails is one too many.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import track

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.framework.objects import Node
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

ZONE = "topology.kubernetes.io/zone"
ZONES = 3


def engine_of(nodes: list[Node]) -> tuple[Engine, State]:
    """Return the default configuration over these nodes."""
    registry, state = new_in_tree_registry(), State()
    state.replace("nodes", nodes)
    return build_engine(default(registry.catalog()), registry, state, NoBinder()), state


def pod(name: str, **fields: Any) -> Pod:
    return make_pod(name, metadata={"uid": name}, **fields)


class Churn(threading.Thread):
    """Replaces small pods by others of their kind, two events at a time.

    Args:
        state: The state.
        count: The nodes, ``n0`` to ``n{count - 1}``, with ``each`` pods on every one.
        rate: Events a second.

    Attributes:
        events: How many there were.
    """

    def __init__(self, state: State, count: int, each: int, rate: float, requests: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.events = 0
        self._state = state
        self._rate = rate
        self._requests = requests
        self._stop_now = threading.Event()
        self._homes = {number: f"n{number % count}" for number in range(each * count)}
        state.replace("pods", [self._pod(number) for number in self._homes])

    def run(self) -> None:
        dice, number, began = random.Random(1), len(self._homes), time.monotonic()
        while not self._stop_now.is_set():
            gone = dice.choice(list(self._homes))
            self._homes[number] = self._homes.pop(gone)
            self._state.apply("pods", [Remove("Pod", "default", f"p{gone}"), Put(self._pod(number))])
            number, self.events = number + 1, self.events + 2
            late = began + self.events / self._rate - time.monotonic()
            self._stop_now.wait(max(late, 0))

    def end(self) -> None:
        """No more events."""
        self._stop_now.set()
        self.join()

    def _pod(self, number: int) -> Pod:
        return pod(f"p{number}", node=self._homes[number], requests=self._requests)


@contextmanager
def churning(state: State, count: int, each: int, rate: float, requests: dict[str, str]) -> Iterator[Churn]:
    churn = Churn(state, count, each, rate, requests)
    churn.start()
    try:
        yield churn
    finally:
        churn.end()


def apart(name: str, app: str) -> Pod:
    """Return a pod that shares its zone with none of its app; with a disk, it is evaluated in full."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    disk = {"name": "d", "gcePersistentDisk": {"pdName": name}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, labels={"app": app}, spec={"affinity": affinity, "volumes": [disk]})


class Caller(threading.Thread):
    """Places one pod as soon as all callers are there.

    Attributes:
        zone: The zone that it was placed in; None if it fits no node.
        failed: The call failed.
    """

    def __init__(self, engine: Engine, asked: Pod, start: threading.Barrier) -> None:
        super().__init__()
        self.zone: int | None = None
        self.failed = False
        self._engine = engine
        self._pod = asked
        self._begin = start
        self.start()

    def run(self) -> None:
        self._begin.wait()
        try:
            name = self._engine.place(self._pod, self._engine.profile(), ALL_NODES).node_name
        except MooringError:
            self.failed = True
        else:
            self.zone = None if name is None else int(name[1:]) % ZONES


def broken_rules(rounds: int, nodes: int, rate: float) -> tuple[int, int, float]:
    """Return how often the rule was broken and a call failed, and the events a second that there were."""
    engine, state = engine_of([make_node(f"n{at}", labels={ZONE: f"z{at % ZONES}"}) for at in range(nodes)])
    broken = failed = 0
    with churning(state, nodes, 1, rate, {"cpu": "10m"}) as churn:
        began = time.monotonic()
        for number in track(range(rounds), "two callers", transient=True):
            start, names = threading.Barrier(2), [f"r{number}-{at}" for at in range(2)]
            callers = [Caller(engine, apart(name, f"a{number}"), start) for name in names]
            for caller in callers:
                caller.join()
            zones = [caller.zone for caller in callers if caller.zone is not None]
            broken += len(set(zones)) < len(zones)
            failed += sum(caller.failed for caller in callers)
            for name in names:
                state.forget(name)
        return broken, failed, churn.events / (time.monotonic() - began)


def failed_preemptions(calls: int, nodes: int, rate: float) -> tuple[int, float]:
    """Return how many calls failed, and the events a second that there were."""
    engine, state = engine_of([make_node(f"n{at}", allocatable={"cpu": "4"}) for at in range(nodes)])
    failed, profile = 0, engine.profile()
    run = partial(evaluate_preemption, given=None, seed=1)
    with churning(state, nodes, 4, rate, {"cpu": "900m"}) as churn:
        began = time.monotonic()
        for number in track(range(calls), "preemption", transient=True):
            asked = pod(f"h{number}", requests={"cpu": "3"}, spec={"priority": 10})
            try:
                engine.evaluate(asked, profile, ALL_NODES, run=run)
            except MooringError:
                failed += 1
        return failed, churn.events / (time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.histories.callers", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=500, help="pod events a second")
    args = parser.parse_args()
    console = Console()
    broken, failed, rate = broken_rules(args.rounds, 1000, args.rate)
    console.print(
        f"{args.rounds} rounds at {rate:.0f} events/s: {broken} broken rules, {failed} failed calls"
    )
    rejected, rate = failed_preemptions(args.calls, 500, args.rate)
    console.print(f"{args.calls} preemptions at {rate:.0f} events/s: {rejected} failed calls")
    return 1 if broken or failed or rejected else 0


if __name__ == "__main__":
    raise SystemExit(main())
