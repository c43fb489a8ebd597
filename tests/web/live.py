"""A live scheduler and its page: an API server of our own, `mooring scheduler` and `mooring web`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1.decision_service_pb2 import (
    Decision,
    DecisionFilter,
    ListDecisionsRequest,
    ListQueueRequest,
)
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from tests.cli.commands import ANY_PORT, BIN, program
from tests.cli.schedulers import pending, scheduler
from tests.fake_api_server import FakeApiServer
from tests.process import free_port, until

ZONE = "topology.kubernetes.io/zone"
MARKUP = "<img src=x onerror=window.hacked=1>"
"""Text that a page must show and never run."""


@dataclass(frozen=True)
class Live:
    """A running scheduler, its API server and its page."""

    api: FakeApiServer
    decisions: DecisionServiceStub
    url: str

    def decide(self, *manifests: dict[str, Any]) -> list[Decision]:
        """Add pods and return the first decision about each."""
        self.api.add(*manifests)
        return [self.decision(manifest["metadata"]["name"]) for manifest in manifests]

    def decision(self, pod: str) -> Decision:
        """Return the first decision about a pod, once there is one."""
        wanted = ListDecisionsRequest(filter=DecisionFilter(pod=pod), after_seq=0)
        until(lambda: self.decisions.ListDecisions(wanted).decisions, f"a decision about {pod}")
        return self.decisions.ListDecisions(wanted).decisions[0]


@contextmanager
def live_page(folder: Path, *more: dict[str, Any]) -> Iterator[Live]:
    """Run them until the end of the block: six nodes, seven pods placed, others that wait, and `more`."""
    with FakeApiServer() as api:
        api.add(*nodes(), *more, *pods())
        address = f"127.0.0.1:{free_port()}"
        flags = (f"--grpc-listen={address}", "--leader-elect=false")
        with (
            scheduler(api, folder, *flags) as started,
            web(folder, address) as url,
            grpc.insecure_channel(address) as channel,
        ):
            assert started.ready, started.log.read_text()
            decisions = DecisionServiceStub(channel)
            until(lambda: _settled(decisions), "decisions about all pods")
            yield Live(api, decisions, url)


@contextmanager
def web(folder: Path, address: str, *flags: object) -> Iterator[str]:
    """Run `mooring web` before a process, and yield the page's URL."""
    command = (BIN / "mooring", "web", "--server", address, "--listen", ANY_PORT, *flags)
    (folder / "web").mkdir(exist_ok=True)
    with program(folder / "web", *command) as started:
        assert started.ready, started.log.read_text()
        yield started.ready.split()[-1]


def nodes() -> list[dict[str, Any]]:
    """Return four nodes that take pods, a cordoned and a tainted one."""
    free = [
        node_manifest(
            f"worker-{zone}{number}",
            labels={ZONE: zone},
            allocatable={"cpu": 4 * number, "memory": "16Gi", "pods": 20},
        )
        for zone in ("a", "b")
        for number in (1, 2)
    ]
    cordoned = node_manifest("worker-cordoned", spec={"unschedulable": True})
    tainted = node_manifest(
        "worker-gpu", taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    )
    return [*free, cordoned, tainted]


def pods() -> list[dict[str, Any]]:
    """Return pods that fit, and pods that are too big, too picky, or gated."""
    fitting = [sized(f"web-{number}", "500m", "web") for number in range(7)]
    big = [sized(f"big-{number}", "64", "big") for number in range(3)]
    picky = sized("picky", "100m", "picky", nodeSelector={"disk": "nvme"})
    gated = pending("gated", schedulingGates=[{"name": "example.com/wait"}])
    return [*fitting, *big, picky, gated]


def sized(name: str, cpu: str, owner: str, **spec: Any) -> dict[str, Any]:
    """Return a pod of a ReplicaSet that requests so much."""
    owners = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": owner,
            "uid": f"uid-{owner}",
            "controller": True,
        }
    ]
    return pod_manifest(
        name,
        requests={"cpu": cpu, "memory": "128Mi"},
        labels={"app": owner},
        metadata={"ownerReferences": owners},
        spec={"schedulerName": "mine", **spec},
    )


def _settled(decisions: DecisionServiceStub) -> bool:
    try:
        counts = decisions.ListQueue(ListQueueRequest()).counts
        made = decisions.ListDecisions(ListDecisionsRequest(limit=1000)).decisions
    except grpc.RpcError:
        return False
    named = {decision.pod.name for decision in made}
    return len(named) >= 11 and sum(count.pod_count for count in counts) >= 5
