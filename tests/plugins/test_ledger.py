"""A Ledger says what a rule says that counts the pods of each node by itself, however pods are decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    ActionType,
    CycleState,
    EventResource,
    FilterPlugin,
    Ledger,
    Node,
    NodeInfo,
    Normalizer,
    Plugin,
    Pod,
    QueueingHint,
    ScorePlugin,
    Status,
)
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder
from tests.examples import examples
from tests.plugins.harness import cluster, make, raw_scores, reasons, scored

SEATS, LICENCES = "example.com/seats", "example.com/licences"
RESERVED = Status.unresolvable("node(s) were reserved")
FULL = {SEATS: "node(s) had no seat", LICENCES: "node(s) had no licence"}


def held(pod: Pod, key: str) -> int:
    return int(pod.metadata.labels.get(key, "0"))


def offered(node: Node, key: str) -> int | Status:
    """Four, unless the node's label says otherwise; "x" is out of scope."""
    text = node.metadata.labels.get(key, "4")
    return RESERVED if text == "x" else int(text)


class Seats(Ledger[None]):
    name, full, key = "Seats", FULL[SEATS], SEATS

    def amount(self, pod: Pod) -> int:
        return held(pod, self.key)

    def capacity(self, node: Node) -> int | Status:
        return offered(node, self.key)


class Licences(Seats):
    name, full, key = "Licences", FULL[LICENCES], LICENCES
    normalizer = Normalizer.BY_MAX_REVERSED


class CountedSeats(FilterPlugin[None], ScorePlugin[None]):
    """The same plugin, node by node."""

    name, key, way = "Seats", SEATS, Normalizer.BY_MAX

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        has = offered(node.node, self.key)
        if not held(pod, self.key):
            return SUCCESS
        if isinstance(has, Status):
            return has
        enough = self._left(node) >= held(pod, self.key)
        return SUCCESS if enough else Status.unschedulable(FULL[self.key])

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(self._left(node), 0) if held(pod, self.key) else 0

    def _left(self, node: NodeInfo) -> int:
        has = offered(node.node, self.key)
        return (0 if isinstance(has, Status) else has) - sum(held(pod, self.key) for pod in node.pods)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Any) -> Any:
        return self.way.apply(scores) if held(pod, self.key) else scores


class CountedLicences(CountedSeats):
    name, key, way = "Licences", LICENCES, Normalizer.BY_MAX_REVERSED


class World:
    """A cluster of one's own that decides by one of the two forms."""

    def __init__(self, *rules: type[Plugin[Any]]) -> None:
        registry = new_in_tree_registry()
        for rule in rules:
            registry.register(rule.name, rule)
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": rule.name} for rule in rules]}}}],
        }
        self.state = State()
        configuration = from_document(document, registry.catalog())
        self.engine = build_engine(configuration, registry, self.state, NoBinder())
        self.in_batches = 0

    def place(self, pods: list[Pod]) -> list[str | None]:
        """One after the other."""
        profile = self.engine.profile()
        return [self.engine.place(pod, profile, ALL_NODES, seed=3).node_name for pod in pods]

    def place_batch(self, pods: list[Pod]) -> list[str | None]:
        """Return as many of equal pods in one step as can be, the rest one after the other."""
        own = [pod.metadata.name for pod in pods], [pod.metadata.uid for pod in pods]
        templates = [(pods[0], self.engine.profile())]
        placed = list(self.engine.place_batch(templates, [0] * len(pods), *own, seed=3).names)
        self.in_batches += len(placed)
        return placed + self.place(pods[len(placed) :])

    def preempt(self, pod: Pod) -> object:
        run = partial(evaluate_preemption, given=None, seed=3)
        found = self.engine.evaluate(pod, self.engine.profile(), ALL_NODES, run=run)[0].preemption
        return found and [
            (each.node_name, [v.metadata.name for v in each.victims]) for each in found.candidates
        ]


AMOUNTS = st.fixed_dictionaries(
    {}, optional={SEATS: st.sampled_from("1123"), LICENCES: st.sampled_from("12")}
)
OFFERS = st.fixed_dictionaries(
    {}, optional={SEATS: st.sampled_from("0129x"), LICENCES: st.sampled_from("35x")}
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pods"), AMOUNTS, st.integers(1, 6)),
        st.tuples(st.just("pods"), AMOUNTS, st.integers(1, 6)),
        st.tuples(st.just("important"), AMOUNTS),
        st.tuples(st.just("node"), st.integers(0, 4), OFFERS),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.tuples(st.just("gone"), st.integers(0, 4)),
    ),
    min_size=3,
    max_size=25,
)


def node(number: int, labels: Mapping[str, str]) -> Node:
    return make_node(f"n{number}", labels=dict(labels), allocatable={"cpu": "8", "pods": 9})


@examples(150)
@given(STEPS)
def test_pods_go_where_a_rule_that_counts_them_sends_them(steps: list[tuple[Any, ...]]) -> None:
    ours, theirs = World(Seats, Licences), World(CountedSeats, CountedLicences)
    count = 0
    for world in (ours, theirs):
        world.state.apply("test", [Put(node(number, {})) for number in range(4)])
    for kind, *given_ in steps:
        if kind == "pods":
            labels, number = given_
            pods = [make_pod(f"p{count + at}", labels=labels, requests={"cpu": "1"}) for at in range(number)]
            assert ours.place_batch(pods) == theirs.place(pods)
            count += number
        elif kind == "important":
            pod = make_pod("important", labels=given_[0], requests={"cpu": "1"}, spec={"priority": 7})
            assert ours.preempt(pod) == theirs.preempt(pod)
        elif kind == "remove":
            for world in (ours, theirs):
                world.state.forget(make_pod(f"p{given_[0]}").metadata.uid)
        else:
            name = f"n{given_[0]}"
            change = Put(node(*given_)) if kind == "node" else Remove("Node", "", name)
            for world in (ours, theirs):
                world.state.apply("test", [change])


def test_its_pods_are_decided_in_batches() -> None:
    world = World(Seats, Licences)
    world.state.apply("test", [Put(node(number, {})) for number in range(4)])
    first = make_pod("first", labels={SEATS: "1"})
    world.place([first])
    placed = world.place_batch([make_pod(f"p{number}", labels={SEATS: "1"}) for number in range(16)])
    assert [placed.count(f"n{number}") for number in range(4)].count(4) == 3
    assert placed[-1] is None
    assert world.in_batches == 15


def test_a_rule_that_only_scores_counts_by_itself() -> None:
    rule, state = make(Seats), CycleState()
    view = cluster(node(0, {}), node(1, {SEATS: "x"}), make_pod("a", node="n0", labels={SEATS: "3"}))
    assert raw_scores(rule, make_pod("b", labels={SEATS: "1"}), view) == {"n0": 1, "n1": 0}
    assert rule.pre_score(state, make_pod("b"), view) == Status.skip()


def test_the_reasons() -> None:
    view = cluster(node(0, {}), node(1, {SEATS: "x"}), node(2, {SEATS: "1"}))
    assert reasons(make(Seats), make_pod("b", labels={SEATS: "2"}), view) == {
        "n0": (),
        "n1": RESERVED.reasons,
        "n2": (FULL[SEATS],),
    }
    assert scored(make(Licences), make_pod("b", labels={LICENCES: "1"}), view)[1] == {
        "n0": 0,
        "n1": 0,
        "n2": 0,
    }


ON, MORE, FINISHED = (
    make_pod("a", node="n", labels={SEATS: "1"}),
    make_pod("a", node="n", labels={SEATS: "2"}),
    make_pod("a", node="n", labels={SEATS: "1"}, status={"phase": "Succeeded"}),
)


@pytest.mark.parametrize(
    ("resource", "old", "new", "helps"),
    [
        pytest.param("AssignedPod", ON, None, True, id="a pod goes"),
        pytest.param("AssignedPod", ON, FINISHED, True, id="a pod is finished"),
        pytest.param("AssignedPod", MORE, ON, True, id="a pod holds less"),
        pytest.param("AssignedPod", ON, MORE, False, id="a pod holds more"),
        pytest.param("AssignedPod", make_pod("a", node="n"), None, False, id="a pod goes that held none"),
        pytest.param("Node", None, node(0, {}), True, id="a node comes"),
        pytest.param("Node", None, node(0, {SEATS: "x"}), False, id="one out of scope comes"),
        pytest.param("Node", node(0, {SEATS: "x"}), node(0, {}), True, id="a node comes into scope"),
        pytest.param("Node", node(0, {}), node(0, {SEATS: "9"}), True, id="a node has more"),
        pytest.param("Node", node(0, {}), node(0, {SEATS: "1"}), False, id="a node has fewer"),
    ],
)
def test_when_a_pod_is_tried_again(resource: str, old: Any, new: Any, helps: bool) -> None:
    (registered,) = [
        one for one in make(Seats).events_to_register() if one.event.resource == EventResource(resource)
    ]
    assert registered.hint is not None
    assert ActionType.UPDATE_NODE_LABEL in registered.event.action
    waiting = make_pod("b", labels={SEATS: "1"})
    assert registered.hint(waiting, old, new) is QueueingHint.when(helps)
