"""Bytes per node, per pod and per cached evaluation, each in a process of its own, and the time to start."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from mooring.cluster.decoding import decode_kind, decode_pod
from mooring.cluster.state import State
from mooring.framework.objects import Node, Pod
from mooring.kernels.compile import compile_ahead
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing.builders import Fields, Manifest, make_pod, pod_manifest
from tests.laboratories.bench.cluster import POD_ASKS, POD_NAME, node_manifests, node_name, own_request
from tests.laboratories.bench.in_process import SEED, check, new_engine
from tests.laboratories.bench.processes import serve_arguments, started
from tests.laboratories.bench.shapes import HOSTNAME
from tests.laboratories.bench.workload import Repeat, Size, Workload, timed

LABELS = 20
OWN_LABELS = 2
LABEL_SETS = 50
IMAGES = 40
SOURCE = "bench"

Meter = Callable[[], int]
Measured = Callable[[int, bool], float]
"""Takes how many there are, and whether allocations are counted; else resident memory grows."""

EVALUATED: Mapping[str, Callable[[Fields], Fields]] = {
    "OwnRequests": lambda _: {},
    "Spread": lambda like: {
        "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **like}]
    },
    "Apart": lambda like: {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [like]}}
    },
}
"""By name, the rest of the spec of evaluated pods, given the selector of pods like them on a host."""

EVALUATIONS = 50


def workloads(size: Size) -> list[Workload]:
    """Return the memory of the state for nodes and pods that came as JSON, and the start of a server without
    nodes.
    """
    nodes = f"memory/{size.nodes}Nodes/{LABELS}Labels{IMAGES}Images"
    return [
        Workload(nodes, partial(_prepare, per_node, size.nodes), {"allocated B/node": "1000 / 400"}),
        Workload(
            f"memory/{size.pods}Pods/OwnLabels",
            partial(_prepare, per_pod_of_its_own, size.pods),
            {"allocated B/pod": "700 / 400"},
            note="each with a label of its own, as pods of StatefulSets",
        ),
        Workload(
            f"memory/{size.pods}Pods/{LABEL_SETS}LabelSets",
            partial(_prepare, per_pod, size.pods),
            {"allocated B/pod": "600 / 300"},
            note=f"pods of {LABEL_SETS} Deployments",
        ),
        *(
            Workload(
                f"memory/{size.nodes}Nodes/CachedEvaluation/{name}",
                partial(_prepare, partial(per_evaluation, name), size.nodes),
                {"allocated B/node": "20 / 12"},
                note="of one evaluation and all that belongs to it, its four pods included",
            )
            for name in EVALUATED
        ),
        Workload("start/NoCluster", _prepare_start, {"ready s": "- / 2"}),
    ]


def _prepare(measured: Measured, count: int, _running: ExitStack) -> Repeat:
    unit = "B/pod" if measured in {per_pod, per_pod_of_its_own} else "B/node"
    return lambda: {
        f"allocated {unit}": _elsewhere(measured, count, True),
        f"resident {unit}": _elsewhere(measured, count, False),
    }


def _elsewhere(measured: Measured, count: int, traced: bool) -> float:
    """Measure in a fresh process, without earlier allocations."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, count, traced).result()


def per_node(count: int, traced: bool) -> float:
    """Return the bytes that the state keeps per node; ``traced`` counts allocations, else resident memory
    grows.
    """
    encoded = _encoded(node_manifests(count, extra_labels=LABELS - OWN_LABELS, images=IMAGES))
    state = State()

    def fill() -> None:
        state.replace(SOURCE, [decode_kind(item, Node) for item in encoded])

    return _growth(traced, fill) / count


def per_pod(count: int, traced: bool) -> float:
    """Return the same per bound pod, two on a node, of few label sets."""
    return _per_pod(count, traced, lambda number: {"app": f"app-{number % LABEL_SETS}"})


def per_pod_of_its_own(count: int, traced: bool) -> float:
    """Return the same where each has its name as a label."""
    return _per_pod(count, traced, lambda number: {"app": "set", POD_NAME: f"pod-{number}"})


def _per_pod(count: int, traced: bool, labels: Callable[[int], dict[str, str]]) -> float:
    nodes = -(-count // 2)
    state = State()
    state.replace("nodes", [decode_kind(item, Node) for item in _encoded(node_manifests(nodes))])
    encoded = _encoded(
        [
            pod_manifest(
                f"pod-{number}",
                labels=labels(number),
                node=node_name(number // 2),
                requests=POD_ASKS,
                metadata={"uid": f"pod-uid-{number}"},
            )
            for number in range(count)
        ]
    )
    return _growth(traced, lambda: state.replace(SOURCE, [decode_pod(item) for item in encoded])) / count


def per_evaluation(name: str, count: int, traced: bool) -> float:
    """Return the bytes that a cached evaluation of one of ``EVALUATED`` keeps per node, after as many
    others.
    """
    engine = new_engine(count)
    of_templates = [_evaluated(name, template) for template in range(2 * EVALUATIONS)]

    def place(templates: Sequence[Sequence[Pod]]) -> None:
        for pods in templates:
            for pod in pods:
                check([pod], [engine.place(pod, engine.profile(), ALL_NODES, seed=SEED)], None)

    compile_ahead(count)
    place(of_templates[:EVALUATIONS])
    return _growth(traced, lambda: place(of_templates[EVALUATIONS:])) / EVALUATIONS / count


def _evaluated(name: str, template: int) -> list[Pod]:
    labels = {"app": f"app-{template}"}
    spec = EVALUATED[name]({"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}})
    names = [f"{labels['app']}-{number}" for number in range(4)]
    return [make_pod(each, labels=labels, requests=own_request(template), spec=spec) for each in names]


def _encoded(manifests: list[Manifest]) -> list[bytes]:
    return [json.dumps(manifest, separators=(",", ":")).encode() for manifest in manifests]


def _growth(traced: bool, load: Callable[[], None]) -> int:
    if traced:
        tracemalloc.start()
    meter: Meter = _allocated if traced else resident
    gc.collect()
    before = meter()
    load()
    gc.collect()
    return meter() - before


def _allocated() -> int:
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _prepare_start(_running: ExitStack) -> Repeat:
    def start() -> None:
        stack.enter_context(started("mooring", *serve_arguments("push")))

    stack = ExitStack()

    def repeat() -> dict[str, float]:
        with stack:
            return {"ready s": timed(start)}

    return repeat
