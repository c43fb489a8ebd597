"""The pods of real clusters, in the order in which they came: 134 or 151 shapes, interleaved.

The traces are Alibaba's (alibaba/clusterdata): cluster-trace-gpu-v2023, which is called OpenB, and
cluster-trace-gpu-v2025, of services that serve recommendation models (DLRM). They are read where they lie;
without them there are no such workloads.
"""

from __future__ import annotations

import csv
import gc
import gzip
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mooring.framework import Pod
from mooring.kernels.compile import compile_ahead
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.engine import Engine
from mooring.testing.builders import Fields, make_pod
from tests.laboratories.bench.cluster import node
from tests.laboratories.bench.in_process import COMPARED, METRIC, SEED, check, new_engine, one_by_one
from tests.laboratories.bench.shapes import HOSTNAME
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

FOLDER = Path(__file__).parents[4] / "shared" / "traces"
OPENB_NODES = "openb_node_list_all_node.csv.gz"
OPENB_PODS = "openb_pod_list_default.csv.gz"
DLRM_PODS = "disaggregated_DLRM_trace.csv.gz"

GPU = "example.com/gpu-milli"
"""Thousandths of GPUs: pods of the trace share them, and no resource of Kubernetes names the GPU."""

RDMA = "example.com/rdma"
DLRM_NODE: Mapping[str, str] = {
    "cpu": "384",
    "memory": "2Ti",
    "pods": "110",
    "ephemeral-storage": "8Ti",
    "example.com/gpu": "8",
    RDMA: "400",
}
"""The trace has no nodes: these hold two of any of its pods."""

PODS = 8000
"""Decisions for each trace, or all its pods if there are fewer."""

SURE = 0.99
"""The share of a trace's pods that get a node wherever the others went: some ask for all that one has."""

DECISIONS = "30k / 100k"


class Traced(NamedTuple):
    """A pod or a node of a trace: what it asks for or offers, and what else is in its spec."""

    name: str
    resources: Mapping[str, str]
    labels: Mapping[str, str] = {}
    spec: Fields | None = None


def openb_nodes(folder: Path) -> Iterator[Traced]:
    """Yield the nodes of a production cluster with GPUs."""
    for row in _rows(folder / OPENB_NODES):
        gpus = str(1000 * int(row["gpu"]))
        offers = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", GPU: gpus}
        yield Traced(row["sn"], {**offers, "pods": "110"})


def openb_pods(folder: Path) -> Iterator[Traced]:
    """Yield the pods that came to them: 151 shapes among 8,152."""
    for row in _rows(folder / OPENB_PODS):
        gpus = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
        asks: dict[str, str] = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
        yield Traced(row["name"], {**asks, GPU: str(gpus)} if gpus else asks)


def dlrm_pods(folder: Path, *, apart: bool = False) -> Iterator[Traced]:
    """Yield the pods of 156 services, those that were there before the trace first: 134 shapes among 23,871.

    ``apart`` is the number of a service's pods that a node may have, by a hard spread over hosts: the nearest
    that Kubernetes has.
    """
    rows = sorted(_rows(folder / DLRM_PODS), key=lambda row: float(row["creation_time"] or 0))
    for row in rows:
        asks: dict[str, str] = {
            "cpu": row["cpu_request"],
            "memory": f"{float(row['memory_request']):.0f}Gi",
            "ephemeral-storage": f"{float(row['disk_request']):.0f}Gi",
            RDMA: row["rdma_request"],
        }
        if row["gpu_request"] != "0":
            asks["example.com/gpu"] = row["gpu_request"]
        labels, most = {"app": row["app_name"]}, int(row["max_instance_per_node"])
        spec = _at_most(most, labels) if apart and most > 0 else None
        yield Traced(row["instance_sn"].replace("_", "-"), asks, labels, spec)


def _at_most(count: int, labels: Mapping[str, str]) -> Fields:
    selector = {"labelSelector": {"matchLabels": dict(labels)}}
    rule = {"maxSkew": count, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", **selector}
    return {"topologySpreadConstraints": [rule]}


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        yield from csv.DictReader(text)


@dataclass(frozen=True, slots=True)
class Trace:
    """Pods that came to a cluster.

    Attributes:
        name: The name of the trace.
        pods: Reads them.
        nodes: Reads what the nodes offer, each of which is there about as often.
        target: Decisions per second at least, and those that are aimed at.
        note: A remark on the figure.
    """

    name: str
    pods: Callable[[Path], Iterator[Traced]]
    nodes: Callable[[Path], Iterator[Traced]]
    target: str
    note: str


def _dlrm_nodes(_folder: Path) -> Iterator[Traced]:
    yield Traced("", DLRM_NODE)


_FROM_NOTHING = (
    f"the first {PODS:,} pods in their order, on an empty cluster and with nothing cached in each repeat"
)
TRACES = (
    Trace(
        "OpenB", openb_pods, openb_nodes, DECISIONS, f"{_FROM_NOTHING}; the trace's nodes, all about as often"
    ),
    Trace("DLRM", dlrm_pods, _dlrm_nodes, DECISIONS, f"{_FROM_NOTHING}; equal nodes"),
    Trace(
        "DLRMAtMostSomeANode",
        partial(dlrm_pods, apart=True),
        _dlrm_nodes,
        "",
        f"{_FROM_NOTHING}; half of the pods are spread over hosts, as the trace limits them on a node",
    ),
)


def workloads(size: Size, folder: Path = FOLDER) -> list[Workload]:
    """Return the default profile over all nodes; nothing without the traces."""
    if not folder.is_dir():
        return []
    return [
        Workload(
            f"core/Traces/{size.nodes}Nodes/{trace.name}",
            partial(_prepare, trace, folder, size.nodes, min(PODS, 4 * size.decisions)),
            {METRIC: trace.target},
            note=trace.note,
        )
        for trace in TRACES
    ]


def _prepare(trace: Trace, folder: Path, nodes: int, most: int, _running: ExitStack) -> Repeat:
    offers = [node.resources for node in trace.nodes(folder)]
    pods = [
        make_pod(pod.name, requests=pod.resources, labels=pod.labels, spec=pod.spec)
        for pod in itertools.islice(trace.pods(folder), most)
    ]
    compile_ahead(nodes)

    def replay() -> Sample:
        engine = new_engine(nodes, lambda number: node(number, offers=offers[number * len(offers) // nodes]))
        # As in ``mooring scheduler`` after the first list.
        gc.collect()
        gc.freeze()
        return _replay(engine, pods)

    return replay


def _replay(engine: Engine, pods: Sequence[Pod]) -> Sample:
    """Decide about all ``pods``; the first of each ``COMPARED`` is compared with one in full."""
    decide, seconds, placed = one_by_one(engine), 0.0, 0
    for first in range(0, len(pods), COMPARED):
        some = pods[first : first + COMPARED]
        expected = engine.decide(some[0], engine.profile(), ALL_NODES, seed=SEED, options=CycleOptions())
        choices, took = decide(some)
        seconds += took
        check(some[:1], choices[:1], expected)
        placed += sum(choice.node_name is not None for choice in choices)
    if placed < SURE * len(pods):
        raise RuntimeError(f"{len(pods) - placed} of {len(pods)} pods found no node")
    return {METRIC: len(pods) / seconds}
