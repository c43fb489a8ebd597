"""Decisions per second in process: each assumes its pod, the next one sees it; nothing is bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.objects import Pod
from mooring.framework.quantity import Quantity
from mooring.runtime.assembly import build_engine
from mooring.runtime.engine import Engine, all_rows
from mooring.runtime.registry import new_in_tree_registry
from mooring.testing.explaining import NoBinder
from tests.bench.cluster import POD_ASKS, node_manifests, own_request, pending_pod
from tests.bench.workload import Repeat, Sample, Size, Workload, timed

SEED = 42
TEMPLATES = 16
WARM_UP = 10

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
    return lambda: _repeat(engine, pods, size.decisions)


def _repeat(engine: Engine, pods: Iterator[Pod], decisions: int) -> Sample:
    batch = list(itertools.islice(pods, decisions))
    return {"decisions/s": decisions / timed(lambda: _decide(engine, batch))}


def _decide(engine: Engine, pods: list[Pod]) -> None:
    profile = engine.profile()
    for pod in pods:
        choice = engine.decide_and_assume(pod, profile, all_rows, seed=SEED)
        if choice.node_name is None:
            raise RuntimeError(f"pod {pod.key} found no node: {choice.evaluation.message}")
