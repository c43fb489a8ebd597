"""Pods bound per second: mooring's second scheduler and kube-scheduler in turns, on new control planes.

    python -m tests.bench.live --nodes 500 --pods 1000 --runs 5

Needs the programs of tests/e2e. All pods are there before the scheduler starts; the rate is taken between
the first and the last binding, by the audit log. Scheduler, API server and etcd share the machine.

Unless told otherwise it is a burst of like pods, while nothing else happens. With `--mixed` they are pods of
StatefulSets, with a label of their own each; of ten sets one is spread over zones, and one keeps its pods on
nodes of their own. With `--churn 50` so many running pods a second end, and as many others appear.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.cluster import POD_NAME
from tests.bench.report import FOLDER, publish
from tests.bench.shapes import ZONE
from tests.bench.steps import steps
from tests.bench.workload import Sample, figures
from tests.e2e import objects
from tests.e2e.api import Api
from tests.e2e.control_plane import ControlPlane
from tests.e2e.whole_schedulers import SCHEDULERS, StartScheduler

LONGEST_SECONDS = 600.0

Make = Callable[[int], dict[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=SCHEDULERS, help="measure one of the two")
    parser.add_argument("--mixed", action="store_true", help="pods that differ, instead of like ones")
    parser.add_argument(
        "--churn", type=int, default=0, metavar="COUNT", help="running pods replaced a second"
    )
    parser.add_argument("--record", action="store_true", help="write the tables into docs/figures.md, too")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(SCHEDULERS)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    with steps(arguments.runs * len(names)) as bar:
        for _ in range(arguments.runs):
            for name in names:
                bar.doing(name)
                rate = measure(
                    SCHEDULERS[name],
                    arguments.nodes,
                    arguments.pods,
                    make=mixed if arguments.mixed else replica,
                    churn=arguments.churn,
                )
                samples[name].append({"pods/s": rate})
                bar.done()
    group = f"{arguments.nodes}Nodes{arguments.pods}{'Mixed' if arguments.mixed else 'Like'}Pods"
    group += f"Churn{arguments.churn}" if arguments.churn else ""
    found = [figure for name in names for figure in figures(f"{group}/{name}", samples[name], {}, {})]
    publish(
        "Pods of a burst bound per second by whole schedulers",
        found,
        FOLDER / "cluster",
        f"bench-cluster {group}" if arguments.record else "",
    )
    return 0


def measure(start: StartScheduler, nodes: int, pods: int, *, make: Make, churn: int) -> float:
    """The rate of one run."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        plane.api.create_all(
            objects.node(node_name(number), {ZONE: f"zone-{number % 3}"}) for number in range(nodes)
        )
        plane.api.create_all(map(make, range(pods)))
        with churning(plane.api, nodes, churn) as begin, start(plane, Path(folder)):
            begin()
            wait_bound(plane, pods)
        times = binding_times(plane)
        return (len(times) - 1) / (times[-1] - times[0])


def replica(number: int) -> dict[str, Any]:
    """A pod like all the others, as a Deployment makes them."""
    pod = objects.pod(f"pod-{number:05}")
    pod["metadata"]["labels"] = {"app": "bench"}
    return pod


def mixed(number: int) -> dict[str, Any]:
    """A pod of a StatefulSet: it has a label of its own, and some have rules about their like."""
    pod = objects.pod(f"pod-{number:05}")
    app = f"set-{number // 20}"
    pod["metadata"]["labels"] = {"app": app, POD_NAME: pod["metadata"]["name"]}
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    rules = {
        3: {
            "topologySpreadConstraints": [
                {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector}
            ]
        },
        7: {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": objects.HOSTNAME, **selector}
                    ]
                }
            }
        },
    }
    pod["spec"] |= rules.get(number // 20 % 10, {})
    return pod


def node_name(number: int) -> str:
    return f"node-{number:05}"


def bystander(number: int, nodes: int) -> dict[str, Any]:
    """A pod that runs already."""
    return objects.pod(f"bystander-{number:05}", nodeName=node_name(number % nodes))


@contextmanager
def churning(api: Api, nodes: int, rate: int) -> Iterator[Callable[[], None]]:
    """Pods that run, as many as are replaced in ten seconds; from the call on ``rate`` of them a second."""
    running, end = 10 * rate, threading.Event()
    api.create_all(bystander(number, nodes) for number in range(running))

    def replace() -> None:
        for number in itertools.count():
            if end.wait(1 / rate):
                return
            gone = f"/api/v1/namespaces/default/pods/{bystander(number, nodes)['metadata']['name']}"
            api.call("DELETE", gone, {"gracePeriodSeconds": 0})
            api.create(bystander(running + number, nodes))

    thread = threading.Thread(target=replace)
    try:
        yield thread.start if rate else lambda: None
    finally:
        end.set()
        if thread.is_alive():
            thread.join()


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
