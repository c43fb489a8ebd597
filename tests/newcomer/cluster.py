"""A cluster that a newcomer meets: pods that wait for reasons, a preemption, and a new configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from mooring.app.embedding import with_plugin
from mooring.app.scheduler import run_scheduler
from mooring.cli.main import _parser
from mooring.cli.scheduler import _scheduler_options
from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.v1.decision_service_pb2 import Decision, DecisionFilter, ListDecisionsRequest
from mooring_client.v1.decision_service_pb2_grpc import DecisionServiceStub
from tests.cli.commands import in_this_process, write_config
from tests.fake_api_server import FakeApiServer
from tests.process import free_port, until

RACK = "example.com/rack"
GPU = "example.com/gpu"


class OwnRack(FilterPlugin[None]):
    """The rule of the README."""

    name = "OwnRack"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = pod.metadata.annotations.get(RACK)
        fits = wanted in (None, node.labels.get(RACK))
        return SUCCESS if fits else Status.unschedulable("node(s) were in another rack")


@dataclass(frozen=True)
class Newcomer:
    """The running scheduler, and what a person knows of it.

    Attributes:
        server: Its gRPC address.
        kubeconfig: The file of its API server.
        before: The configuration with which it began.
        now: The configuration that it follows, which has changed since.
        stub: Its decisions.
    """

    server: str
    kubeconfig: str
    before: str
    now: str
    stub: DecisionServiceStub

    def decisions(self, pod: str) -> list[Decision]:
        """Return the decisions about a pod, the oldest first."""
        request = ListDecisionsRequest(filter=DecisionFilter(pod=pod))
        return list(self.stub.ListDecisions(request).decisions)


def nodes() -> list[dict[str, Any]]:
    """Return nodes with room, a full one, and one with GPUs and a taint."""
    gpu = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
    return [
        node_manifest("n1", labels={RACK: "r1"}, allocatable={"cpu": 4, "memory": "16Gi", "pods": 20}),
        node_manifest("n2", labels={RACK: "r2"}, allocatable={"cpu": 4, "memory": "16Gi", "pods": 20}),
        node_manifest("spare", allocatable={"cpu": 4, "memory": "16Gi", "pods": 20}),
        node_manifest("full", allocatable={"cpu": 2, "memory": "16Gi", "pods": 20}),
        node_manifest("gpu1", taints=[gpu], allocatable={"cpu": 8, "memory": "16Gi", "pods": 20, GPU: 2}),
    ]


def pods() -> list[dict[str, Any]]:
    """Return the pods that run, and those that come."""
    tolerant = [{"key": "gpu", "operator": "Exists"}]
    pinned = {"nodeSelector": {"kubernetes.io/hostname": "n2"}}
    scratch = [{"name": "scratch", "emptyDir": {}}]
    return [
        _pod("batch-0", {"cpu": "2"}, nodeName="full"),
        _pod("train-0", {"cpu": "1", GPU: "2"}, nodeName="gpu1", tolerations=tolerant, priority=100),
        _pod("web-0", {"cpu": "500m"}, nodeName="n1", priority=100, volumes=scratch),
        _pod("low-0", {"cpu": "3"}, nodeName="n2", priority=0),
        _pod("picky", {"cpu": "100m"}, nodeSelector={"disk": "nvme"}),
        _pod("render", {"cpu": "1", GPU: "1"}, tolerations=tolerant),
        _pod("vip", {"cpu": "4"}, priority=1000, **pinned),
        _pod("racked", {"cpu": "100m"}),
    ]


def _pod(name: str, requests: dict[str, str], **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"of-{name}", "uid": name}
    metadata: dict[str, Any] = {"ownerReferences": [{**owner, "controller": True}]}
    if name == "racked":
        metadata["annotations"] = {RACK: "r9"}
    spec["schedulerName"] = "mine"
    return pod_manifest(name, requests=requests, labels={"app": name}, metadata=metadata, spec=spec)


def _configuration(file: Path, *rules: str) -> str:
    enabled = [{"name": name} for name in rules]
    profile = {"schedulerName": "mine", "plugins": {"multiPoint": {"enabled": enabled}}}
    return str(write_config(file, profile, clientConnection={"qps": 5000, "burst": 5000}))


@contextmanager
def newcomer(folder: Path) -> Iterator[Newcomer]:
    """Run the scheduler until the end of the block; all pods were tried, and the configuration changed."""
    before, now = _configuration(folder / "before.yaml", "OwnRack"), folder / "mine.yaml"
    _configuration(now, "OwnRack")
    with FakeApiServer() as api:
        api.add(*nodes(), *pods())
        kubeconfig, address = str(api.kubeconfig(folder / "kubeconfig")), f"127.0.0.1:{free_port()}"
        flags = [f"--config={now}", f"--source=kubernetes:{kubeconfig}", f"--grpc-listen={address}"]
        flags += ["--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"]
        args = _parser(["scheduler"]).parse_args(["scheduler", *flags])
        options = _scheduler_options(args, (with_plugin("OwnRack", OwnRack),))
        with in_this_process(partial(run_scheduler, options)), grpc.insecure_channel(address) as channel:
            found = Newcomer(address, kubeconfig, before, str(now), DecisionServiceStub(channel))
            until(lambda: found.decisions("racked"), "a decision about racked")
            until(lambda: any(each.victims for each in found.decisions("vip")), "a preemption")
            _configuration(now)
            hashes = {each.provenance.configuration_hash for each in found.decisions("racked")}
            until(lambda: _tried_again(api, found, hashes), "another decision about racked")
            yield found


def _tried_again(api: FakeApiServer, found: Newcomer, hashes: set[str]) -> bool:
    """Say whether a pod was tried by another configuration; a label of a node wakes it."""
    api.add(node_manifest("n1", labels={RACK: "r1"}, allocatable={"cpu": 4, "memory": "16Gi", "pods": 20}))
    return any(each.provenance.configuration_hash not in hashes for each in found.decisions("racked"))
