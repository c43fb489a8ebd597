"""Writes a workload of the OpenB trace as manifests, and the configurations that are compared on it.

    python openb.py NODES.csv.gz PODS.csv.gz DIRECTORY

The trace is alibaba/clusterdata's cluster-trace-gpu-v2023: `openb_node_list_all_node.csv` and a pod list.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

GPU_MILLI = "example.com/gpu-milli"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
BEST_FIT = {
    "scoringStrategy": {
        "type": "MostAllocated",
        "resources": [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU_MILLI)],
    }
}

Row = Mapping[str, str]


def rows(file: Path) -> Iterator[Row]:
    """Yield the lines of a CSV file, which may be compressed."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as text:
        yield from csv.DictReader(text)


def node(row: Row) -> dict[str, Any]:
    """Return a node of the trace."""
    amounts = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", "pods": "1000"}
    if int(row["gpu"]):
        amounts[GPU_MILLI] = str(1_000 * int(row["gpu"]))
    metadata = {"name": row["sn"], "labels": {"gpu-model": row["model"]} if row["model"] else {}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def pod(row: Row) -> dict[str, Any]:
    """Return a pod of the trace, pending."""
    count, milli, models = int(row["num_gpu"]), int(row["gpu_milli"]), row.get("gpu_spec", "")
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    notes = {}
    if count:
        requests[GPU_MILLI] = str(count * milli)
        spec["containers"][0]["resources"]["limits"] = {GPU_MILLI: str(count * milli)}
        notes = {"gpu-count": str(count), "gpu-milli": str(milli)}
    if models:
        wanted = [{"key": "gpu-model", "operator": "In", "values": models.split("|")}]
        terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    metadata = {"name": row["name"], "namespace": "default", "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def typical(pods: list[Row]) -> list[list[Any]]:
    """Return how often each kind of pod occurs, for FGD's arguments."""
    kinds = Counter(
        (
            int(row["cpu_milli"]),
            int(row["num_gpu"]),
            int(row["gpu_milli"]) * bool(int(row["num_gpu"])),
            row.get("gpu_spec", ""),
        )
        for row in pods
    )
    return [[*kind, count] for kind, count in kinds.most_common()]


def configuration(score: str, *arguments: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a configuration with the rules of the trace that scores by one plugin."""
    ledger = "PWR" if score == "PWR" else "FGD"
    enabled = {
        "preFilter": ["NodeAffinity", "NodeResourcesFit", ledger],
        "filter": ["NodeAffinity", "NodeResourcesFit", ledger],
        "score": [score],
        "reserve": [ledger],
    }
    points = {point: {"enabled": [{"name": name} for name in names]} for point, names in enabled.items()}
    points["multiPoint"] = {"disabled": [{"name": "*"}]}
    points["queueSort"] = {"enabled": [{"name": "PrioritySort"}]}
    points["bind"] = {"enabled": [{"name": "DefaultBinder"}]}
    config = [{"name": name, "args": dict(args)} for name, args in arguments]
    return {**HEAD, "profiles": [{"plugins": points, "pluginConfig": config}]}


def main(nodes: str, pods: str, directory: str) -> None:
    """Write everything."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    trace = list(rows(Path(pods)))
    items = [*map(node, rows(Path(nodes))), *map(pod, trace)]
    arguments = ("FGD", {"typical": typical(trace)})
    written = {
        "cluster.json": {"apiVersion": "v1", "kind": "List", "items": items},
        "FGD.json": configuration("FGD", arguments),
        "PWR.json": configuration("PWR"),
        "AlphaEvolve.json": configuration("Residual", arguments),
        "BestFit.json": configuration("NodeResourcesFit", arguments, ("NodeResourcesFit", BEST_FIT)),
    }
    for name, document in written.items():
        (folder / name).write_text(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
