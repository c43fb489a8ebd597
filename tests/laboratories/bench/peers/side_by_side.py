"""The cost of one decision, on the clusters of one size with the same pods, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.laboratories.bench.peers.in_process import AS_ON_CLUSTERS, EVERY_NODE, MOORING, SAMPLED
from tests.laboratories.bench.peers.rounds import DECISION
from tests.laboratories.bench.workload import Figure, figures

BASE = "Mooring/InProcess"


def side_by_side(found: Sequence[Figure], nodes: int) -> list[Figure]:
    """Milliseconds of a decision, and how many times that of mooring in process; repeat by repeat.

    In a cluster it is the mean of the scheduler's own scheduling_algorithm_duration_seconds; API server and
    etcd share the machine then.
    """
    at = {(figure.workload, figure.metric): figure.values for figure in found}
    alone = f"decisions/{AS_ON_CLUSTERS.name}/{nodes}Nodes"
    cluster = f"{nodes}Nodes"
    sources = {
        "KubeScheduler/InProcess/EveryNode": _milliseconds(at.get((alone, EVERY_NODE), ())),
        "KubeScheduler/InCluster/EveryNode": at.get((f"{cluster}/KubeSchedulerEveryNode", DECISION), ()),
        "KubeScheduler/InProcess/Sampled": _milliseconds(at.get((alone, SAMPLED), ())),
        "KubeScheduler/InCluster/Sampled": at.get((f"{cluster}/KubeScheduler", DECISION), ()),
        BASE: _milliseconds(at.get((alone, MOORING), ())),
        "Mooring/InCluster": at.get((f"{cluster}/MooringScheduler", DECISION), ()),
    }
    return _compared({name: values for name, values in sources.items() if values}, nodes)


def _compared(sources: Mapping[str, Sequence[float]], nodes: int) -> list[Figure]:
    base = sources.get(BASE)
    if base is None or len(sources) == 1:
        return []
    return [
        figure
        for name, values in sources.items()
        for figure in figures(
            f"decision/{nodes}Nodes/{name}",
            [
                {"ms": value, f"times {BASE}": value / reference}
                for value, reference in zip(values, base, strict=True)
            ],
            {},
            {},
        )
    ]


def _milliseconds(rates: Sequence[float]) -> tuple[float, ...]:
    return tuple(1e3 / rate for rate in rates)
