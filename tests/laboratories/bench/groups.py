"""Pods decided per second in groups: scheduler_perf's workloads of pod groups (Kubernetes 1.37).

Each group is decided as a whole, and its pods are counted on their nodes; nothing is bound. Every placement
is tried: 50 racks of 100 nodes each. A gang's milliseconds are the decision alone.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Pod, PodGroupInfo
from mooring.framework.objects import PodGroup
from mooring.kernels.compile import FEWEST_CALLS, wait_for_compiler
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import Manifest, node_manifest, pod_manifest
from mooring.testing.question import NoBinder
from tests.laboratories.bench.cluster import NODE_OFFERS, node_name
from tests.laboratories.bench.scheduler_perf import WITH_DEFAULT_SPREAD
from tests.laboratories.bench.shapes import BEFORE, MEASURED
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload

SEED = 42
RACK = "topology.kubernetes.io/rack"
NODES_PER_RACK = 100
VERSION = "1.37"
RATE, TIME = "pods/s", "gang ms"
GATES = ("GenericWorkload",)
TOPOLOGY_GATES = (*GATES, "TopologyAwareWorkloadScheduling")
SMALL = {"cpu": "100m", "memory": "100Mi"}


@dataclass(frozen=True, slots=True)
class Groups:
    """One workload: groups of equal pods.

    Attributes:
        name: scheduler_perf's.
        pods: The pods of each group.
        policy: The groups' scheduling policy.
        gates: The feature gates.
        key: The groups' topology label; "" = none.
        targets: As in ``Workload``.
        low_pods: How many less important pods are on each node before.
        uneven: Nodes differ in how many pods they have before, 0 to 6, and so does every rack.
        requests: The requests of a pod.
    """

    name: str
    pods: int
    policy: str = "gang"
    gates: tuple[str, ...] = TOPOLOGY_GATES
    key: str = ""
    targets: Mapping[str, str] | None = None
    low_pods: int = 0
    uneven: bool = False
    requests: Mapping[str, str] | None = None


WORKLOADS = (
    Groups("BasicScheduling", 3, policy="basic", gates=GATES),
    Groups("BasicScheduling", 1000, policy="basic", gates=GATES),
    Groups("GangScheduling", 3, gates=GATES),
    Groups("GangScheduling", 1000, gates=GATES),
    Groups("TopologyAwareScheduling", 4, key=RACK),
    Groups("TopologyAwareScheduling", 1000, key=RACK, targets={RATE: "5,000 / 10,000", TIME: "100 / 50"}),
    Groups("TopologyAwareScheduling", 1000, key=RACK, uneven=True),
    Groups("GangPreemptionBasic", 100, gates=GATES, low_pods=10, requests={"cpu": "3970m"}),
)


def workloads(size: Size) -> list[Workload]:
    """Return the default profile over all nodes, and over the hundred of scheduler_perf where victims are
    sought.
    """
    return [
        Workload(
            f"groups/{groups.name}/{nodes}Nodes_{groups.pods}PerGroup{'_Uneven' if groups.uneven else ''}",
            partial(_prepare, nodes, groups),
            targets=groups.targets or {},
            note="decided and counted, not bound",
        )
        for groups in WORKLOADS
        for nodes in [min(size.nodes, 100) if groups.low_pods else size.nodes]
    ]


class GroupCluster:
    """A cluster with an engine over it, and groups to come."""

    def __init__(self, groups: Groups, nodes: int) -> None:
        self._groups = groups
        self._numbers = itertools.count()
        self._state = State()
        rng = Random(SEED)
        counts = [rng.randrange(7) if groups.uneven else groups.low_pods for _ in range(nodes)]
        placed = [_low(at, number) for at, count in enumerate(counts) for number in range(count)]
        objects = [*(_node(at) for at in range(nodes)), *placed]
        self._state.replace("bench", [from_manifest(manifest) for manifest in objects])
        registry = new_in_tree_registry()
        gates = dict.fromkeys(groups.gates, True)
        configuration = from_document(
            WITH_DEFAULT_SPREAD, registry.catalog(), kube_version=VERSION, feature_gates=gates
        )
        self.engine = build_engine(
            configuration, registry, self._state, NoBinder(), kube_version=VERSION, feature_gates=gates
        )

    def next_group(self) -> PodGroupInfo:
        """Return the next group; it and its pods are in the state."""
        number = next(self._numbers)
        group = from_manifest(_group(self._groups, number))
        pods = [from_manifest(_member(self._groups, number, at)) for at in range(self._groups.pods)]
        assert isinstance(group, PodGroup)
        self._state.apply("groups", [Put(group), *map(Put, pods)])
        return PodGroupInfo(group, tuple(pod for pod in pods if isinstance(pod, Pod)))

    def decide(self, group: PodGroupInfo) -> GroupDecision:
        """Find nodes for the group, as far as there are any."""
        return self.engine.decide_group(group, self.engine.profile(), seed=SEED)

    def count(self, decision: GroupDecision) -> None:
        """Count the group's pods on their nodes."""
        for member in decision.placed:
            self._state.assume(member.pod, member.node_name)


def _prepare(nodes: int, groups: Groups, _running: ExitStack) -> Repeat:
    cluster = GroupCluster(groups, nodes)
    for _ in range(FEWEST_CALLS):
        cluster.decide(cluster.next_group())
    wait_for_compiler()
    _decide(cluster, groups, [cluster.next_group()])
    count = max(1, 300 // groups.pods)
    return lambda: _repeat(cluster, groups, count)


def _repeat(cluster: GroupCluster, groups: Groups, count: int) -> Sample:
    taken = _decide(cluster, groups, [cluster.next_group() for _ in range(count)])
    return {RATE: count * groups.pods / taken, TIME: taken / count * 1000}


def _decide(cluster: GroupCluster, groups: Groups, asked: list[PodGroupInfo]) -> float:
    """Decide the groups one after the other, and return the seconds that it took."""
    taken = 0.0
    for group in asked:
        began = time.perf_counter()
        decision = cluster.decide(group)
        taken += time.perf_counter() - began
        room = groups.low_pods and decision.preemption is not None and decision.preemption.victims
        if not room and len(decision.placed) < groups.pods:
            raise RuntimeError(f"group {group.key}: {decision.message}")
        cluster.count(decision)
    return taken


def _node(at: int) -> Manifest:
    labels = {"kubernetes.io/hostname": node_name(at), RACK: f"rack-{at // NODES_PER_RACK}"}
    return node_manifest(node_name(at), labels=labels, allocatable=NODE_OFFERS)


def _low(at: int, number: int) -> Manifest:
    pod = pod_manifest(f"low-{at}-{number}", namespace=BEFORE, requests={"cpu": "40m"})
    return {**pod, "spec": {**pod["spec"], "nodeName": node_name(at)}, "status": {"phase": "Running"}}


def _group(groups: Groups, number: int) -> Manifest:
    policy = {"basic": {}} if groups.policy == "basic" else {"gang": {"minCount": groups.pods}}
    spec: Manifest = {"schedulingPolicy": policy, "priority": 10 if groups.low_pods else 0}
    if groups.key:
        spec["schedulingConstraints"] = {"topology": [{"key": groups.key}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"gang-{number}", "namespace": MEASURED, "uid": f"gang-{number}"},
        "spec": spec,
    }


def _member(groups: Groups, number: int, at: int) -> Manifest:
    spec: Manifest = {"schedulingGroup": {"podGroupName": f"gang-{number}"}}
    if groups.low_pods:
        spec["priority"] = 10
    return pod_manifest(
        f"gang-{number}-{at}",
        namespace=MEASURED,
        requests=groups.requests or SMALL,
        spec=spec,
        metadata={"resourceVersion": "1"},
    )
