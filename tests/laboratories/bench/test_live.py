"""Workloads of bench-cluster, and its comparison of schedulers."""

import gzip
from pathlib import Path

from tests.laboratories.bench.live import beside
from tests.laboratories.bench.live_workloads import openb
from tests.laboratories.bench.traces import GPU, OPENB_NODES, OPENB_PODS


def test_a_trace_becomes_nodes_and_the_first_of_its_pods(tmp_path: Path) -> None:
    tables = {
        OPENB_NODES: "sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,262144,0,\nn-1,96000,786432,8,G2\n",
        OPENB_PODS: "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        "p-0,500,64,0,0\np-1,6000,12288,2,1000\np-2,1,1,0,\n",
    }
    for name, text in tables.items():
        with gzip.open(tmp_path / name, "wt") as file:
            file.write(text)
    found = openb(tmp_path, 2)
    assert (found.name, found.enough) == ("OpenB2Nodes2Pods", 1)
    assert [node["status"]["allocatable"] for node in found.nodes] == [
        {"pods": "110", "cpu": "32000m", "memory": "262144Mi", GPU: "0"},
        {"pods": "110", "cpu": "96000m", "memory": "786432Mi", GPU: "8000"},
    ]
    assert [pod["spec"]["containers"][0]["resources"] for pod in found.pods] == [
        {"requests": {"cpu": "500m", "memory": "64Mi"}},
        {"requests": {"cpu": "6000m", "memory": "12288Mi", GPU: "2000"}, "limits": {GPU: "2000"}},
    ]


def test_rates_are_told_in_percent_of_the_base_in_the_same_round() -> None:
    found = {"base": {"pods/s": 200.0, "ms/pod": 1.0}, "other": {"pods/s": 150.0, "ms/pod": 2.0}}
    assert beside(found, "base")["other"] == {"pods/s": 150.0, "% of base": 75.0, "ms/pod": 2.0}
    assert beside(found, "absent") == found
