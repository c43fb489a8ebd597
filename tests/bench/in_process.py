"""Decisions per second in process: each assumes its pod, the next one sees it; nothing is bound."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.objects import Pod
from mooring.framework.quantity import Quantity
from mooring.runtime.assembly import build_engine
from mooring.runtime.choice import Choice
from mooring.runtime.cycle import CycleOptions
from mooring.runtime.engine import Engine, all_rows
from mooring.runtime.registry import new_in_tree_registry
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder
from tests.bench.cluster import POD_ASKS, node, own_request, pending_pod, uneven_node
from tests.bench.workload import Repeat, Sample, Size, Workload

SEED = 42
METRIC = "decisions/s"
TEMPLATES = 16
WARM_UP = 10

DECISIONS_TIMES = 5
"""So many times more decisions than elsewhere: these take microseconds."""

COMPARED = 1000
"""One decision in so many is compared with an evaluation in full."""

Requests = Callable[[int], Mapping[str, Quantity]]
"""What the pod with this number asks for."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Pods that are alike to some degree.

    Attributes:
        name: What they are called.
        requests: What they ask for.
        targets: By number of nodes: decisions per second at least, and those that are aimed at.
        node: The nodes that they go to.
        looks_at_all: Whether each of them is a first decision, which takes longer with more nodes.
    """

    name: str
    requests: Requests
    targets: Mapping[int, str]
    node: Callable[[int], Manifest] = node
    looks_at_all: bool = False

    def decisions(self, size: Size, nodes: int) -> int:
        """How many are decided about in one repeat."""
        most = DECISIONS_TIMES * size.decisions
        return max(most * size.nodes // nodes, WARM_UP) if self.looks_at_all else most


VARIANTS = (
    Variant(
        "OneTemplate",
        lambda _number: POD_ASKS,
        {5000: "50k / 200k", 100_000: "40k / 150k", 1_000_000: "20k / 100k"},
    ),
    Variant(f"{TEMPLATES}Templates", lambda number: own_request(number % TEMPLATES), {5000: "15k / 40k"}),
    Variant(
        "EachItsOwn",
        own_request,
        {5000: "8k / 15k", 100_000: "800 / 1.3k", 1_000_000: "60 / 100"},
        node=uneven_node,
        looks_at_all=True,
    ),
)


def workloads(size: Size) -> list[Workload]:
    """The default profile over all nodes, with pods that are alike to different degrees."""
    return [
        Workload(
            f"core/SchedulingBasic/{nodes}Nodes/{variant.name}",
            partial(_prepare, variant, nodes, variant.decisions(size, nodes)),
            {METRIC: variant.targets.get(nodes, "")},
        )
        for nodes in (size.nodes, *size.more_nodes)
        for variant in VARIANTS
        if nodes == size.nodes or nodes in variant.targets
    ]


def new_engine(nodes: int, make: Callable[[int], Manifest] = node) -> Engine:
    """An engine with the default profile over a state of its own."""
    state = State()
    state.replace("bench", (from_manifest(make(number)) for number in range(nodes)))
    registry = new_in_tree_registry()
    return build_engine(default(registry.catalog()), registry, state, NoBinder())


def _prepare(variant: Variant, nodes: int, decisions: int, _running: ExitStack) -> Repeat:
    engine = new_engine(nodes, variant.node)
    pods = (pending_pod(number, variant.requests(number)) for number in itertools.count())
    _decide(engine, list(itertools.islice(pods, WARM_UP)))
    return lambda: _repeat(engine, pods, decisions)


def _repeat(engine: Engine, pods: Iterator[Pod], decisions: int) -> Sample:
    seconds = 0.0
    for first in range(0, decisions, COMPARED):
        batch = list(itertools.islice(pods, min(COMPARED, decisions - first)))
        expected = engine.decide(batch[0], engine.profile(), all_rows, seed=SEED, options=CycleOptions())
        began = time.perf_counter()
        choices = _decide(engine, batch)
        seconds += time.perf_counter() - began
        _check(batch, choices, expected)
    return {METRIC: decisions / seconds}


def _decide(engine: Engine, pods: list[Pod]) -> list[Choice]:
    profile = engine.profile()
    return [engine.decide_and_assume(pod, profile, all_rows, seed=SEED) for pod in pods]


def _check(pods: list[Pod], choices: list[Choice], expected: Choice) -> None:
    """Every pod has a node, and the first one the node that an evaluation in full gives it."""
    for pod, choice in zip(pods, choices, strict=True):
        if choice.node_name is None:
            raise RuntimeError(f"pod {pod.key} found no node: {choice.message}")
    if (choices[0].node_name, choices[0].total) != (expected.node_name, expected.total):
        raise RuntimeError(f"{pods[0].key} belongs on {expected.node_name}, not on {choices[0].node_name}")
