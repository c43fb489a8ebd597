"""Pods bound per second: mooring's second scheduler and kube-scheduler in turns, on new control planes.

    python -m tests.bench.live --nodes 500 --pods 1000 --runs 5

Needs the programs of tests/e2e. All pods are there before the scheduler starts; the rate is taken between
the first and the last binding, by the audit log. Scheduler, API server and etcd share the machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.report import FOLDER, publish
from tests.bench.steps import steps
from tests.bench.workload import Sample, figures
from tests.e2e import objects
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import MooringScheduler

LONGEST_SECONDS = 600.0

Start = Callable[[ControlPlane, Path], AbstractContextManager[Any]]


def kube_scheduler(plane: ControlPlane, _: Path) -> AbstractContextManager[Any]:
    connection = {"kubeconfig": str(plane.kubeconfig("kube-scheduler")), "qps": 5000, "burst": 5000}
    return plane.scheduler({"clientConnection": connection})


def mooring(plane: ControlPlane, directory: Path) -> AbstractContextManager[Any]:
    config = {
        "profiles": [{"schedulerName": "default-scheduler"}],
        "leaderElection": {"leaderElect": False},
    }
    return MooringScheduler(directory, plane.kubeconfig("mooring"), config, "--v=0")


SCHEDULERS: dict[str, Start] = {"kube-scheduler": kube_scheduler, "mooring": mooring}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=SCHEDULERS, help="measure one of the two")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(SCHEDULERS)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    with steps(arguments.runs * len(names)) as bar:
        for _ in range(arguments.runs):
            for name in names:
                bar.doing(name)
                rate = measure(SCHEDULERS[name], arguments.nodes, arguments.pods)
                samples[name].append({"pods/s": rate})
                bar.done()
    group = f"{arguments.nodes}Nodes{arguments.pods}Pods"
    found = [figure for name in names for figure in figures(f"{group}/{name}", samples[name], {}, {})]
    publish("Pods bound per second by whole schedulers", found, FOLDER / "cluster")
    return 0


def measure(start: Start, nodes: int, pods: int) -> float:
    """The rate of one run."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        plane.api.create_all(objects.node(f"node-{number:05}") for number in range(nodes))
        plane.api.create_all(map(replica, range(pods)))
        with start(plane, Path(folder)):
            wait_bound(plane, pods)
        times = binding_times(plane)
        return (len(times) - 1) / (times[-1] - times[0])


def replica(number: int) -> dict[str, Any]:
    """A pod like all the others, as a Deployment makes them."""
    pod = objects.pod(f"pod-{number:05}")
    pod["metadata"]["labels"] = {"app": "bench"}
    return pod


def wait_bound(plane: ControlPlane, pods: int) -> None:
    """Looks now and then only: who looks takes time from what is measured."""
    end = time.monotonic() + LONGEST_SECONDS
    while len(plane.bindings()) < pods:
        if time.monotonic() > end:
            raise TimeoutError(f"{pods} pods were not bound within {LONGEST_SECONDS:.0f} s")
        time.sleep(1.0)


def binding_times(plane: ControlPlane) -> list[float]:
    """When each accepted binding was answered, in seconds."""
    return sorted(
        datetime.fromisoformat(event["stageTimestamp"]).timestamp()
        for event in plane.audited()
        if event["responseStatus"]["code"] == 201 and event["objectRef"].get("subresource") == "binding"
    )


if __name__ == "__main__":
    sys.exit(main())
