"""A control plane with nodes that are kept alive and pods that run, as far as kwok can make them."""

from __future__ import annotations

from typing import Self

from tests.laboratories.e2e.control_plane import GROUP_GATES, ControlPlaneWithGroups
from tests.laboratories.e2e.guarded import GuardedControlPlane
from tests.laboratories.e2e.kubelets import start_kwok
from tests.process import wait_until

NODES = 4
STAGES = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete")
"""kwok's actions on nodes and pods."""

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
            kubeconfig = self.kubeconfig("admin")
            self._running.append(start_kwok(kubeconfig, self.directory, STAGES, LEASE_SECONDS))
            self.api.create_all(map(_node, range(NODES)))
            wait_until(self._are_nodes_ready, "nodes that are ready and have no taint")
        except BaseException:
            self.stop()
            raise
        return self

    def _are_nodes_ready(self) -> bool:
        nodes = self.api.items("/api/v1/nodes")
        return len(nodes) == NODES and not any(node["spec"].get("taints") for node in nodes)


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
