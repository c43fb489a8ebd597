"""What a plugin costs a decision: processor time beside the default profile without it, and where it goes."""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from msgspec.structs import replace

from mooring.app.engine import Core
from mooring.cluster.kinds import ClusterObject
from mooring.framework import Plugin, Pod
from mooring.plugin_check.clusters import keys_of, pods_to_ask
from mooring.plugin_check.findings import is_below
from mooring.plugin_check.source import ANSWERING
from mooring.plugin_check.subject import Subject
from mooring.runtime.answers import ALL_NODES
from mooring.runtime.profiles.registry import Registry
from mooring.testing.builders import make_node, make_pod

VALUES = 50
"""Distinct values of each label on made-up nodes."""

TEMPLATES = 6
"""Pods that differ in their labels and annotations, in turn."""

ROUNDS, ROUND_SECONDS, ROUND_DECISIONS = 9, 0.1, 100
"""Both sides decide in turn, so many times, for so long, about at most so many pods."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured. Times are milliseconds of processor time a decision: the first one, and warm ones.

    Attributes:
        nodes: The nodes of the cluster.
        without: Of the default profile.
        having: Of the default profile with the plugin.
        spent: By method of the plugin: its calls for the first decision, those of a warm one, and its part of
            the time of warm ones, 0 to 1.
        placed: The part of the pods that found a node, 0 to 1.
        kept: The part of warm decisions that the cache answered, 0 to 1.
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
    keys = keys_of(subject)
    objects = dump or [_node(number, keys) for number in range(nodes)]
    templates = pods_to_ask(dump) or [_pod(number, keys) for number in range(TEMPLATES)]
    makers = subject.without, subject.among_defaults
    for make in makers:
        # Loads and compiles all that is used.
        _Side(make([_node(number, keys) for number in range(9)]), templates).warm_up()
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
    """Return where the time goes, from decisions by a class that counts: slower ones."""
    calls: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    registry = Registry()
    registry.merge(subject.registry)
    registry.unregister(subject.name)
    registry.register(subject.name, _counting(subject, calls, seconds))
    side = _Side(subject.among_defaults(objects, registry), templates)
    side.decide(1)
    first = Counter(calls)
    side.warm_up()
    calls.clear()
    seconds.clear()
    took = side.decide(ROUND_DECISIONS) * side.decided / 1000
    own = {
        name: (float(first[name]), calls[name] / side.decided, seconds[name] / took) for name in first | calls
    }
    return own | {"everything else": (0.0, 0.0, 1 - sum(share for _, _, share in own.values()))}


def _counting(subject: Subject, calls: Counter[str], seconds: dict[str, float]) -> type[Plugin[Any]]:
    """Return a class like the plugin's that counts the calls of its methods and their processor time."""

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any) -> Any:
            calls[name] += 1
            began = time.thread_time()
            try:
                return method(*args)
            finally:
                seconds[name] += time.thread_time() - began

        return call

    kind: Any = subject.kind
    methods = {name: getattr(kind, name, None) for name in ANSWERING}
    own = {
        name: counted(name, each)
        for name, each in methods.items()
        if each and is_below(each.__module__, subject.home)
    }
    counting: type[Plugin[Any]] = type(kind)(kind.__name__, (kind,), {**own, "__module__": kind.__module__})
    return counting


def _pods_like(templates: Sequence[Pod]) -> Iterator[Pod]:
    """Yield pods like the templates, in turn."""
    for number, template in enumerate(itertools.cycle(templates)):
        own = replace(template.metadata, name=f"bench-{number}", uid=f"bench-{number}")
        yield replace(template, metadata=own)


def _node(number: int, keys: Sequence[str]) -> ClusterObject:
    """Return a node with two thirds of the keys as labels and annotations."""
    pairs = {key: f"v{number % VALUES}" for at, key in enumerate(keys) if (number + at) % 3}
    metadata = {"annotations": pairs, "uid": f"n{number}"}
    offers = {"cpu": "4", "memory": "32Gi", "pods": 110}
    return make_node(f"n{number}", labels=pairs, allocatable=offers, metadata=metadata)


def _pod(number: int, keys: Sequence[str]) -> Pod:
    """Return a template; every other one has all keys as labels and annotations."""
    pairs = dict.fromkeys(keys if number % 2 else keys[-1:], f"v{number}")
    requests = {"cpu": "100m", "memory": "500Mi"}
    return make_pod(labels=pairs, requests=requests, metadata={"annotations": pairs})
