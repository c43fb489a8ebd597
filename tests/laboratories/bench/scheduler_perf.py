"""Decisions per second for each of scheduler_perf's workloads; each assumes its pod, nothing is bound."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from functools import partial

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework.objects import Pod
from mooring.kernels.compile import compile_ahead
from mooring.runtime.assembly import build_engine
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.cycle.tie_break import choose
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.question import NoBinder
from tests.laboratories.bench.families import FAMILIES, Family
from tests.laboratories.bench.workload import Repeat, Sample, Size, Workload, timed

SEED = 42
WARM_UP = 10
METRIC = "decisions/s"

WITH_DEFAULT_SPREAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
WITHOUT_DEFAULT_SPREAD = {
    **WITH_DEFAULT_SPREAD,
    "profiles": [
        {"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]},
    ],
}


def workloads(size: Size) -> list[Workload]:
    """Return the default profile over all nodes; kube-scheduler's own figures are next to it."""
    return [
        Workload(
            f"core/{family.name}/{_nodes(size, family)}Nodes",
            partial(_prepare, size, family),
            {METRIC: family.target},
            peers={METRIC: family.peer},
            note=family.note or "like pods, no churn",
        )
        for family in FAMILIES
    ]


def _nodes(size: Size, family: Family) -> int:
    return min(size.nodes, family.most_nodes)


class Cluster:
    """A family's cluster with an engine over it, and its pods to come."""

    def __init__(self, family: Family, nodes: int) -> None:
        self._family = family
        self._state = State()
        self._state.replace("bench", [from_manifest(manifest) for manifest in family.objects(nodes)])
        self._numbers = itertools.count()
        registry = new_in_tree_registry()
        document = WITH_DEFAULT_SPREAD if family.default_spread else WITHOUT_DEFAULT_SPREAD
        configuration = from_document(document, registry.catalog())
        self.engine = build_engine(configuration, registry, self._state, NoBinder())
        self._committer = Committer(BindingCycle(self.engine))
        self.decide(self.next_pods(int(nodes * family.reserved_per_node)))

    def next_pods(self, count: int) -> list[Pod]:
        """Return the next ``count`` pods to decide; what comes with them is in the state."""
        manifests = [self._family.pod(number) for number in itertools.islice(self._numbers, count)]
        beside = [item for manifest in manifests for item in self._family.with_pod(manifest)]
        self._state.apply("pods", [Put(from_manifest(item)) for item in beside])
        pods = [from_manifest(manifest) for manifest in manifests]
        return [pod for pod in pods if isinstance(pod, Pod)]

    def decide(self, pods: list[Pod]) -> int:
        """Find a node for each, and count it there; how many have one."""
        return sum(map(self._place, pods))

    def _place(self, pod: Pod) -> bool:
        profile = self.engine.profile()
        if self._family.preempts:
            _make_room(self.engine, pod)
        elif self._family.reserves:
            placed = self._committer.place_reserved(pod, profile, ALL_NODES, seed=SEED)
            if placed.reservation is None:
                raise RuntimeError(f"pod {pod.key}: {placed.status.message}")
        else:
            return self.engine.place(pod, profile, ALL_NODES, seed=SEED).node_name is not None
        return True


def _prepare(size: Size, family: Family, _running: ExitStack) -> Repeat:
    cluster = Cluster(family, _nodes(size, family))
    cluster.decide(cluster.next_pods(WARM_UP))
    compile_ahead(size.nodes)
    return lambda: _repeat(cluster, size.family_decisions)


def _repeat(cluster: Cluster, count: int) -> Sample:
    pods = cluster.next_pods(count)
    return {METRIC: count / timed(lambda: cluster.decide(pods))}


def _make_room(engine: Engine, pod: Pod) -> None:
    """Do the result of preemption and the pods' end: the victims go, and the pod takes their place."""
    run = partial(evaluate_preemption, given=None, seed=SEED)
    found = engine.evaluate(pod, engine.profile(), ALL_NODES, run=run)[0].preemption
    if found is None or not found.best:
        raise RuntimeError(f"pod {pod.key}: nobody can make room")
    node = found.best[choose(SEED, pod.metadata.uid, len(found.best))]
    [victims] = [candidate.victims for candidate in found.candidates if candidate.node_name == node]
    for victim in victims:
        engine.state.discard(victim.metadata.uid)
    engine.state.assume(pod, node)
