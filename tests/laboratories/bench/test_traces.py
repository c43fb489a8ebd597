"""How rows of traces become pods."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.laboratories.bench.traces import DLRM_PODS, RDMA, dlrm_pods, workloads
from tests.laboratories.bench.workload import QUICK

ROWS = """\
instance_sn,app_name,cpu_request,gpu_request,rdma_request,memory_request,disk_request,max_instance_per_node,creation_time
instance_0,app_0,12,1,25,120.0,640.0,-1,7.5
instance_1,app_1,64,0,1,320.0,255.0,2,
"""


def test_pods_of_services_come_in_the_order_of_their_creation(tmp_path: Path) -> None:
    with gzip.open(tmp_path / DLRM_PODS, "wt") as file:
        file.write(ROWS)
    first, second = dlrm_pods(tmp_path)
    asks = {"cpu": "64", "memory": "320Gi", "ephemeral-storage": "255Gi", RDMA: "1"}
    assert first == ("instance-1", asks, {"app": "app_1"}, None)
    assert (second.name, second.resources["example.com/gpu"]) == ("instance-0", "1")
    limited, free = dlrm_pods(tmp_path, apart=True)
    assert limited.spec is not None
    [rule] = limited.spec["topologySpreadConstraints"]
    assert (rule["maxSkew"], rule["labelSelector"]) == (2, {"matchLabels": {"app": "app_1"}})
    assert free.spec is None


def test_without_the_traces_there_are_no_workloads_of_them(tmp_path: Path) -> None:
    assert workloads(QUICK, tmp_path / "absent") == []
