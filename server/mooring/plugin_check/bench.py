"""The cost of a plugin: processor time of decisions with and without it, and how its methods share that."""

from __future__ import annotations

import functools
import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from mooring.app.engine import Core
from mooring.cluster.kinds import ClusterObject
from mooring.framework import Pod
from mooring.plugin_check.clusters import MadeUp, keys_of, pods_to_ask
from mooring.plugin_check.findings import is_below
from mooring.plugin_check.source import ANSWERING
from mooring.plugin_check.subject import Subject
from mooring.runtime.answers import ALL_NODES

VALUES = [f"v{number}" for number in range(50)]
"""The values of labels and annotations on made-up nodes."""

TEMPLATES = 6
"""Number of pods that differ in their labels and annotations."""

ROUNDS, ROUND_SECONDS, ROUND_DECISIONS = 9, 0.1, 100
"""Number of rounds, the seconds of each, and the most decisions of each. Both sides alternate."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A measurement. Times are milliseconds of processor time: for the first decision, and for a later one.

    Attributes:
        nodes: The nodes of the cluster.
        without: The times of the default profile.
        having: The times of the default profile with the plugin.
        spent: By method of the plugin: the calls for the first decision, the calls for a later one, and the
            share of the later ones' time, 0 to 1.
        placed: The part of the pods that found a node, 0 to 1.
        kept: The part of later decisions that the cache answered, 0 to 1.
    """

    nodes: int
    without: tuple[float, float]
    having: tuple[float, float]
    spent: dict[str, tuple[float, float, float]]
    placed: float
    kept: float


class _Side:
    """An engine that decides about pods, each assumed before the next one."""

    def __init__(self, core: Core, templates: Sequence[Pod]) -> None:
        self.engine, self._templates, self._pods = core.engine, templates, _pods_like(templates)
        self.placed = self.decided = 0
        self.warm: list[float] = []

    def warm_up(self) -> None:
        """Decide about each template, and count from here."""
        for _ in self._templates:
            self.decide(1)
        self.placed = self.decided = 0

    def decide(self, most: int) -> float:
        """Decide for a while; returns milliseconds a decision."""
        profile, count, took, began = self.engine.profile(), 0, 0.0, time.thread_time()
        while count < most and took < ROUND_SECONDS:
            choice = self.engine.place(next(self._pods), profile, ALL_NODES, seed=count)
            self.placed += choice.node_name is not None
            count += 1
            took = time.thread_time() - began
        self.decided += count
        return took / count * 1000


def measured(
    subject: Subject,
    dump: Sequence[ClusterObject],
    nodes: int,
    shown: Callable[[Iterable[int], int], Iterable[int]] = lambda rounds, _: rounds,
) -> Bench:
    """Measure a plugin on a dump's objects, else on ``nodes`` made-up nodes; ``shown`` shows the progress.

    Raises:
        PluginFailureError: It fails.
    """
    even = MadeUp(keys_of(subject), random.Random(0), VALUES, even=True)  # noqa: S311 - to be repeated
    made = [even.node(f"n{number}") for number in range(nodes)]
    objects = dump or made
    templates = pods_to_ask(dump) or [even.pod(f"q{number}") for number in range(TEMPLATES)]
    makers = subject.without, subject.among_defaults
    for make in makers:
        # Loads and compiles all that is used.
        _Side(make(made[:9]), templates).warm_up()
    without, having = sides = [_Side(make(objects), templates) for make in makers]
    first = [side.decide(1) for side in sides]
    for side in sides:
        side.warm_up()
    hits = having.engine.cache_counts.hits
    for _ in shown(range(ROUNDS), ROUNDS):
        for side in sides:
            side.warm.append(side.decide(ROUND_DECISIONS))
    return Bench(
        len(having.engine.state.snapshot.nodes.index),
        (first[0], median(without.warm)),
        (first[1], median(having.warm)),
        _spent(subject, objects, templates),
        having.placed / having.decided,
        (having.engine.cache_counts.hits - hits) / having.decided,
    )


def _spent(
    subject: Subject, objects: Sequence[ClusterObject], templates: Sequence[Pod]
) -> dict[str, tuple[float, float, float]]:
    """Return where the time goes, from decisions in which each call is counted."""
    calls: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    methods = {name: getattr(subject.kind, name, None) for name in ANSWERING}
    own = {
        name: _counted(name, method, calls, seconds)
        for name, method in methods.items()
        if method and is_below(method.__module__, subject.home)
    }
    with patch.multiple(subject.kind, **own):  # type: ignore[call-overload] # no method is called "spec"
        side = _Side(subject.among_defaults(objects), templates)
        side.decide(1)
        first = Counter(calls)
        side.warm_up()
        calls.clear()
        seconds.clear()
        took = side.decide(ROUND_DECISIONS) * side.decided / 1000
    found = {
        name: (first[name] * 1.0, calls[name] / side.decided, seconds[name] / took) for name in first | calls
    }
    return found | {"everything else": (0.0, 0.0, 1 - sum(share for _, _, share in found.values()))}


def _counted(name: str, method: Any, calls: Counter[str], seconds: dict[str, float]) -> Callable[..., Any]:
    """Return a method that counts its calls and their processor time."""

    @functools.wraps(method)
    def call(*args: Any) -> Any:
        calls[name] += 1
        began = time.thread_time()
        try:
            return method(*args)
        finally:
            seconds[name] += time.thread_time() - began

    return call


def _pods_like(templates: Sequence[Pod]) -> Iterator[Pod]:
    """Yield pods like the first template, the second, and so on, again and again."""
    for number, template in enumerate(itertools.cycle(templates)):
        own = replace(template.metadata, name=f"bench-{number}", uid=f"bench-{number}")
        yield replace(template, metadata=own)
