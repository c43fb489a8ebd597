"""``make bench-gate``: ratios of two speeds in the same run that must not fall below a limit.

The two sides of a ratio are measured alternately, so a slow or busy machine slows both; no time by itself
decides. A ratio is the median of a few repeats; one that is too low is measured again, and fails if it stays
too low. The limits are a third of the usual ratio, or less: they find code that became slow for a reason, not
chance.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import grpc
import numpy as np

from mooring.documents import read_documents, write_documents
from mooring.kernels.compile import wait_for_compiler
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.laboratories.bench.cluster import node_name, pending_pod
from tests.laboratories.bench.extender import listed, one_pod, reordered
from tests.laboratories.bench.families import FAMILIES
from tests.laboratories.bench.http_client import HttpClient
from tests.laboratories.bench.in_process import new_engine
from tests.laboratories.bench.processes import start_server
from tests.laboratories.bench.remote import BATCH, Changes, schedule_request
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.scheduler_perf import Cluster
from tests.laboratories.bench.steps import steps
from tests.laboratories.bench.variety import MIXES, Placing
from tests.laboratories.bench.workload import Figure, timed

ATTEMPTS = 3
"""Measurements of a ratio before it fails."""

REPEATS = 5
"""Repeats of an attempt; their median counts."""

KEPT_OVER_FULL = {"SchedulingBasic": 20, "TopologySpreading": 1.5, "SchedulingPodAntiAffinity": 1.5}
"""scheduler_perf's workloads whose decisions are compared with an evaluation in full."""

CHURNED = 200
"""Decisions of one measurement with churn."""

PASSES = 50
"""Passes over a column of all nodes that an evaluation in full is compared with."""

Measure = Callable[[], float]
"""The ratio, once."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster the first thing in the name is than the second.

    Attributes:
        name: The two things that are compared.
        least: The lowest median that passes.
        prepare: Sets up, to be undone by the stack, and gives what measures.
    """

    name: str
    least: float
    prepare: Callable[[ExitStack], Measure]


def ratios(nodes: int) -> list[Ratio]:
    """All there are, on clusters of ``nodes`` nodes."""
    return [
        *(
            Ratio(f"decision/{name}/KeptOverFull", least, partial(_kept_over_full, name, nodes))
            for name, least in KEPT_OVER_FULL.items()
        ),
        Ratio("decision/SchedulingBasic/FullOverNumpy", 0.03, partial(_full_over_numpy, nodes)),
        Ratio("decision/SchedulingBasic/ChurnOverQuiet", 0.03, partial(_churn_over_quiet, nodes)),
        Ratio("documents/JsonOverYaml", 5, partial(_json_over_yaml, nodes)),
        Ratio("grpc/BatchOverUnary", 10, partial(_batch_over_unary, nodes)),
        Ratio("grpc/UnaryOverNull", 0.25, partial(_unary_over_null, nodes)),
        Ratio("grpc/UnaryNewPodOverNull", 0.25, partial(_new_pod_over_null, nodes)),
        Ratio("extender/FilterPrioritizeOverNull", 0.03, partial(_extender_over_null, nodes)),
        Ratio("extender/ChangingOverNull", 0.03, partial(_changing_over_null, nodes)),
    ]


def _kept_over_full(name: str, nodes: int, _running: ExitStack) -> Measure:
    [family] = [family for family in FAMILIES if family.name == name]
    made = Cluster(family, nodes)
    engine, profile = made.engine, made.engine.profile()

    def measure() -> float:
        pods = made.next_pods(200)
        full = timed(
            lambda: [engine.decide(pod, profile, ALL_NODES, options=CycleOptions()) for pod in pods[:10]]
        )
        kept = timed(lambda: made.decide(pods))
        return (full / 10) / (kept / len(pods))

    return _warm(measure)


def _json_over_yaml(_nodes: int, _running: ExitStack) -> Measure:
    """Return the same hundred manifests in both languages."""
    labels = {"zone": "a"}
    items = [{"kind": "Node", "metadata": {"name": node_name(at), "labels": labels}} for at in range(100)]
    document = {"kind": "List", "items": items}
    in_json, in_yaml = json.dumps(document, indent=2), write_documents(document)
    return _in_turn(lambda: read_documents(in_json), lambda: read_documents(in_yaml))


def _full_over_numpy(nodes: int, _running: ExitStack) -> Measure:
    """Compare with passes over a column, as many as an evaluation could need."""
    engine = new_engine(nodes)
    profile, pods = engine.profile(), map(pending_pod, itertools.count())
    column, other, into = np.arange(1.0, nodes + 1), np.full(nodes, 3.0), np.empty(nodes)
    return _in_turn(
        lambda: engine.decide(next(pods), profile, ALL_NODES, options=CycleOptions()),
        lambda: [np.divide(column, other, into) for _ in range(PASSES)],
    )


def _churn_over_quiet(nodes: int, _running: ExitStack) -> Measure:
    """Compare decisions after the end of a pod and the health report of a node with decisions without
    changes.
    """
    [churn] = [mix for mix in MIXES if mix.name == "Churn/OneTemplate"]
    made = [Placing(mix, nodes, nodes) for mix in (churn, replace(churn, churn=False))]

    def measure() -> float:
        changing, quiet = (placing.decide(CHURNED, math.inf) for placing in made)
        return changing / quiet

    return _warm(measure)


def _channel(running: ExitStack, nodes: int) -> grpc.Channel:
    return running.enter_context(grpc.insecure_channel(start_server(running, nodes)["grpc"]))


def _batch_over_unary(nodes: int, running: ExitStack) -> Measure:
    schedule = SchedulingServiceStub(_channel(running, nodes)).Schedule
    numbers = itertools.count(step=BATCH)
    return _in_turn(
        lambda: schedule(schedule_request(BATCH, next(numbers))),
        lambda: schedule(schedule_request(1, next(numbers))),
        worth=BATCH,
    )


def _unary_over_null(nodes: int, running: ExitStack) -> Measure:
    channel = _channel(running, nodes)
    schedule, get_info = SchedulingServiceStub(channel).Schedule, ClusterServiceStub(channel).GetClusterInfo
    request, nothing = schedule_request(1, 0), cluster.GetClusterInfoRequest()
    return _in_turn(lambda: schedule(request), lambda: get_info(nothing))


def _new_pod_over_null(nodes: int, running: ExitStack) -> Measure:
    """Decide about a new pod, on a cluster with one changed row."""
    channel = _channel(running, nodes)
    schedule, get_info = SchedulingServiceStub(channel).Schedule, ClusterServiceStub(channel).GetClusterInfo
    numbers, nothing = itertools.count(), cluster.GetClusterInfoRequest()
    return _in_turn(
        lambda: schedule(schedule_request(1, next(numbers))),
        lambda: get_info(nothing),
        before=Changes(channel).next,
    )


NULL = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _extender_over_null(nodes: int, running: ExitStack) -> Measure:
    url = start_server(running, nodes)["extender"]
    client = running.enter_context(closing(HttpClient(url)))
    names = listed([node_name(number) for number in range(nodes // 10)])
    numbers = itertools.count()
    return _in_turn(lambda: one_pod(client, numbers, names), lambda: client.exchange(NULL))


def _changing_over_null(nodes: int, running: ExitStack) -> Measure:
    """Return the same with the names in another order for each pod, and a row that has changed."""
    server = start_server(running, nodes)
    client = running.enter_context(closing(HttpClient(server["extender"])))
    channel = running.enter_context(grpc.insecure_channel(server["grpc"]))
    names, numbers = reordered([node_name(number) for number in range(nodes // 10)]), itertools.count()
    return _in_turn(
        lambda: one_pod(client, numbers, names()),
        lambda: client.exchange(NULL),
        before=Changes(channel).next,
    )


def _in_turn(
    call: Callable[[], object],
    other: Callable[[], object],
    worth: int = 1,
    before: Callable[[], object] = lambda: None,
) -> Measure:
    """Return how many times faster ``call``, which does as much as ``worth`` others, is in the middle.

    ``before`` comes before each of them, outside the time.
    """

    def seconds(what: Callable[[], object]) -> float:
        before()
        return timed(what)

    def measure() -> float:
        took = [(seconds(call), seconds(other)) for _ in range(50)]
        return worth * statistics.median(b for _, b in took) / statistics.median(a for a, _ in took)

    return _warm(measure)


def _warm(measure: Measure) -> Measure:
    """Measure once without counting: the first time also fills the caches."""
    measure()
    wait_for_compiler()
    return measure


def judge(ratio: Ratio, advance: Callable[[], None]) -> tuple[float, ...]:
    """Return the repeats of the first attempt that passes, or else of the last."""
    with ExitStack() as running:
        measure = ratio.prepare(running)
        for _ in range(ATTEMPTS):
            values = tuple(measure() for _ in range(REPEATS))
            if statistics.median(values) >= ratio.least:
                break
    advance()
    return values


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER / "gate") -> int:
    """Measure all ratios and write the report.

    Returns:
        0; 1 if a ratio stayed too low.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.laboratories.bench.gate", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--nodes", type=int, default=5000, help="nodes of the clusters")
    parser.add_argument("--only", metavar="NAME", default="", help="ratios with NAME in their name")
    args = parser.parse_args(arguments)
    chosen = [ratio for ratio in ratios(args.nodes) if args.only in ratio.name]
    found: list[tuple[Ratio, Figure]] = []
    with steps(len(chosen)) as bar:
        for ratio in chosen:
            bar.doing(ratio.name)
            figure = Figure(f"gate/{ratio.name}", "times", judge(ratio, bar.done), f"{ratio.least:g} / -")
            found.append((ratio, figure))
    publish("Ratios that must hold", [figure for _, figure in found], folder)
    low = [(ratio, figure) for ratio, figure in found if figure.median < ratio.least]
    for ratio, figure in low:
        print(
            f"too low: {ratio.name} is {figure.median:.3g}, at least {ratio.least:g} is wanted",
            file=sys.stderr,
        )
    return 1 if low else 0


if __name__ == "__main__":
    raise SystemExit(main())
