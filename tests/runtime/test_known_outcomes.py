"""Results of preemption on a node are used again: after any history the answer is that of a new engine, which
places the pods that it tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Part, Status
from mooring.framework.preemption import Candidate, Preemption
from mooring.plugins.default_preemption.victims import VictimSearch
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle import what_if
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions, evaluate_preemption
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder
from tests.examples import examples

NODES = tuple(f"n{number}" for number in range(4))
STARTS = (None, "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2999-01-01T00:00:00Z")
HOST_PORT: Manifest = {"containers": [{"name": "c", "image": "c", "ports": [{"hostPort": 80}]}]}
APART: Manifest = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
            ]
        }
    }
}
PREEMPTORS: dict[str, dict[str, Any]] = {
    "high": {"requests": {"cpu": "3"}, "spec": {"priority": 10}},
    "higher": {"requests": {"cpu": "4"}, "spec": {"priority": 20}},
    "with a port": {"requests": {"cpu": "1"}, "spec": {"priority": 10, **HOST_PORT}},
    "apart": {"requests": {"cpu": "3"}, "labels": {"app": "a"}, "spec": {"priority": 10, **APART}},
}


GATES = {"GenericWorkload": True}


def new_engine(state: State) -> Engine:
    registry = new_in_tree_registry()
    configuration = default(registry.catalog(), kube_version="1.37", feature_gates=GATES)
    return build_engine(configuration, registry, state, NoBinder(), kube_version="1.37", feature_gates=GATES)


class Crowded:
    """A full cluster, and an engine that remembers."""

    def __init__(self) -> None:
        self.state = State()
        self.engine = new_engine(self.state)
        for name in NODES:
            self.node(name, "4", False)
        for number in range(8):
            self.pod(number, NODES[number // 2], 1, STARTS[1], "2", False)
        self._count = 0

    def ask(self, template: str) -> None:
        """Who would have to go, of an engine that remembers and sums, and of a new one that places pods."""
        self._count += 1
        self._ask(template, f"u{self._count}")

    def _ask(self, template: str, uid: str) -> None:
        remembered = self.said(self.engine, template, uid)
        with patch.object(what_if, "NO_PODS", Part.NONE):
            assert remembered == self.said(new_engine(self.state), template, uid)

    def waiting(self, template: str, node: str) -> None:
        """Add a pod that has room on a node already; later pods know of it."""
        pod = make_pod("w", metadata={"uid": "w"}, **PREEMPTORS[template], status={"nominatedNodeName": node})
        self.state.apply("test", [Put(pod)])
        self._ask(template, "w")

    def placed(self, template: str) -> None:
        """Place a pod that fits, by the remembered results of pods that fit nowhere."""
        self._count += 1
        uid = f"u{self._count}"
        pod = make_pod(uid, metadata={"uid": uid}, **PREEMPTORS[template])
        engine = new_engine(self.state)
        expected = engine.decide(pod, engine.profile(), ALL_NODES, seed=3, options=CycleOptions())
        choice = self.engine.place(pod, self.engine.profile(), ALL_NODES, seed=3)
        assert (choice.node_name, choice.message) == (expected.node_name, expected.message)

    def said(self, engine: Engine, template: str, uid: str) -> tuple[list[Status], Preemption | None]:
        pod = make_pod(uid, metadata={"uid": uid}, **PREEMPTORS[template])
        run = partial(evaluate_preemption, given=None, seed=3)
        found, _ = engine.evaluate(pod, engine.profile(), ALL_NODES, run=run)
        return [found.statuses[code] for code in found.codes.tolist()], found.preemption

    def found(self, engine: Engine, template: str, uid: str) -> Preemption | None:
        return self.said(engine, template, uid)[1]

    def node(self, name: str, cpu: str, cordoned: bool) -> None:
        node = make_node(name, allocatable={"cpu": cpu, "pods": 9}, spec={"unschedulable": cordoned})
        self.state.apply("test", [Put(node)])

    def pod(
        self,
        number: int,
        node: str,
        priority: int,
        start: str | None,
        cpu: str,
        port: bool,
        group: str | None = None,
    ) -> None:
        spec: dict[str, Any] = {"priority": priority, **(HOST_PORT if port else {})}
        if group is not None:
            spec["schedulingGroup"] = {"podGroupName": group}
        status = {"startTime": start} if start else {}
        name = f"p{number}"
        pod = make_pod(
            name,
            node=node,
            labels={"app": f"a{number % 3}"},
            requests={"cpu": cpu},
            spec=spec,
            status=status,
            metadata={"uid": name},
        )
        self.state.apply("test", [Put(pod)])

    def gone(self, number: int) -> None:
        self.state.apply("test", [Remove("Pod", "default", f"p{number}")])

    def guest(self, number: int, node: str | None, priority: int) -> None:
        name = f"guest-{number}"
        pod = make_pod(
            name,
            requests={"cpu": "1"},
            spec={"priority": priority},
            status={"nominatedNodeName": node or ""},
            metadata={"uid": name},
        )
        self.state.apply("test", [Put(pod)])

    def budget(self, app: int, allowed: int | None) -> None:
        metadata = {"name": f"b{app}", "namespace": "default"}
        manifest = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"selector": {"matchLabels": {"app": f"a{app}"}}},
            "status": {"disruptionsAllowed": allowed or 0},
        }
        gone = Remove("PodDisruptionBudget", "default", f"b{app}")
        self.state.apply("test", [gone if allowed is None else Put(from_manifest(manifest))])

    def group(self, name: str, mode: str | None, priority: int) -> None:
        manifest = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"disruptionMode": {mode: {}}, "priority": priority},
        }
        gone = Remove("PodGroup", "default", name)
        self.state.apply("test", [gone if mode is None else Put(from_manifest(manifest))])

    def assumed(self, number: int, node: str) -> None:
        pod = make_pod("s", requests={"cpu": "500m"}, metadata={"uid": f"assumed-{number}"})
        self.state.forget(pod.metadata.uid)
        self.state.assume(pod, node)


GROUPS = "g", "h"
nodes = st.sampled_from(NODES)
steps = st.one_of(
    *[st.tuples(st.just("ask"), st.sampled_from(sorted(PREEMPTORS)))] * 4,
    st.tuples(st.just("waiting"), st.sampled_from(sorted(PREEMPTORS)), nodes),
    st.tuples(st.just("placed"), st.sampled_from(sorted(PREEMPTORS))),
    st.tuples(st.just("node"), nodes, st.sampled_from(("3", "4", "8")), st.booleans()),
    st.tuples(
        st.just("pod"),
        st.integers(0, 9),
        nodes,
        st.sampled_from((0, 1, 5, 15)),
        st.sampled_from(STARTS),
        st.sampled_from(("1", "2")),
        st.booleans(),
        st.sampled_from((None, None, *GROUPS)),
    ),
    st.tuples(
        st.just("group"),
        st.sampled_from(GROUPS),
        st.sampled_from((None, "single", "all", "all")),
        st.sampled_from((0, 1, 15)),
    ),
    st.tuples(st.just("gone"), st.integers(0, 9)),
    st.tuples(st.just("guest"), st.integers(0, 2), st.one_of(st.none(), nodes), st.sampled_from((0, 10))),
    st.tuples(st.just("budget"), st.integers(0, 2), st.sampled_from((None, 0, 1))),
    st.tuples(st.just("assumed"), st.integers(0, 5), nodes),
)


@examples(150)
@given(st.lists(steps, min_size=4, max_size=30))
def test_what_was_found_before_is_what_is_found_now(history: list[tuple[Any, ...]]) -> None:
    crowded = Crowded()
    for name, *arguments in history:
        getattr(crowded, name)(*arguments)


def test_a_group_takes_along_who_came_to_another_node_later() -> None:
    crowded = Crowded()
    crowded.group("g", "all", 0)
    crowded.pod(0, NODES[0], 1, STARTS[1], "2", False, "g")
    crowded.ask("high")
    crowded.pod(2, NODES[1], 1, STARTS[1], "2", False, "g")
    crowded.ask("high")
    preemption = crowded.found(crowded.engine, "high", "later")
    assert preemption is not None
    assert sorted(pod.metadata.name for pod in preemption.candidates[0].victims) == ["p0", "p1", "p2"]


def test_only_nodes_that_changed_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    on_nodes = VictimSearch.on_nodes

    def noting(self: VictimSearch, names: Sequence[str]) -> list[Candidate | Status]:
        searched.extend(names)
        return on_nodes(self, names)

    monkeypatch.setattr(VictimSearch, "on_nodes", noting)
    monkeypatch.setattr(what_if, "NO_PODS", Part.NONE)
    crowded = Crowded()
    crowded.found(crowded.engine, "high", "first")
    assert sorted(searched) == list(NODES)
    searched.clear()
    crowded.found(crowded.engine, "high", "second")
    assert searched == []
    crowded.pod(0, NODES[0], 1, STARTS[2], "2", False)
    crowded.guest(0, NODES[3], 10)
    crowded.found(crowded.engine, "high", "third")
    assert sorted(searched) == [NODES[0], NODES[3]]


def test_what_changes_during_a_search_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded, first, on_nodes = Crowded(), iter([True]), VictimSearch.on_nodes

    def changing(self: VictimSearch, names: Sequence[str]) -> list[Candidate | Status]:
        found = on_nodes(self, names)
        if next(first, False):
            for number in range(8):
                crowded.pod(number, NODES[number // 2], 1, STARTS[2], "1", False)
        return found

    monkeypatch.setattr(VictimSearch, "on_nodes", changing)
    monkeypatch.setattr(what_if, "NO_PODS", Part.NONE)
    crowded.ask("high")
    crowded.ask("high")


def test_two_searches_for_like_pods_at_the_same_time_are_both_right(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded, first, on_nodes = Crowded(), iter([True]), VictimSearch.on_nodes
    searched: list[str] = []

    def asking(self: VictimSearch, names: Sequence[str]) -> list[Candidate | Status]:
        if next(first, False):
            crowded.ask("high")
        else:
            searched.extend(names)
        return on_nodes(self, names)

    crowded.ask("high")
    crowded.pod(0, NODES[1], 1, STARTS[2], "1", False)
    monkeypatch.setattr(VictimSearch, "on_nodes", asking)
    monkeypatch.setattr(what_if, "NO_PODS", Part.NONE)
    crowded.ask("high")
    assert set(searched) == set(NODES)
    searched.clear()
    crowded.found(crowded.engine, "high", "later")
    assert searched == []
