"""Rows S5 to S7: a pod with as many made-up names as an object holds, on 5,000 nodes."""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import grpc

from mooring.testing.builders import node_manifest
from mooring_client.v1 import nodes_pb2, objects_pb2, scheduling_service_pb2
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import serving_process, write_manifests
from tests.cli.schedulers import pending, scheduler
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.rounds import AT_END, Round, Row

log = logging.getLogger(__name__)

NODES, SOME_NODES = 5_000, 50
FOLLOWING = 20
WAIT_SECONDS = 1.0
"""The time that another pod may wait after one with many names."""

MORE_BYTES = 256 << 20
"""How much more memory the scheduler may take for such a pod at any time,"""

LEFT = 1.1
"""and the share of its earlier memory once the pod is gone."""

RETURN_SECONDS = 70.0
"""Freed memory is returned to the system twice in this time."""

QUIET_BYTES, QUIET_SECONDS = 1 << 20, 10.0
"""A process that grows by less in this time has warmed up."""

QUESTIONS = 12
SERVER_BYTES = 512 << 20
"""The bytes of memory that a server may have held after this many questions."""

Named = Callable[..., dict[str, Any]]
"""Gives the ``spec`` of a pod, and under ``metadata`` what its metadata has."""


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **fields}


def resources(count: int = 30_000) -> dict[str, Any]:
    asked = {f"a.b/r{at}": "1" for at in range(count)}
    return {"containers": [container(resources={"requests": asked, "limits": asked})]}


def overhead(count: int = 60_000) -> dict[str, Any]:
    return {"overhead": {f"a.b/r{at}": "1" for at in range(count)}}


def huge_pages(count: int = 30_000) -> dict[str, Any]:
    asked = {f"hugepages-{at}Mi": "1Mi" for at in range(count)}
    return {"containers": [container(resources={"requests": asked, "limits": asked})]}


def label_keys(count: int = 60_000) -> dict[str, Any]:
    return {"metadata": {"labels": {f"key-{at}": "v" for at in range(count)}}}


def annotated(count: int = 12_000) -> dict[str, Any]:
    """No more than 256 KiB, as the API server has it."""
    return {"metadata": {"annotations": {f"key-{at}": "value" for at in range(count)}}}


def owners(count: int = 12_000) -> dict[str, Any]:
    owner = {"apiVersion": "a.b/v1", "kind": "K", "uid": "u"}
    return {"metadata": {"ownerReferences": [{**owner, "name": f"o{at}"} for at in range(count)]}}


def node_selector(count: int = 60_000) -> dict[str, Any]:
    return {"nodeSelector": {f"key-{at}": "v" for at in range(count)}}


def node_affinity(count: int = 18_000) -> dict[str, Any]:
    """Preferred, so that other schedulers bind the pod."""
    return {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": f"k{at}", "operator": "Exists"}]},
                    }
                    for at in range(count)
                ]
            }
        }
    }


def tolerations(count: int = 30_000) -> dict[str, Any]:
    return {"tolerations": [{"key": f"key-{at}", "operator": "Exists"} for at in range(count)]}


def host_ports(count: int = 25_000) -> dict[str, Any]:
    ports = [{"containerPort": 1, "hostPort": 1 + at} for at in range(count)]
    return {"containers": [container(ports=ports)]}


def host_addresses(count: int = 18_000) -> dict[str, Any]:
    ports = [
        {"containerPort": 1, "hostPort": 80, "hostIP": f"10.{at >> 16}.{at >> 8 & 255}.{at & 255}"}
        for at in range(count)
    ]
    return {"containers": [container(ports=ports)]}


def images(count: int = 30_000) -> dict[str, Any]:
    return {"containers": [{"name": f"c{at}", "image": f"r/i{at}"} for at in range(count)]}


def topology_keys(count: int = 6_000) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": f"zone-{at}",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {f"app-{at}": "a"}},
            }
            for at in range(count)
        ]
    }


def namespaces(count: int = 60_000) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"app": "a"}},
        "topologyKey": "kubernetes.io/hostname",
        "namespaces": [f"namespace-{at}" for at in range(count)],
    }
    both = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    return {"affinity": {"podAffinity": both}}


def values(count: int = 60_000) -> dict[str, Any]:
    expressions = [{"key": "app", "operator": "NotIn", "values": [f"value-{at}" for at in range(count)]}]
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def volumes(count: int = 15_000) -> dict[str, Any]:
    claims = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": f"c{at}"}} for at in range(count)]
    return {"volumes": claims}


def drivers(count: int = 20_000) -> dict[str, Any]:
    return {"volumes": [{"name": f"v{at}", "csi": {"driver": f"d{at}.a.b"}} for at in range(count)]}


def claims(count: int = 20_000) -> dict[str, Any]:
    return {"resourceClaims": [{"name": f"r{at}", "resourceClaimName": f"c{at}"} for at in range(count)]}


def gates(count: int = 60_000) -> dict[str, Any]:
    return {"schedulingGates": [{"name": f"a.b/gate-{at}"} for at in range(count)]}


_KINDS: tuple[Named, ...] = (
    *(resources, overhead, huge_pages, label_keys, annotated, owners, node_selector, node_affinity),
    *(tolerations, host_ports, host_addresses, images, topology_keys, namespaces, values, volumes),
    *(drivers, claims, gates),
)
KINDS: Mapping[str, Named] = {made.__name__: made for made in _KINDS}


class Cluster:
    """Nodes and the scheduler at work on them, measured.

    Attributes:
        fake: The API server.
    """

    def __init__(self, folder: Path, nodes: int) -> None:
        self.fake = AT_END.enter_context(FakeApiServer())
        self.fake.add(*(node_manifest(f"n{at:04}") for at in range(nodes)))
        self._started = AT_END.enter_context(scheduler(self.fake, folder, "--leader-elect=false"))
        assert self._started.ready, self._started.log.read_text()
        self._count = 0
        self.waits()
        self._warm_up()
        # Bounded caches grow with the first large pods, and stay.
        for _ in range(2):
            self.pass_by(named("resources", running=False))

    def _warm_up(self) -> None:
        """Wait until its loops are compiled, in the background, for which numba takes 100 MB."""
        size = 0
        while self.resident() - size > QUIET_BYTES:
            size = self.resident()
            time.sleep(QUIET_SECONDS)

    def pass_by(self, pod: dict[str, Any]) -> tuple[list[float], list[float]]:
        """Add a pod for a while; return what ``waits`` returns at first, and then."""
        self.fake.add(pod)
        waits = self.waits(), self.waits()
        self.fake.remove("Pod", pod["metadata"]["name"], "default")
        self.waits()
        return waits

    def resident(self, field: str = "VmRSS") -> int:
        """Return the bytes of memory now, or with VmHWM the most since it was reset."""
        assert self._started.process.poll() is None, "the scheduler has ended"
        return self._started.memory(field)

    def reset_most(self) -> None:
        """Reset VmHWM."""
        Path(f"/proc/{self._started.process.pid}/clear_refs").write_text("5")

    def waits(self, longest: float = 60.0) -> list[float]:
        """Return the seconds that each of some pods waits, which come one after the other, ascending."""
        names = [f"p-{self._count + at}" for at in range(FOLLOWING)]
        self._count += FOLLOWING
        created = {}
        for name in names:
            created[name] = time.monotonic()
            self.fake.add(pending(name))
            time.sleep(0.02)
        bound: dict[str, float] = {}
        while time.monotonic() < created[names[-1]] + longest and not created.keys() <= bound.keys():
            time.sleep(0.01)
            bound = {call.call.path.split("/")[-2]: call.call.at for call in self.fake.history.bindings()}
        for name in names:
            self.fake.remove("Pod", name, "default")
        return sorted(bound.get(name, created[name] + longest) - created[name] for name in names)


@cache
def cluster(nodes: int) -> Cluster:
    """Return one for both rows in this process."""
    return Cluster(Path(AT_END.enter_context(tempfile.TemporaryDirectory())), nodes)


def named(name: str, *, running: bool) -> dict[str, Any]:
    """Return a pod that names what ``name`` says, on a node or pending."""
    spec = KINDS[name]()
    metadata = spec.pop("metadata", {})
    pod = pending(f"big-{name.replace('_', '-')}", **({"nodeName": "n0001"} if running else {}), **spec)
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


def beside(round_: Round, *, running: bool) -> None:
    """Pods of others behind one that names what it can; a small round plays one kind and judges nothing."""
    whole = round_.size == 1.0
    target = cluster(NODES if whole else SOME_NODES)
    for name in KINDS if whole else [round_.dice.choice([*KINDS])]:
        pod = named(name, running=running)
        target.waits()
        before = target.resident()
        target.reset_most()
        waits, later = target.pass_by(pod)
        most = target.resident("VmHWM")
        left = target.resident()
        end = time.monotonic() + RETURN_SECONDS
        while whole and left > LEFT * before and time.monotonic() < end:
            time.sleep(1)
            left = target.resident()
        round_.inputs += 2 * FOLLOWING
        round_.faults += 1
        shown = (
            f"{name}, {'running' if running else 'pending'}, {len(json.dumps(pod)) >> 10} kB: others wait "
            f"{waits[-1]:.2f} s, then {later[-1]:.2f} s; {before >> 20} MB, {most - before >> 20} more, "
            f"{left - before >> 20} left"
        )
        log.info("%s", shown)
        if whole:
            assert max(waits[-1], later[-1]) <= WAIT_SECONDS, shown
            assert most - before <= MORE_BYTES, shown
            assert left <= LEFT * before, shown


def questions(round_: Round) -> None:
    """Filter calls about pods that exist nowhere, each with other names; a small round judges nothing."""
    whole = round_.size == 1.0
    nodes = [node_manifest(f"n{at:04}") for at in range(NODES if whole else SOME_NODES)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        files = write_manifests(Path(folder) / "nodes.yaml", *nodes)
        started = running.enter_context(serving_process(Path(folder), "--source", f"files:{files}"))
        channel = running.enter_context(grpc.insecure_channel(started.address("grpc")))
        before = started.memory()
        for number in range(QUESTIONS if whole else 1):
            text = json.dumps(named("resources", running=False)).replace("a.b/", f"a{number}.b/")
            pod = objects_pb2.PodSource(object=objects_pb2.KubernetesObject(json=text.encode()))
            about = nodes_pb2.NodeSelection(all=nodes_pb2.AllNodes())
            request = scheduling_service_pb2.FilterRequest(pod=pod, nodes=about)
            SchedulingServiceStub(channel).Filter(request, timeout=60.0)
            round_.inputs += 1
        most = started.memory("VmHWM")
    round_.faults += 1
    log.info("%d questions: %d MB, at most %d", round_.inputs, before >> 20, most >> 20)
    assert not whole or most <= SERVER_BYTES


ROWS = (
    Row("S5", "names_of_pending_pods", lambda round_: beside(round_, running=False)),
    Row("S6", "names_of_running_pods", lambda round_: beside(round_, running=True)),
    Row("S7", "questions_with_names", questions),
)
