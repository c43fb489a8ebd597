"""scheduler_perf's workloads by name: what kind of pods they place among what kind of pods.

Shapes and proportions are those of ``test/integration/scheduler_perf`` of Kubernetes 1.36. There the earlier
pods are scheduled too; here the nodes get them one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mooring.testing.builders import Manifest, node_manifest
from tests.laboratories.bench.cluster import NODE_OFFERS, node_name
from tests.laboratories.bench.shapes import (
    BEFORE,
    DEVICES_PER_NODE,
    EXTENDED,
    HOSTNAME,
    MEASURED,
    ZONE,
    Make,
    bound_claim,
    claiming,
    csi_node,
    device_claim,
    device_class,
    device_slice,
    near,
    pod,
    spreading,
    waiting_claim,
    waiting_class,
    with_device_claim,
)


@dataclass(frozen=True, slots=True)
class Family:
    """One workload.

    Attributes:
        name: scheduler_perf's.
        pod: The pods that are measured.
        placed: The kinds of pods that are there before.
        placed_per_node: How many of each kind, for each node.
        zones: The zones that the nodes take turns in.
        tainted: Every n-th node has a taint that no pod tolerates; 0 = none.
        with_node: Objects that come with a node.
        with_pod: Objects that come with a pod.
        cluster: Objects that there are once.
        preempts: Whether the pods find room only by preemption.
        default_spread: Whether the profile has default spread constraints, like the default profile.
        peer: kube-scheduler 1.36.3 on 2 cores, all nodes evaluated / sampled, decisions/s, measured
            elsewhere.
        target: Decisions per second, the least and the aim.
        note: A remark on the figure.
        most_nodes: The most nodes.
        reserved_per_node: How many of the measured pods are placed before, for each node.
        gated_per_node: How many pods wait for a scheduling gate, for each node.
        reserves: Whether plugins reserve something for the pods, which is then part of the decision.
    """

    name: str
    pod: Make
    placed: tuple[Make, ...] = ()
    placed_per_node: float = 1.0
    zones: tuple[str, ...] = ()
    tainted: int = 0
    with_node: Callable[[str], list[Manifest]] = lambda _name: []
    with_pod: Callable[[Manifest], list[Manifest]] = lambda _pod: []
    cluster: tuple[Manifest, ...] = ()
    preempts: bool = False
    default_spread: bool = True
    peer: str = ""
    target: str = ""
    note: str = ""
    most_nodes: int = 1_000_000
    reserved_per_node: float = 0.0
    gated_per_node: float = 0.0
    reserves: bool = False

    def nodes(self, count: int) -> list[Manifest]:
        """Return the nodes."""
        return [
            node_manifest(
                node_name(at),
                labels={ZONE: self.zones[at % len(self.zones)]} if self.zones else {},
                allocatable=NODE_OFFERS,
                taints=[{"key": "foo", "effect": "NoSchedule"}]
                if self.tainted and at % self.tainted == 0
                else (),
            )
            for at in range(count)
        ]

    def objects(self, count: int) -> list[Manifest]:
        """Return the objects that are there before, on ``count`` nodes."""
        placed = [
            self._on_a_node(make(at), at % count)
            for make in self.placed
            for at in range(int(count * self.placed_per_node))
        ]
        gated = [GATED(at) for at in range(int(count * self.gated_per_node))]
        beside = [item for at in range(count) for item in self.with_node(node_name(at))]
        beside += [item for pod in placed for item in self.with_pod(pod)]
        return [*self.nodes(count), *placed, *gated, *beside, *self.cluster]

    @staticmethod
    def _on_a_node(pod: Manifest, at: int) -> Manifest:
        return {**pod, "spec": {**pod["spec"], "nodeName": node_name(at)}, "status": {"phase": "Running"}}


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "service", "namespace": MEASURED},
    "spec": {"selector": {"app": "scheduler-perf"}, "ports": [{"port": 80}]},
}
MOON = ("moon-1", "moon-2", "moon-3")
DEFAULT, DEFAULT_BEFORE = pod("pod"), pod("before", namespace=BEFORE)
ANTI_BEFORE, ANTI = near("podAntiAffinity", "green", HOSTNAME)
NEAR_BEFORE, NEAR = near("podAffinity", "blue", ZONE)
LIKES_BEFORE, LIKES = near("podAffinity", "red", HOSTNAME, preferred=True)
SHUNS_BEFORE, SHUNS = near("podAntiAffinity", "yellow", HOSTNAME, preferred=True)
IN_ZONES = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
REQUIRED_ZONES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [IN_ZONES]}]
        }
    }
}
GATED = pod("gated", namespace=BEFORE, spec={"schedulingGates": [{"name": "example.com/wait"}]})
SECRET = {"volumes": [{"name": "secret", "secret": {"secretName": "secret"}}]}
LOW = pod("low", namespace=BEFORE, requests={"cpu": "900m", "memory": "500Mi"})
ON_ONE_NODE = 100
"""The number of nodes on which pods of a DaemonSet run, one after the other; every cluster has them."""
HIGH = pod("high", requests={"cpu": "3", "memory": "500Mi"}, spec={"priority": 10})
GUARDED = pod("guarded", namespace=BEFORE, labels={"app": "guarded"}, requests={"cpu": "900m"})
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "guard", "namespace": BEFORE},
    "spec": {"selector": {"matchLabels": {"app": "guarded"}}, "maxUnavailable": 1},
    "status": {"disruptionsAllowed": 1},
}
TOO_LARGE = pod("large", requests={"cpu": "9", "memory": "500Mi"}, spec={"priority": 10})


WITH_RULES = "15k / 30k"
"""The target of like pods that have a rule about others."""

DEVICES_NOTE = "10 devices a node, half of them taken before; Reserve is part of the decision"


def _on_one_node(number: int) -> Manifest:
    field = {"key": "metadata.name", "operator": "In", "values": [node_name(number % ON_ONE_NODE)]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return pod("daemon", spec={"affinity": affinity})(number)


def _every_tenth_too_large(number: int) -> Manifest:
    return TOO_LARGE(number) if number % 10 == 9 else DEFAULT(number)


FAMILIES = (
    Family("SchedulingBasic", DEFAULT, (DEFAULT_BEFORE,), 0.2, peer="69 / 608"),
    Family("SchedulingPodAntiAffinity", ANTI, (ANTI_BEFORE,), 0.2, peer="55 / 142", target=WITH_RULES),
    Family(
        "SchedulingPodAffinity", NEAR, (NEAR_BEFORE,), zones=("zone1",), peer="69 / 98", target=WITH_RULES
    ),
    Family("SchedulingPreferredPodAffinity", LIKES, (LIKES_BEFORE,), peer="54 / 177", target=WITH_RULES),
    Family("SchedulingPreferredPodAntiAffinity", SHUNS, (SHUNS_BEFORE,), target=WITH_RULES),
    Family(
        "MixedSchedulingBasePod",
        DEFAULT,
        (DEFAULT_BEFORE, NEAR_BEFORE, ANTI_BEFORE, LIKES_BEFORE, SHUNS_BEFORE),
        0.4,
        zones=("zone1",),
    ),
    Family(
        "SchedulingNodeAffinity",
        pod("node-affinity", spec={"affinity": REQUIRED_ZONES}),
        (pod("before", namespace=BEFORE, spec={"affinity": REQUIRED_ZONES}),),
        zones=("zone1",),
        peer="92 / -",
    ),
    Family(
        "TopologySpreading",
        spreading({"color": "blue"}, maxSkew=5, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule"),
        (DEFAULT_BEFORE,),
        zones=MOON,
        peer="64 / 344",
        target=WITH_RULES,
    ),
    Family(
        "PreferredTopologySpreading",
        spreading({"color": "blue"}, maxSkew=5, topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway"),
        (DEFAULT_BEFORE,),
        zones=MOON,
        peer="58 / -",
        target=WITH_RULES,
    ),
    Family(
        "DefaultTopologySpreading",
        pod("pod", labels={"app": "scheduler-perf"}, requests={}),
        (DEFAULT_BEFORE,),
        zones=MOON,
        cluster=(SERVICE,),
        target=WITH_RULES,
    ),
    Family(
        "SchedulingWithNodeInclusionPolicy",
        spreading(
            {"foo": "bar"},
            maxSkew=1,
            topologyKey=HOSTNAME,
            whenUnsatisfiable="DoNotSchedule",
            nodeAffinityPolicy="Honor",
            nodeTaintsPolicy="Honor",
        ),
        tainted=5,
    ),
    Family("SchedulingSecrets", pod("secret", spec=SECRET), (pod("before", namespace=BEFORE, spec=SECRET),)),
    Family(
        "SchedulingCSIPVs",
        claiming("pod", MEASURED),
        (claiming("before", BEFORE),),
        with_node=csi_node,
        with_pod=bound_claim,
        target="10k / 20k",
    ),
    Family(
        "SchedulingCSIPVsWaiting",
        claiming("pod", MEASURED),
        with_node=csi_node,
        with_pod=waiting_claim,
        cluster=(waiting_class(),),
        reserves=True,
        note="claims that wait for their first consumer; Reserve is part of the decision",
    ),
    Family(
        "SchedulingDaemonset",
        _on_one_node,
        (DEFAULT_BEFORE,),
        0.2,
        note="each pod names its node",
        target="15k / 50k",
    ),
    Family(
        "SchedulingWhileGated",
        DEFAULT,
        (DEFAULT_BEFORE,),
        0.2,
        gated_per_node=2,
        note="two pods a node wait for a scheduling gate",
    ),
    Family(
        "SchedulingWithResourceClaimTemplate",
        with_device_claim("pod"),
        with_node=device_slice,
        with_pod=device_claim,
        cluster=(device_class(),),
        most_nodes=500,
        reserved_per_node=DEVICES_PER_NODE / 2,
        reserves=True,
        note=DEVICES_NOTE,
        target="2k / 5k",
    ),
    Family(
        "SchedulingWithExtendedResource",
        pod("pod", requests={EXTENDED: 1}),
        with_node=device_slice,
        cluster=(device_class(EXTENDED),),
        most_nodes=500,
        reserved_per_node=DEVICES_PER_NODE / 2,
        reserves=True,
        note=DEVICES_NOTE,
        target="5k / 10k",
    ),
    Family(
        "Unschedulable",
        _every_tenth_too_large,
        (DEFAULT_BEFORE,),
        0.2,
        note="a tenth fits nowhere; no preemption is tried",
    ),
    Family(
        "PreemptionBasic",
        HIGH,
        (LOW,),
        4,
        preempts=True,
        note="the search for victims on all nodes, their end, and the place taken",
        target="1k / 3k",
    ),
    Family(
        "PreemptionWithBudgets",
        HIGH,
        (LOW, GUARDED),
        2,
        cluster=(BUDGET,),
        preempts=True,
        note="as PreemptionBasic; a budget protects every other pod, and lets one go",
        target="1k / 3k",
    ),
)
