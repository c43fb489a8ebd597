"""A control plane whose nodes are kept alive and whose pods run, so far as kwok can tell."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Self

from tests.e2e.build import BIN, HERE
from tests.e2e.control_plane import GROUP_GATES, ControlPlaneWithGroups
from tests.e2e.guarded import GuardedControlPlane
from tests.process import Process, free_port, wait_until

NODES = 4
STAGES = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete")
"""What kwok does to nodes and pods; it has none built in, and reads them from its own module."""

LEASE_SECONDS = 40


class NodesAtWork(GuardedControlPlane):
    """Every controller runs, and kwok is the kubelet of ``NODES`` nodes."""

    disabled_admission = "DefaultStorageClass"
    apiserver_flags = (
        *GuardedControlPlane.apiserver_flags,
        *ControlPlaneWithGroups.apiserver_flags,
        "--allow-privileged=true",  # the pods of cases that write to volumes are
    )
    controllers = ("*",)
    controller_flags = (GROUP_GATES,)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._start_kwok()
            self.api.create_all(map(_node, range(NODES)))
            wait_until(self._are_nodes_ready, "nodes that are ready and have no taint")
        except BaseException:
            self.stop()
            raise
        return self

    def _start_kwok(self) -> None:
        port = free_port()
        process = Process(
            "kwok",
            [
                str(BIN / "kwok"),
                f"--kubeconfig={self.kubeconfig('admin')}",
                "--manage-all-nodes=true",
                f"--node-lease-duration-seconds={LEASE_SECONDS}",
                f"--server-address=127.0.0.1:{port}",
                *(f"--config={file}" for file in _stage_files()),
            ],
            self.directory / "kwok.log",
        )
        self._running.append(process)

    def _are_nodes_ready(self) -> bool:
        nodes = self.api.items("/api/v1/nodes")
        return len(nodes) == NODES and not any(node["spec"].get("taints") for node in nodes)


def _stage_files() -> list[Path]:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    found = subprocess.run(
        command, cwd=HERE / "tools" / "kwok", check=True, capture_output=True, text=True
    ).stdout
    return [Path(found.strip()) / "kustomize" / "stage" / f"{stage}.yaml" for stage in STAGES]


def _node(number: int) -> dict[str, object]:
    name = f"node-{number}"
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "region",
        "topology.kubernetes.io/zone": f"zone-{number % 2}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": f"10.1.0.{number + 1}"},
                {"type": "Hostname", "address": name},
            ],
        },
    }
