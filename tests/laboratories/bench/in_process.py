"""Decisions per second in process: each assumes its pod, the next one sees it; nothing is bound.

Pods are decided by a call each, and, as ``InOneCall``, a thousand by one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.objects import Pod
from mooring.framework.quantity import Quantity
from mooring.kernels.compile import compile_ahead
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder
from tests.laboratories.bench.cluster import POD_ASKS, node, own_request, pending_pod, uneven_node
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

SEED = 42
METRIC = "decisions/s"
TEMPLATES = {16: "15k / 40k", 200: "30k / -", 1000: "20k / -", 5000: "10k / -"}
"""Decisions per second, the least and the aim, by the number of templates that alternate."""

WARM_UP = 10

DECISIONS_TIMES = 5
"""The factor by which there are more decisions than elsewhere: these take microseconds."""

NO_CHURN = "the decision before is all that changed"

COMPARED = 1000
"""The interval between decisions that are compared with a full evaluation."""

Decide = Callable[[Sequence[Pod]], tuple[Sequence[Choice], float]]
"""Decides about pods, each assumed before the next one; gives the seconds, too."""

Requests = Callable[[int], Mapping[str, Quantity]]
"""The requests of the pod with this number."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Pods that are alike to some degree.

    Attributes:
        name: The name of the pods.
        requests: Their requests.
        targets: By number of nodes: decisions per second at least, and those that are aimed at.
        node: The nodes that they go to.
        templates: The number of pods after which they repeat; 0 = never.
        note: A remark on the figure.
    """

    name: str
    requests: Requests
    targets: Mapping[int, str]
    node: Callable[[int], Manifest] = node
    templates: int = 0
    note: str = ""

    def decisions(self, size: Size, nodes: int) -> int:
        """Return how many are decided about in one repeat."""
        most = DECISIONS_TIMES * size.decisions
        # A first decision takes longer with more nodes.
        return most if self.templates else max(most * size.nodes // nodes, WARM_UP)


def _one_of(templates: int, number: int) -> Mapping[str, Quantity]:
    return own_request(number % templates)


VARIANTS = (
    Variant(
        "OneTemplate",
        lambda _number: POD_ASKS,
        {5000: "50k / 200k", 100_000: "40k / 150k", 1_000_000: "20k / 100k"},
        templates=1,
        note=f"no churn: {NO_CHURN}",
    ),
    *(
        Variant(
            f"{count}Templates",
            partial(_one_of, count),
            {5000: target},
            templates=count,
            note="requests differ, labels don't; no churn",
        )
        for count, target in TEMPLATES.items()
    ),
    Variant(
        "OwnRequests",
        own_request,
        {5000: "15k / 50k", 100_000: "800 / 1.3k", 1_000_000: "60 / 100"},
        node=uneven_node,
        note="requests alone differ from pod to pod, and what nodes offer; no churn",
    ),
)


def workloads(size: Size) -> list[Workload]:
    """Return the default profile over all nodes, with pods that are alike to different degrees."""
    return [
        Workload(
            f"core/SchedulingBasic/{nodes}Nodes/{variant.name}{way.name}",
            partial(_prepare, variant, way, nodes, variant.decisions(size, nodes)),
            {METRIC: variant.targets.get(nodes, "")},
            note=variant.note + way.note,
        )
        for nodes in (size.nodes, *size.more_nodes)
        for variant in VARIANTS
        if nodes == size.nodes or nodes in variant.targets
        for way in WAYS
        if way.alone or 0 < variant.templates < COMPARED
    ]


def new_engine(nodes: int, make: Callable[[int], Manifest] = node) -> Engine:
    """Return an engine with the default profile over a state of its own."""
    state = State()
    state.replace("bench", (from_manifest(make(number)) for number in range(nodes)))
    registry = new_in_tree_registry()
    return build_engine(default(registry.catalog()), registry, state, NoBinder())


def _prepare(variant: Variant, way: Way, nodes: int, decisions: int, _running: ExitStack) -> Repeat:
    engine = new_engine(nodes, variant.node)
    pods = (pending_pod(number, variant.requests(number)) for number in itertools.count())
    decide = way.decide(engine, variant.templates)
    decide(list(itertools.islice(pods, min(WARM_UP * max(variant.templates, 1), decisions))))
    compile_ahead(nodes)
    return lambda: _repeat(engine, decide, pods, decisions)


def _repeat(engine: Engine, decide: Decide, pods: Iterator[Pod], decisions: int) -> Sample:
    seconds = 0.0
    for first in range(0, decisions, COMPARED):
        batch = list(itertools.islice(pods, min(COMPARED, decisions - first)))
        expected = engine.decide(batch[0], engine.profile(), ALL_NODES, seed=SEED, options=CycleOptions())
        choices, took = decide(batch)
        seconds += took
        check(batch, choices, expected)
    return {METRIC: decisions / seconds}


def one_by_one(engine: Engine, _templates: int = 0) -> Decide:
    """A call for each pod."""
    profile = engine.profile()

    def decide(pods: Sequence[Pod]) -> tuple[Sequence[Choice], float]:
        began = time.perf_counter()
        choices = [engine.place(pod, profile, ALL_NODES, seed=SEED) for pod in pods]
        return choices, time.perf_counter() - began

    return decide


def _in_turn(engine: Engine, templates: int) -> Decide:
    """One call for all of them, given as a batch over gRPC has them: templates and columns."""
    profile = engine.profile()

    def decide(pods: Sequence[Pod]) -> tuple[Sequence[Choice], float]:
        like = [(pod, profile) for pod in pods[:templates]]
        indices = [at % templates for at in range(len(pods))]
        names, uids = ([getattr(pod.metadata, own) for pod in pods] for own in ("name", "uid"))
        began = time.perf_counter()
        choices = engine.place_batch(like, indices, names, uids, seed=SEED)
        return choices, time.perf_counter() - began

    return decide


class Way(NamedTuple):
    """A way to ask for many decisions; ``alone``: also when few or no pods of a call are alike."""

    name: str
    decide: Callable[[Engine, int], Decide]
    alone: bool
    note: str = ""


WAYS = (
    Way("", one_by_one, alone=True),
    Way("InOneCall", _in_turn, alone=False, note=f"; the share of a call of {COMPARED}, no latency"),
)


def check(pods: Sequence[Pod], choices: Sequence[Choice], expected: Choice | None) -> None:
    """Every pod has a node, and the first one that of an evaluation in full, if there was one."""
    for pod, choice in zip(pods, choices, strict=True):
        if choice.node_name is None:
            raise RuntimeError(f"pod {pod.key} found no node: {choice.message}")
    if expected and (choices[0].node_name, choices[0].total) != (expected.node_name, expected.total):
        raise RuntimeError(f"{pods[0].key} belongs on {expected.node_name}, not on {choices[0].node_name}")
