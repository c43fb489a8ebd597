"""A kube-scheduler at work is recorded, and decided again: every pod goes to one of the best nodes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.process import Process

from . import processes
from .control_plane import ControlPlane
from .objects import RACK, container, node, node_affinity, pod, required_pod_affinity

pytestmark = pytest.mark.e2e

NODES, PODS = 60, 400
ALL_NODES = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 100,
}


def workload(number: int) -> dict[str, Any]:
    """Return pods of several shapes: sizes, preferences for racks, spread over them, and company."""
    made = pod(f"p{number}")
    made["metadata"]["labels"] = {"app": f"a{number % 7}"}
    spec = made["spec"]
    cpu = f"{50 * (1 + number % 5)}m"
    spec["containers"] = [container(cpu=cpu, memory=f"{64 * (1 + number % 3)}Mi")]
    if number % 4 == 1:
        spec["affinity"] = node_affinity(preferred={RACK: f"r{number % 3}"})
    if number % 4 == 2:
        selector = {"matchLabels": {"app": f"a{number % 7}"}}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 2,
                "topologyKey": RACK,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    if number % 40 == 3:
        spec["affinity"] = required_pod_affinity({"app": f"a{number % 7}"})
    return made


def test_a_recorded_kube_scheduler_is_replayed_without_drift(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    config = tmp_path / "all-nodes.yaml"
    config.write_text(json.dumps(ALL_NODES))
    control_plane.api.create_all(node(f"n{at}", {RACK: f"r{at % 3}"}) for at in range(NODES))
    recording = tmp_path / "recording"
    kubeconfig = control_plane.kubeconfig("admin")
    command = [sys.executable, "-m", "mooring", "record", str(recording), "--kubeconfig", str(kubeconfig)]
    recorder = Process("record", [*command, "--config", str(config)], tmp_path / "record.log")
    recorder.wait_line("mooring ready: ")
    scheduler = control_plane.scheduler(ALL_NODES)
    try:
        control_plane.api.create_all(workload(at) for at in range(PODS))
        control_plane.api.wait_pods_bound(PODS)
    finally:
        scheduler.stop()
        recorder.stop()
    found = json.loads(processes.mooring("replay", recording, "-o", "json"))
    assert found["compared"] == PODS
    assert set(found["endings"]) <= {"same", "tie"}, found["differing"]
