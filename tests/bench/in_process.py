"""Decisions per second in process: each assumes its pod, the next one sees it; nothing is bound."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
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
from mooring.testing.question import NoBinder
from tests.bench.cluster import POD_ASKS, node_manifests, own_request, pending_pod
from tests.bench.workload import Repeat, Sample, Size, Workload

SEED = 42
TEMPLATES = 16
WARM_UP = 10

DECISIONS_TIMES = 5
"""So many times more decisions than elsewhere: these take microseconds."""

COMPARED = 1000
"""One decision in so many is compared with an evaluation in full."""

Requests = Callable[[int], Mapping[str, Quantity]]
"""What the pod with this number asks for."""


def workloads(size: Size) -> list[Workload]:
    """The default profile over all nodes, with pods that are alike to different degrees."""
    basic = f"core/SchedulingBasic/{size.nodes}Nodes"
    variants: list[tuple[str, Requests, str]] = [
        ("OneTemplate", lambda _number: POD_ASKS, "50k / 200k"),
        (f"{TEMPLATES}Templates", lambda number: own_request(number % TEMPLATES), "15k / 40k"),
        ("EachItsOwn", own_request, "8k / 15k"),
    ]
    return [
        Workload(f"{basic}/{variant}", partial(_prepare, size, requests), {"decisions/s": target})
        for variant, requests, target in variants
    ]


def new_engine(nodes: int) -> Engine:
    """An engine with the default profile over a state of its own."""
    state = State()
    state.replace("bench", [from_manifest(manifest) for manifest in node_manifests(nodes)])
    registry = new_in_tree_registry()
    return build_engine(default(registry.catalog()), registry, state, NoBinder())


def _prepare(size: Size, requests: Requests, _running: ExitStack) -> Repeat:
    engine = new_engine(size.nodes)
    pods = (pending_pod(number, requests(number)) for number in itertools.count())
    _decide(engine, list(itertools.islice(pods, WARM_UP)))
    return lambda: _repeat(engine, pods, DECISIONS_TIMES * size.decisions)


def _repeat(engine: Engine, pods: Iterator[Pod], decisions: int) -> Sample:
    seconds = 0.0
    for first in range(0, decisions, COMPARED):
        batch = list(itertools.islice(pods, min(COMPARED, decisions - first)))
        expected = engine.decide(batch[0], engine.profile(), all_rows, seed=SEED, options=CycleOptions())
        began = time.perf_counter()
        choices = _decide(engine, batch)
        seconds += time.perf_counter() - began
        _check(batch, choices, expected)
    return {"decisions/s": decisions / seconds}


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
