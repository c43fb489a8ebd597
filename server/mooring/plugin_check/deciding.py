"""Decisions about many like pods, and the calls of the plugin that they need."""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from msgspec import structs

from mooring.app.engine import Core
from mooring.cluster.kinds import ClusterObject
from mooring.framework import Node, Pod
from mooring.plugin_check.clusters import made_up_for, pods_to_ask
from mooring.plugin_check.findings import is_below
from mooring.plugin_check.source import ANSWERING
from mooring.plugin_check.subject import Subject
from mooring.runtime.answers import ALL_NODES

VALUES = [f"v{number}" for number in range(50)]
"""The values of labels and annotations on made-up nodes."""

TEMPLATES = 6
"""Number of pods that differ in their labels and annotations."""

ROUND_SECONDS, ROUND_DECISIONS = 0.1, 100
"""The most time, and the most decisions, of one measurement."""


def cluster_of(
    subject: Subject, dump: Sequence[ClusterObject], nodes: int
) -> tuple[Sequence[ClusterObject], Sequence[Pod]]:
    """Return a dump's objects, else ``nodes`` made-up nodes, and the templates of pods to decide about."""
    even = replace(made_up_for(subject, 0), values=VALUES, even=True)
    objects = list(dump) or [even.node(f"n{number}") for number in range(nodes)]
    objects += even.measurements([item for item in objects if isinstance(item, Node)])
    templates = pods_to_ask(dump) or [even.pod(f"q{number}") for number in range(TEMPLATES)]
    # The first decision is about the pod with most to read.
    return objects, sorted(templates, key=lambda pod: len(pod.metadata.annotations), reverse=True)


class Decider:
    """An engine that decides about pods like the templates; each is assumed before the next one.

    Attributes:
        decided: The number of decisions since ``warm_up``.
        placed: The number of these pods that found a node.
    """

    def __init__(self, core: Core, templates: Sequence[Pod]) -> None:
        self.engine, self._templates, self._pods = core.engine, templates, _pods_like(templates)
        self.placed = self.decided = 0

    def warm_up(self) -> None:
        """Decide about each template."""
        for _ in self._templates:
            self.decide(1)
        self.placed = self.decided = 0

    def decide(self, most: int) -> float:
        """Decide about ``most`` pods, or as many as ``ROUND_SECONDS`` allow.

        Returns:
            Milliseconds of processor time a decision.
        """
        profile, count, took, began = self.engine.profile(), 0, 0.0, time.thread_time()
        while count < most and took < ROUND_SECONDS:
            choice = self.engine.place(next(self._pods), profile, ALL_NODES, seed=count)
            self.placed += choice.node_name is not None
            count += 1
            took = time.thread_time() - began
        self.decided += count
        return took / count * 1000


Spent = dict[str, tuple[float, float, float]]
"""By method: the calls for the first decision, those for a later one, and the share of the latter's time."""


def counted(subject: Subject, make: Callable[[], Decider]) -> tuple[Decider, Spent]:
    """Return a new decider that has decided, and the calls of the author's methods.

    It is slower than others: each call is counted.
    """
    calls: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    methods = {name: getattr(subject.kind, name, None) for name in (*ANSWERING, "evaluate")}
    own = {
        name: _counting(name, method, calls, seconds)
        for name, method in methods.items()
        if method and is_below(method.__module__, *subject.home)
    }
    with ExitStack() as patches:
        for name, method in own.items():
            patches.enter_context(patch.object(subject.kind, name, method))
        decider = make()
        decider.decide(1)
        first = Counter(calls)
        decider.warm_up()
        calls.clear()
        seconds.clear()
        took = decider.decide(ROUND_DECISIONS) * decider.decided / 1000
    each = {name: calls[name] / decider.decided for name in first | calls}
    return decider, {name: (first[name] * 1.0, later, seconds[name] / took) for name, later in each.items()}


def _counting(name: str, method: Any, calls: Counter[str], seconds: dict[str, float]) -> Callable[..., Any]:
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
        own = structs.replace(template.metadata, name=f"bench-{number}", uid=f"bench-{number}")
        yield structs.replace(template, metadata=own)
