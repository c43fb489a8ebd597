"""kwok instead of kubelets: it runs no container, and reports pods and nodes like a kubelet."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.process import Process, free_port

from .build import BIN, HERE


def start_kwok(kubeconfig: Path, directory: Path, stages: Sequence[str], lease_seconds: int = 0) -> Process:
    """Start kwok for all nodes of a cluster.

    Args:
        kubeconfig: How to reach the cluster.
        directory: For its log.
        stages: Its actions, such as ``pod/fast/pod-ready``; it has none built in, and reads them from its own
            module.
        lease_seconds: How long its sign of life for a node counts; 0 = it gives none, and needs none to act.
    """
    return Process(
        "kwok",
        [
            str(BIN / "kwok"),
            f"--kubeconfig={kubeconfig}",
            "--manage-all-nodes=true",
            f"--node-lease-duration-seconds={lease_seconds}",
            f"--server-address=127.0.0.1:{free_port()}",
            *(f"--config={_module() / 'kustomize' / 'stage' / f'{stage}.yaml'}" for stage in stages),
        ],
        directory / "kwok.log",
    )


def _module() -> Path:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    found = subprocess.run(
        command, cwd=HERE / "tools" / "kwok", check=True, capture_output=True, text=True
    ).stdout
    return Path(found.strip())
