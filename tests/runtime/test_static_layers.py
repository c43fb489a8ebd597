"""Pods that differ in labels that a selector names: what has nothing to do with these is found once."""

from __future__ import annotations

from collections import Counter

import pytest

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.plugin_calls import Observer
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder

HOST = "kubernetes.io/hostname"
NOTHING: Manifest = {}
NODES = tuple(f"n{number}" for number in range(8))
AVOIDED: Manifest = {"taints": [{"key": "full", "effect": "NoSchedule"}]}
ZONED: Manifest = {"taints": [{"key": "far", "effect": "PreferNoSchedule"}]}


class Asked(Observer):
    """Counts the calls of each plugin at each point."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def plugin_evaluated(self, plugin: str, point: str, profile: str, count: int = 1) -> None:
        self.counts[plugin, point] += count


class Sets:
    """Nodes and pods of StatefulSets; one pod is there that keeps those of the set `alone` from its node."""

    def __init__(self) -> None:
        self.asked = Asked()
        self.state = State()
        registry = new_in_tree_registry()
        self.engine = build_engine(
            default(registry.catalog()), registry, self.state, NoBinder(), observer=self.asked
        )
        self._pods = 0
        for name in NODES:
            self.node(name, {})
        terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "alone"}}}]
        rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        other = make_pod("other", spec={"nodeName": NODES[0], "affinity": rules}, metadata={"uid": "other"})
        self.state.apply("test", [Put(other)])

    def node(self, name: str, spec: Manifest) -> None:
        """A node, new or as it is from now on."""
        node = make_node(name, labels={HOST: name}, allocatable={"cpu": "8", "pods": "110"}, spec=spec)
        self.state.apply("test", [Put(node)])

    def place(self, app: str) -> None:
        """A pod of a set gets the node that it gets by a full evaluation."""
        self._pods += 1
        name = f"p{self._pods}"
        pod = make_pod(name, labels={"app": app}, requests={"cpu": "1"}, metadata={"uid": name})
        expected = self._in_full(pod)
        asked = self.asked.counts.copy()
        found = self.engine.place(pod, self.engine.profile(), ALL_NODES, seed=7)
        self.asked.counts.subtract(asked)
        last, self.asked.counts = +self.asked.counts, asked
        self.last = last
        assert (found.node_name, found.total, found.tie_count, found.feasible) == expected

    def _in_full(self, pod: Pod) -> tuple[object, ...]:
        whole = CycleOptions()
        found = self.engine.decide(pod, self.engine.profile(), ALL_NODES, seed=7, options=whole)
        return found.node_name, found.total, found.tie_count, found.feasible


def test_plugins_that_look_at_no_labels_are_asked_once() -> None:
    sets = Sets()
    for app in ("a", "a", "b"):
        sets.place(app)
    sets.place("c")
    assert {plugin for plugin, _ in sets.last} == {"InterPodAffinity", "PodTopologySpread"}


def test_pods_that_ask_for_the_same_share_what_resource_states_score() -> None:
    sets = Sets()
    for app in ("a", "a", "a", "b", "b", "b"):
        sets.place(app)
    sets.place("c")
    sets.place("c")
    assert ("NodeResourcesFit", "Score") not in sets.last


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({NODES[1]: AVOIDED}, id="a node is rejected from now on"),
        pytest.param(dict.fromkeys(NODES[2:], AVOIDED), id="few nodes are left"),
        pytest.param({NODES[2]: ZONED}, id="a score is scaled by the feasible nodes"),
        pytest.param({NODES[0]: AVOIDED, NODES[2]: ZONED}, id="the node that the terms reject goes"),
    ],
)
@pytest.mark.parametrize("apps", [("a", "b", "c"), ("a", "alone", "b"), ("alone", "a", "alone")])
def test_what_changes_below_changes_above(apps: tuple[str, ...], changes: dict[str, Manifest]) -> None:
    sets = Sets()
    for app in (*apps, *apps):
        sets.place(app)
    for specs in changes, dict.fromkeys(changes, NOTHING):
        for name, spec in specs.items():
            sets.node(name, spec)
        for app in (*apps, *apps):
            sets.place(app)
