"""Workloads, their repeats, and the timing of calls."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

Sample = dict[str, float]
"""The figures of one repeat, by metric; a metric's name ends in its unit, such as ``p50 ms``."""

Repeat = Callable[[], Sample]
"""Measures once."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        nodes: Nodes of the cluster.
        more_nodes: Nodes of further clusters, for workloads that are also measured in large ones.
        few: Names in the smaller extender call.
        decisions: Decisions of one repeat in process.
        family_decisions: The same for each of scheduler_perf's workloads; the most for pods that differ.
        running: Pods that run where pods that differ are placed.
        pods: Pods in the measurement of memory.
        seconds: How long calls are repeated within one repeat.
        repeats: Repeats of each workload.
    """

    nodes: int = 5000
    more_nodes: tuple[int, ...] = (100_000, 1_000_000)
    few: int = 500
    decisions: int = 2000
    family_decisions: int = 300
    running: int = 50_000
    pods: int = 10_000
    seconds: float = 2.0
    repeats: int = 5


QUICK = Size(
    nodes=100,
    more_nodes=(),
    few=10,
    decisions=20,
    family_decisions=5,
    running=200,
    pods=50,
    seconds=0.05,
    repeats=2,
)
"""Shows that everything works; its figures mean nothing."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Something to measure.

    Attributes:
        name: Group, workload and variant, after scheduler_perf where it has the workload.
        prepare: Sets up, to be undone by the stack, and gives what measures.
        targets: By metric: the least figure to show, and the one that is aimed at.
        peers: By metric: what kube-scheduler reaches, measured elsewhere.
        note: A remark that a reader needs to interpret the figures.
    """

    name: str
    prepare: Callable[[ExitStack], Repeat]
    targets: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """All repeats of one metric."""

    workload: str
    metric: str
    values: tuple[float, ...]
    target: str = ""
    peer: str = ""
    note: str = ""

    @property
    def group(self) -> str:
        """The first part of the workload's name; a group shares a table and a picture."""
        return self.workload.partition("/")[0]

    @property
    def median(self) -> float:
        """The middle of the repeats."""
        return statistics.median(self.values)


def measure(workload: Workload, repeats: int, advance: Callable[[], None]) -> list[Figure]:
    """Prepare ``workload`` once and repeat it; ``advance`` is called after each repeat."""
    samples: list[Sample] = []
    # Garbage of the workload before is not collected in a decision of this one.
    gc.collect()
    with ExitStack() as running:
        repeat = workload.prepare(running)
        running.enter_context(nothing_old_collected())
        for _ in range(repeats):
            samples.append(repeat())
            advance()
    return figures(workload.name, samples, workload.targets, workload.peers, workload.note)


@contextmanager
def nothing_old_collected() -> Iterator[None]:
    """Keep the garbage collector off older objects, as in ``mooring scheduler`` after the first list."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def figures(
    name: str,
    samples: Sequence[Sample],
    targets: Mapping[str, str],
    peers: Mapping[str, str],
    note: str = "",
) -> list[Figure]:
    """Return the figures of all repeats of the workload ``name``, by metric."""
    return [
        Figure(
            name,
            metric,
            tuple(sample[metric] for sample in samples),
            targets.get(metric, ""),
            peers.get(metric, ""),
            note,
        )
        for metric in samples[0]
    ]


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that ``call`` takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def timed_for(seconds: float, call: Callable[[], object], at_least: int = 5) -> list[float]:
    """Return the seconds that each ``call`` took, one after the other for about ``seconds``."""
    took: list[float] = []
    ends = time.perf_counter() + seconds
    while len(took) < at_least or time.perf_counter() < ends:
        took.append(timed(call))
    return took


def calls_per_second(seconds: float, call: Callable[[], object], threads: int) -> float:
    """Return how many calls end per second when each of ``threads`` threads always waits for one."""
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        done = list(pool.map(lambda _: len(timed_for(seconds, call)), range(threads)))
        return sum(done) / (time.perf_counter() - began)


def timed_together(calls: Sequence[Callable[[], object]], threads: int) -> float:
    """Return the seconds that all ``calls`` take when each of ``threads`` threads always waits for one."""
    with ThreadPoolExecutor(threads) as pool:
        return timed(lambda: list(pool.map(lambda call: call(), calls)))


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the smallest value that ``percent`` of all are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
