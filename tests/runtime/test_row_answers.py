"""Plugins that read one node at a time, and counters, are called again only about nodes that changed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CacheablePlugin,
    CycleState,
    Dependencies,
    FilterPlugin,
    Int32s,
    NodeInfo,
    Normalizer,
    Part,
    Pod,
    Pure,
    ScorePlugin,
    Status,
    pods_by,
)
from mooring.framework.objects import ObjectMeta, Service
from mooring.framework.state import ClusterState
from mooring.runtime.answers import NeedsPlugins
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import evaluate_filters, evaluate_scores
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.testing import make_node, make_pod
from tests.examples import seeds
from tests.runtime.pure.engines import RACKS, Rules, nodes

FILTERED: list[str] = []
SCORED: list[str] = []


class Roomy(FilterPlugin[None], ScorePlugin[None], CacheablePlugin):
    """At most two pods a node; prefers nodes with fewer, and above all a node with a Service of its name."""

    name = "Roomy"

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=(), parts=Part.PODS | Part.OBJECTS, kinds=(Service,))

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        FILTERED.append(node.name)
        return SUCCESS if len(node.pods) < 2 else Status.unschedulable("node(s) had two pods")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        SCORED.append(node.name)
        named = node.snapshot.objects.get(Service, node.name, pod.metadata.namespace) is not None
        return MAX_NODE_SCORE // 2 * named + 10 - len(node.pods)


class Stretched(Roomy):
    """The same, stretched to 0..100."""

    name = "Stretched"
    normalizer = Normalizer.BY_MAX


class AsWritten(Roomy):
    """The same without a promise, so that it is called for each node."""

    name = "Roomy"

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies()


class StretchedAsWritten(AsWritten):
    name = "Stretched"
    normalizer = Normalizer.BY_MAX


@pytest.fixture(autouse=True)
def forgotten_calls() -> None:
    FILTERED.clear()
    SCORED.clear()


def asked(rules: Rules) -> tuple[list[str], list[str], str | None]:
    """Decide about a pod; return the nodes in the calls of Filter and Score, and the selected one."""
    FILTERED.clear()
    SCORED.clear()
    chosen = rules.decide().node_name
    return sorted(FILTERED), sorted(SCORED), chosen


@pytest.mark.parametrize("rule", [Roomy, Stretched])
def test_the_node_that_took_a_pod_is_asked_about_for_the_next_one(rule: type[Roomy]) -> None:
    rules = Rules(rule, nodes(4))
    asked(rules)
    *_, second = asked(rules)
    filtered, scored, third = asked(rules)
    assert filtered == scored == [second]
    assert third != second


def test_a_node_that_filter_rejects_now_is_not_scored() -> None:
    rules = Rules(Roomy, nodes(3))
    for _ in range(4):
        *_, chosen = asked(rules)
    assert asked(rules)[:2] == ([chosen], [])


def test_a_node_is_scored_once_it_is_feasible_again() -> None:
    rules = Rules(Roomy, [*nodes(2), make_pod("a", node="n0"), make_pod("b", node="n0")])
    assert asked(rules) == (["n0", "n1"], ["n1"], "n1")
    rules.remove(make_pod("b", node="n0"))
    assert asked(rules)[:2] == (["n0", "n1"], ["n0", "n1"])


def test_a_change_of_an_object_that_is_read_costs_a_call_for_each_node() -> None:
    rules = Rules(Roomy, nodes(3))
    for _ in range(2):
        asked(rules)
    rules.put(Service(metadata=ObjectMeta(name="n2", namespace="default")))
    every = ["n0", "n1", "n2"]
    assert asked(rules) == (every, every, "n2")


class ByRack(FilterPlugin[None], ScorePlugin[None], Pure):
    """At most five pods of an app in a rack, and rather racks with fewer."""

    name = "ByRack"
    in_rack = pods_by(label="app", topology="rack", own_namespace=True)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if self.in_rack(pod, node) < 5 else Status.unschedulable("rack is full")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 50 - self.in_rack(pod, node)


class ByRackAsWritten(FilterPlugin[None], ScorePlugin[None]):
    name = "ByRack"
    in_rack, filter, score = ByRack.in_rack, ByRack.filter, ByRack.score


@pytest.mark.parametrize("seed", seeds(5))
def test_each_decision_by_counts_is_that_of_the_rule_as_written(seed: int) -> None:
    dice, engines = random.Random(seed), [Rules(ByRack), Rules(ByRackAsWritten)]
    for step in range(60):
        change = dice.choice(("none", "pod", "gone", "label"))
        at, app = f"n{dice.randrange(20)}", dice.choice("ab")
        namespace = dice.choice(("default", "other"))
        chosen = []
        for rules in engines:
            if change == "pod":
                rules.put(make_pod(f"by-others-{step}", node=at, labels={"app": app}, namespace=namespace))
            elif change == "gone":
                rules.remove(make_pod(f"p{step // 2}"))
            elif change == "label":
                rules.put(make_node(at, labels={"rack": f"r{step % RACKS}"}))
            choice = rules.decide(rules.pod(labels={"app": app}))
            chosen.append((choice.node_name, choice.node_name and choice.total))
        assert chosen[0] == chosen[1]
    assert engines[0].engine.cache_counts.hits > 20


@pytest.mark.parametrize(
    ("rule", "as_written"), [(Roomy, AsWritten), (Stretched, StretchedAsWritten)], ids=["raw", "stretched"]
)
@pytest.mark.parametrize("seed", seeds(5))
def test_each_decision_is_that_of_the_rule_as_written(
    rule: type[Roomy], as_written: type[Roomy], seed: int
) -> None:
    dice, engines = random.Random(seed), [Rules(rule, nodes(6)), Rules(as_written, nodes(6))]
    for step in range(60):
        change = dice.choice(("none", "pod", "gone", "label", "service"))
        at = f"n{dice.randrange(6)}"
        chosen = []
        for rules in engines:
            if change == "pod":
                rules.put(make_pod(f"by-others-{step}", node=at))
            elif change == "gone":
                rules.remove(make_pod(f"p{step // 2}"))
            elif change == "label":
                rules.put(make_node(at, labels={"changed": str(step)}))
            elif change == "service":
                rules.put(Service(metadata=ObjectMeta(name=at, namespace="default")))
            choice = rules.decide()
            chosen.append((choice.node_name, choice.node_name and choice.total))
        assert chosen[0] == chosen[1]
    assert engines[0].engine.cache_counts.hits


def some_rows(names: list[str]) -> Candidates:
    """Return the nodes of these names, as an extender gets them."""

    def rows(state: ClusterState) -> Int32s:
        return np.array([state.snapshot.nodes.index[name] for name in names], np.int32)

    return Candidates(rows)


def verdicts(evaluation: Evaluation) -> list[Status]:
    return [evaluation.statuses[code] for code in evaluation.codes]


@pytest.mark.parametrize("rule", [Roomy, Stretched, ByRack])
@pytest.mark.parametrize("seed", seeds(3))
def test_answers_about_some_nodes_are_those_of_an_evaluation_in_full(
    rule: type[FilterPlugin[None]], seed: int
) -> None:
    dice, rules = random.Random(seed), Rules(rule, nodes(12))
    for step in range(40):
        if dice.random() < 0.7:
            rules.put(make_pod(f"q{step}", node=f"n{dice.randrange(12)}", labels={"app": "a"}))
        if dice.random() < 0.3:
            rules.remove(make_pod(f"q{dice.randrange(40)}"))
        pod = make_pod("asking", metadata={"uid": "asking"}, labels={"app": "a"})
        asked = some_rows([f"n{at}" for at in dice.sample(range(12), dice.randint(1, 12))])
        full, _ = rules.engine.evaluate(pod, rules.profile, asked, run=evaluate_filters)
        found = rules.engine.filter(pod, rules.profile, asked)
        assert not isinstance(found, NeedsPlugins)
        assert verdicts(found[0]) == verdicts(full)
        feasible = full.rows[full.feasible]
        if len(feasible):
            only = Candidates(lambda _, rows=feasible: rows)  # type: ignore[misc]
            alone, _ = rules.engine.evaluate(pod, rules.profile, only, run=evaluate_scores)
            assert found[0].scores is not None
            assert alone.scores is not None
            assert found[0].scores.totals.tolist() == alone.scores.totals.tolist()
    assert rules.engine.cache_counts.hits > 20


def test_a_question_about_some_nodes_costs_a_call_for_each_changed_one() -> None:
    rules = Rules(Roomy, nodes(6))
    pod = make_pod("asking", metadata={"uid": "asking"})
    asked_about = some_rows(["n0", "n1", "n2"])
    for _ in range(2):
        rules.engine.filter(pod, rules.profile, asked_about)
    FILTERED.clear()
    rules.put(make_pod("by-others", node="n1"), make_pod("elsewhere", node="n5"))
    rules.engine.filter(pod, rules.profile, asked_about)
    assert FILTERED == ["n1"]


class Picky(FilterPlugin[None], Pure):
    """Reads a label of the pod only if a node has two pods."""

    name = "Picky"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = len(node.pods) < 2 or pod.metadata.labels.get("app") == "a"
        return SUCCESS if wanted else Status.unschedulable("node(s) were busy")


def test_a_new_read_of_the_pod_parts_pods_that_were_alike() -> None:
    rules = Rules(Picky, nodes(2))
    asked = some_rows(["n0", "n1"])
    busy, at_home = (make_pod(app, metadata={"uid": app}, labels={"app": app}) for app in "ba")
    for pod in (busy, at_home) * 3:
        rules.engine.filter(pod, rules.profile, asked)
    rules.put(*(make_pod(f"running-{at}", node="n0") for at in range(2)))
    # The evaluation of both is about a pod without labels.
    found = rules.engine.cached_totals(at_home, rules.profile, asked)
    assert found is None or (found.totals >= 0).all()
