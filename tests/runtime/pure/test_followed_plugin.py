"""A rule is called once for each combination of values that it reads, and answers as if called plainly."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    Int64s,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    Pure,
    ScorePlugin,
    Status,
    Verdicts,
    pods_by,
)
from mooring.framework.errors import DeadlineExceededError, PluginFailureError
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline, Observer
from mooring.runtime.pure import answers
from mooring.testing import make_node, make_pod
from tests.runtime.pure.engines import RACKS, Rules, nodes

COUNTER = itertools.count()


class Rack(FilterPlugin[None], ScorePlugin[None], Pure):
    """The rule of the tutorial: no nodes in maintenance, and rather the rack that the pod wants."""

    name = "Rack"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) in maintenance") if node.labels.get("maintenance") else SUCCESS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        wanted = pod.metadata.annotations.get("rack")
        return MAX_NODE_SCORE if wanted and node.labels.get("rack") == wanted else 0


class Free(ScorePlugin[None], Pure):
    name = "Free"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE - node.requested.get("pods", 0)


class AtMostTwoInARack(PreFilterPlugin[None], FilterPlugin[None], Pure):
    name = "AtMostTwoInARack"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        counts: dict[str | None, int] = {}
        for node in nodes.infos():
            rack = node.labels.get("rack")
            counts[rack] = counts.get(rack, 0) + len(node.pods)
        state.write("counts", counts)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        full = state.read("counts", dict).get(node.labels.get("rack"), 0) >= 2
        return Status.unschedulable("rack is full") if full else SUCCESS


def test_labels_cost_a_call_for_each_combination_and_none_afterwards() -> None:
    rules = Rules(Rack)
    wanting = {"metadata": {"annotations": {"rack": "r3"}}}
    chosen = {rules.decide(rules.pod(**wanting)).node_name for _ in range(4)}
    # Filter: one value of one label. Score: five racks.
    assert (chosen, rules.calls) == ({"n3", "n8", "n13", "n18"}, 1 + RACKS)
    rules.decide(rules.pod(**wanting))
    assert rules.calls == 1 + RACKS
    rules.put(make_node("n3", labels={"rack": "r3", "maintenance": "yes"}))
    rules.decide(rules.pod(**wanting))
    assert rules.calls == 1 + RACKS + 1


def test_requested_amounts_cost_a_call_for_each_new_value() -> None:
    rules = Rules(Free)
    for expected in (1, 2, 2, 2):
        assert rules.decide().node_name is not None
        assert rules.calls == expected


def test_counts_that_pre_filter_writes_are_read_by_value() -> None:
    rules = Rules(AtMostTwoInARack)
    chosen = [rules.decide().node_name for _ in range(2 * RACKS + 1)]
    assert chosen.pop() is None
    racks = [int(name[1:]) % RACKS for name in chosen if name is not None]
    assert sorted(racks) == sorted([*range(RACKS)] * 2)
    assert rules.plugin.found.followed


def test_what_is_read_for_the_first_time_costs_one_bypass() -> None:
    rules = Rules(Rack)
    for _ in range(5):
        rules.decide()
    assert rules.bypasses() == 1
    rules.decide(rules.pod(metadata={"annotations": {"rack": "r1"}}))
    # The rack's label was not read before.
    assert rules.bypasses() == 2


class ByAppLabel(ScorePlugin[None], Pure):
    name = "ByAppLabel"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE if node.name == pod.metadata.labels.get("app") else 0


def test_a_label_that_no_selector_names_is_still_told_apart() -> None:
    rules = Rules(ByAppLabel)
    for name in ("n7", "n8", "n7", "n9", "n7"):
        assert rules.decide(rules.pod(labels={"app": name, "own": name})).node_name == name


def odd(answer: object) -> type[ScorePlugin[Any]]:
    class Odd(ScorePlugin[None], Pure):
        name = "Odd"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            return answer if node.labels.get("rack") == "r1" else 0  # type: ignore[return-value]

    return Odd


@pytest.mark.parametrize(
    "answer", [1.5, float("nan"), None, True, 10**30, "1", [1]], ids=lambda answer: str(answer)[:12]
)
def test_a_wrong_answer_fails_as_it_does_without_the_promise(answer: object) -> None:
    followed = odd(answer)
    plain = type("Odd", (ScorePlugin,), {"name": "Odd", "score": followed.score})
    messages = []
    for kind in (followed, plain):
        with pytest.raises(PluginFailureError) as failure:
            Rules(kind).decide()
        messages.append(failure.value.message)
    assert messages[0] == messages[1]


class RaisesOnSome(FilterPlugin[None], Pure):
    name = "RaisesOnSome"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if node.labels.get("broken"):
            raise ValueError("broken")
        return SUCCESS


def test_a_rule_that_raises_fails_the_decision_until_the_node_is_mended() -> None:
    rules = Rules(RaisesOnSome)
    rules.put(make_node("n1", labels={"broken": "yes"}))
    for _ in range(2):
        with pytest.raises(PluginFailureError, match="ValueError: broken"):
            rules.decide()
    rules.put(make_node("n1"))
    assert rules.decide().node_name is not None
    assert rules.plugin.found.followed


class Recursive(ScorePlugin[None], Pure):
    name = "Recursive"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return self.score(state, pod, node)


class AnotherTypeEachTime(FilterPlugin[None], Pure):
    name = "AnotherTypeEachTime"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        answers = SUCCESS, None, True, 1.0, ""
        return answers[next(COUNTER) % len(answers)]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "message"), [(Recursive, "RecursionError"), (AnotherTypeEachTime, "returned")]
)
def test_a_broken_rule_fails_the_decisions_of_its_profile_alone(
    kind: type[Plugin[Any]], message: str
) -> None:
    rules = Rules(kind)
    for _ in range(3):
        with pytest.raises(PluginFailureError, match=message):
            rules.decide()


class Slow(ScorePlugin[None], Pure):
    name = "Slow"
    called: ClassVar[list[str]] = []

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        self.called.append(node.name)
        return 0


class Impatient(NoDeadline):
    """A caller who no longer waits once ``Slow`` is called."""

    def check(self) -> None:
        if Slow.called:
            raise DeadlineExceededError("nobody waits any more")


def test_a_rule_is_not_called_for_more_nodes_once_nobody_waits() -> None:
    Slow.called.clear()
    rules = Rules(Slow)
    with pytest.raises(DeadlineExceededError):
        rules.engine.place(rules.pod(), rules.profile, ALL_NODES, progress=Impatient())
    assert len(Slow.called) == 1
    assert rules.plugin.found.followed


class Greedy(FilterPlugin[None], Pure):
    """Changes what it is given."""

    name = "Greedy"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        node.labels["rack"] = "mine"  # type: ignore[index]
        return SUCCESS


def test_views_are_read_only() -> None:
    rules = Rules(Greedy, [make_node("n1", labels={"rack": "r1"})])
    before = rules.state.snapshot.nodes.nodes[0]
    with pytest.raises(PluginFailureError):
        rules.decide()
    assert rules.state.snapshot.nodes.nodes[0] is before


class Named(FilterPlugin[None], Pure):
    """Gives each node a reason of its own."""

    name = "Named"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable(f"{node.name} is not the one")


def test_reasons_may_name_the_node() -> None:
    rules = Rules(Named)
    choice = rules.decide()
    assert choice.node_name is None
    assert len({status.message for status in choice.evaluation.statuses if not status.ok}) == 20


def test_millions_of_combinations_are_forgotten_and_found_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(answers, "MAX_LEAVES", 8)
    monkeypatch.setattr(answers, "MAX_COLUMN_BYTES", 0)
    events: Counter[tuple[str, str]] = Counter()
    observer = Observer()
    observer.plugin_event = lambda *event: events.update([event])  # type: ignore[method-assign]
    rules = Rules(ByAppLabel, observer=observer)
    for name in ("n7", "n8", "n7", "n9", "n11", "n7"):
        assert rules.decide(rules.pod(labels={"app": name})).node_name == name
    assert events["ByAppLabel", "answers_forgotten"] > 1
    assert sum("more than" in record.getMessage() for record in caplog.records) == 1
    assert rules.plugin.scoring is not None
    assert rules.plugin.scoring._leaves <= 8 + len(nodes())


class Lying(ScorePlugin[None], Pure):
    name = "Lying"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        node.requested.get("pods")
        return self.lie() % 100

    def lie(self) -> int:
        return 0


class OnItself(Lying):
    seen = 0

    def lie(self) -> int:
        self.seen += 1
        return self.seen


LIES: list[Any] = [
    pytest.param(lambda _: time.monotonic_ns(), id="clock"),
    pytest.param(lambda _: random.randrange(100), id="random"),
    pytest.param(lambda _: next(COUNTER), id="a global"),
    pytest.param(lambda rule: int(rule.handle.snapshot().pods.records.__len__()), id="the live state"),
]


class Keeping(ScorePlugin[None], Pure):
    """Goes on reading the node of its first call."""

    name = "Keeping"
    kept: NodeInfo | None = None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        self.kept = self.kept or node
        return self.kept.requested.get("pods", 0)


@pytest.mark.parametrize("lie", LIES)
def test_a_rule_that_is_not_pure_is_found_out_and_called_plainly(
    lie: Callable[[Any], int], caplog: pytest.LogCaptureFixture
) -> None:
    rules = Rules(type("Lying", (Lying,), {"lie": lie}))
    for _ in range(50):
        rules.decide()
    assert not rules.plugin.found.followed
    assert sum("is not followed" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize("kind", [OnItself, Keeping])
def test_what_a_rule_keeps_on_itself_is_found_out(kind: type[ScorePlugin[Any]]) -> None:
    rules = Rules(kind)
    for _ in range(50):
        rules.decide()
    assert not rules.plugin.found.followed


class StaticLie(FilterPlugin[None], Pure):
    """Changes its mind although nothing that it reads changes, so that it isn't called again."""

    name = "StaticLie"
    closed = ""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        closed = node.labels.get("rack") == type(self).closed
        return Status.unschedulable("rack is closed") if closed else SUCCESS


def test_the_self_check_asks_the_rule_itself() -> None:
    rules = Rules(StaticLie, self_check_every=1)
    check = rules.engine.self_check
    for _ in range(3):
        rules.decide()
    assert check.check(rules.engine, rules.pod(), rules.profile, 1) is True
    StaticLie.closed = "r1"
    try:
        assert check.check(rules.engine, rules.pod(), rules.profile, 1) is False
        assert not rules.plugin.found.followed
        names = {rules.decide().node_name for _ in range(20)}
        assert not {f"n{at}" for at in range(20) if at % RACKS == 1} & names
    finally:
        StaticLie.closed = ""


class InColumns(FilterPlugin[None], Pure):
    name = "InColumns"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        closed = nodes.label("rack").is_in(nodes.rows, ["r1"])
        return Verdicts.reject_where(np.asarray(closed), Status.unschedulable("rack is closed"))


def test_a_rule_in_columns_is_noted_and_cached() -> None:
    rules = Rules(InColumns)
    for _ in range(4):
        rules.decide()
    assert rules.bypasses() == 1
    rules.put(*[make_node(node.metadata.name, labels={"rack": "r1"}) for node in nodes()])
    assert rules.decide().node_name is None


class BesideTheBest(ScorePlugin[None], Pure):
    """Compares the nodes with each other, which a score must leave to the normalizer."""

    name = "BesideTheBest"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        pods = nodes.requested("pods") + 1
        scores: Int64s = 100 * pods // pods.max()
        return scores


class OddOnesOut(FilterPlugin[None], Pure):
    """Needs two nodes."""

    name = "OddOnesOut"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        return Verdicts.reject_where(nodes.rows == nodes.rows[[0, 1]].max(), Status.unschedulable("odd"))


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        (BesideTheBest, "gives another answer about a node alone than among others"),
        (OddOnesOut, "can't answer about one node alone: IndexError"),
    ],
    ids=["another answer", "fails"],
)
def test_a_rule_in_columns_that_compares_nodes_is_called_plainly(
    rule: type[Any], cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    rules = Rules(rule)
    for _ in range(20):
        rules.decide()
    assert not rules.plugin.found.followed
    assert cause in caplog.text


class Idle(ScorePlugin[None], Pure):
    name = "Idle"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return MAX_NODE_SCORE - (node.measurements["bandwidth"] or 0)


def test_measured_values_are_read_by_value() -> None:
    rules = Rules(Idle)
    for idle, expected in (("n4", 2), ("n4", 2), ("n9", 2)):
        values = {f"n{at}": 0 if f"n{at}" == idle else 90 for at in range(20)}
        rules.state.assume_object(Measurement(metadata=ObjectMeta(name="bandwidth"), values=values))
        assert rules.decide(place=False).node_name == idle
        assert rules.calls == expected
    assert rules.plugin.found.followed


def test_a_value_that_was_never_measured_is_none() -> None:
    rules = Rules(Idle)
    rules.decide(place=False)
    assert rules.plugin.found.followed


class AtMostTwoByCounter(FilterPlugin[None], Pure):
    name = "AtMostTwoByCounter"
    in_rack = pods_by(label="app", topology="rack")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if self.in_rack(pod, node) < 2 else Status.unschedulable("rack is full")


def test_a_declared_counter_costs_a_call_for_each_new_count() -> None:
    rules = Rules(AtMostTwoByCounter)
    chosen = [rules.decide(rules.pod(labels={"app": "a"})).node_name for _ in range(2 * RACKS + 1)]
    assert chosen.pop() is None
    racks = [int(name[1:]) % RACKS for name in chosen if name is not None]
    assert sorted(racks) == sorted([*range(RACKS)] * 2)
    # Counts 0, 1 and 2; and one call about a pod without its label, which was not known to be read.
    assert rules.calls == 4
    assert rules.decide(rules.pod(labels={"app": "b"})).node_name is not None
    assert (rules.calls, rules.plugin.found.followed) == (5, True)


@pytest.mark.parametrize("own", [True, False], ids=["own namespace", "all namespaces"])
def test_a_counter_counts_pods_with_the_same_value_in_the_domain(own: bool) -> None:
    counter = pods_by(label="app", topology="rack", own_namespace=own)
    placed = [
        make_pod("a", labels={"app": "a"}, node="n0", metadata={"uid": "1"}),
        make_pod("b", labels={"app": "a"}, node="n5", metadata={"uid": "2"}),
        make_pod("c", labels={"app": "a"}, node="n5", namespace="other", metadata={"uid": "3"}),
        make_pod("d", labels={"app": "b"}, node="n0", metadata={"uid": "4"}),
        make_pod("e", node="n1", metadata={"uid": "5"}),
    ]
    rules = Rules(AtMostTwoByCounter, [*nodes(), *placed])
    table = rules.state.snapshot.nodes
    view = NodeView(rules.state.snapshot, table.rows())

    def counts(name: str, **fields: Any) -> int:
        return counter(rules.pod(**fields), view.info(table.index[name]))

    assert [counts(name, labels={"app": "a"}) for name in ("n0", "n10", "n1")] == [
        2 + (not own),
        2 + (not own),
        0,
    ]
    assert [counts(name, labels={"app": "b"}) for name in ("n5", "n1")] == [1, 0]
    assert [counts(name) for name in ("n6", "n0")] == [1, 0]
