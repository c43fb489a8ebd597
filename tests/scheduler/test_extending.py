"""The extenders' part in decisions; expectations as in kube-scheduler's own tests of it."""

from __future__ import annotations

from threading import Thread
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.explain import Explanation
from mooring.runtime.cycle.findings import findings_of
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.extender import extender_failure
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import make_node, make_pod
from tests.examples import examples

from .extenders import FakeExtender
from .world import SOURCE, FakeCluster, configuration

FAILURE = extender_failure("http://extender", "Filter", "out of order")


def engine(
    *extenders: FakeExtender, plain: bool = False, nodes: int = 3, exclusive: bool = False, **profile: Any
) -> Engine:
    """Return nodes node1, node2, ...; ``plain``: no plugin filters or scores."""
    state = State()
    state.replace(SOURCE, [make_node(f"node{number}") for number in range(1, nodes + 1)])
    config = configuration([], ["default-scheduler"])
    if plain:
        kept = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
        profile["plugins"] = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": kept}}
    config["profiles"][0] |= profile
    registry = new_in_tree_registry()
    return build_engine(
        from_document(config, registry.catalog()),
        registry,
        state,
        FakeCluster(state),
        extenders=extenders,
        exclusive=exclusive,
    )


def decided(made: Engine, pod: Pod | None = None, **options: Any) -> Choice:
    pod = pod or make_pod()
    return made.decide(pod, made.profile(), ALL_NODES, options=CycleOptions(**options) if options else None)


def counts(choice: Choice) -> tuple[str | None, int, int]:
    return choice.node_name, choice.evaluated, choice.feasible


PASSES, ONLY_1 = FakeExtender(), FakeExtender(rejects={"node2": "no", "node3": "no"})


@pytest.mark.parametrize(
    ("extenders", "wanted"),
    [
        pytest.param([ONLY_1], ("node1", 3, 1), id="one left"),
        pytest.param([PASSES, ONLY_1], ("node1", 3, 1), id="the second keeps one"),
        pytest.param([FakeExtender(rejects={"node2": None, "node3": "no"})], ("node1", 2, 1), id="no word"),
        pytest.param(
            [ONLY_1, FakeExtender(rejects={"node1": "no"})], (None, 3, 0), id="together they leave none"
        ),
        pytest.param(
            [FakeExtender(fails=FAILURE, interested=lambda _: False), ONLY_1],
            ("node1", 3, 1),
            id="uninterested",
        ),
        pytest.param(
            [ONLY_1, FakeExtender(fails=FAILURE, ignorable=True)], ("node1", 3, 1), id="ignorable, fails"
        ),
        pytest.param(
            [FakeExtender(fails=FAILURE, filters=False, prioritizes=True), ONLY_1],
            ("node1", 3, 1),
            id="prioritize with one node",
        ),
        pytest.param([FakeExtender(filters=False, prioritizes=False)], None, id="neither"),
    ],
)
def test_filter(extenders: list[FakeExtender], wanted: tuple[str | None, int, int] | None) -> None:
    choice = decided(engine(*extenders))
    assert counts(choice) == (wanted or (choice.node_name, 3, 3))


def test_a_failure_ends_the_attempt() -> None:
    with pytest.raises(PluginFailureError, match="out of order"):
        decided(engine(PASSES, FakeExtender(fails=FAILURE)))


def test_each_is_asked_about_what_the_others_left_until_there_is_none() -> None:
    first = FakeExtender(rejects={"node2": "no"})
    second = FakeExtender(rejects={"node1": "no", "node3": "no"})
    third = FakeExtender()
    decided(engine(first, second, third))
    assert first.calls == [("filter", ("node1", "node2", "node3"))]
    assert second.calls == [("filter", ("node1", "node3"))]
    assert third.calls == []


def test_rejections_are_told_and_explained() -> None:
    extender = FakeExtender(
        "http://picky",
        rejects={"node1": "too slow", "node2": "worn out", "node3": None},
        unresolvable={"node2": "broken"},
    )
    choice = decided(engine(extender))
    assert choice.message.startswith("0/3 nodes are available: 1 broken, 1 too slow. ")
    nodes = Explanation.of(choice, 0).document()["nodes"]
    assert {name: nodes[name]["status"] for name in nodes} == {
        "node1": {"code": "Unschedulable", "plugin": "http://picky", "reasons": ["too slow"]},
        "node2": {"code": "UnschedulableAndUnresolvable", "plugin": "http://picky", "reasons": ["broken"]},
        "node3": {"code": "UnschedulableAndUnresolvable", "plugin": "http://picky", "reasons": []},
    }


def test_the_words_of_an_extender_are_findings() -> None:
    extender = FakeExtender("http://picky", rejects={"node1": "too slow", "node2": None, "node3": "too slow"})
    cluster = engine(extender)
    evaluation = decided(cluster).evaluation
    found = findings_of(evaluation, cluster.calls(evaluation.profile, NoDeadline())).by_node
    assert [[(each.code_label, each.subject, each.text) for each in some] for some in found] == [
        [("ExtenderRejects", "http://picky", f"extender http://picky: {words}")]
        for words in ("too slow", "no reason given", "too slow")
    ]


def test_without_any_reason_the_sentence_ends_there() -> None:
    rejects = {"node1": None, "node2": None, "node3": None}
    assert decided(engine(FakeExtender(rejects=rejects), plain=True)).message == "0/3 nodes are available:"


@pytest.mark.parametrize(
    ("extenders", "totals"),
    [
        pytest.param(
            [FakeExtender(scores={"node1": 30, "node2": 3}), FakeExtender(scores={"node1": 2, "node2": 20})],
            [320, 230, 0],
            id="two, no plugins",
        ),
        pytest.param([FakeExtender(weight=5, scores={"node2": 10})], [0, 500, 0], id="a weight"),
        pytest.param([FakeExtender(scores={"node2": -3})], [0, -30, 0], id="below zero"),
        pytest.param([FakeExtender(scores={"other": 7, "node3": 1})], [0, 0, 10], id="an unknown node"),
        pytest.param(
            [FakeExtender(scores={"node1": 1}), FakeExtender(filters=False, fails=FAILURE)],
            [10, 0, 0],
            id="one fails",
        ),
        pytest.param(
            [FakeExtender(weight=2, scores={"node1": 2**62})], [0, 0, 0], id="beyond 64 bits, as in Go"
        ),
    ],
)
def test_scores_are_added(extenders: list[FakeExtender], totals: list[int]) -> None:
    choice = decided(engine(*extenders, plain=True))
    scores = choice.evaluation.scores
    assert scores is not None
    assert scores.totals.tolist() == totals


def test_scores_are_explained() -> None:
    choice = decided(engine(FakeExtender("http://fast", weight=3, scores={"node2": 4}), plain=True))
    explained = Explanation.of(choice, 0).document()["nodes"]["node2"]
    entry = {"raw": 4, "normalized": 4, "weight": 30, "weighted": 120}
    assert (explained["scores"], explained["total"]) == ({"http://fast": entry}, 120)


@pytest.mark.parametrize(
    ("extenders", "evaluated"),
    [
        pytest.param([FakeExtender(prioritizes=False)], 200, id="filters"),
        pytest.param([FakeExtender(filters=False)], 200, id="scores"),
        pytest.param([FakeExtender(filters=False, prioritizes=False)], 1, id="binds"),
    ],
)
def test_how_many_nodes_are_looked_for(extenders: list[FakeExtender], evaluated: int) -> None:
    made = engine(*extenders, plain=True, nodes=200, percentageOfNodesToScore=100)
    assert decided(made).evaluated == evaluated


def nominated(node_name: str) -> Pod:
    return make_pod(status={"nominatedNodeName": node_name})


@pytest.mark.parametrize(
    ("extender", "wanted", "calls"),
    [
        pytest.param(FakeExtender(), ("node2", 1, 1), [("node2",)], id="it does"),
        pytest.param(
            FakeExtender(rejects={"node2": "no"}),
            (None, 3, 2),
            [("node2",), ("node1", "node2", "node3")],
            id="rejected: all are looked at",
        ),
        pytest.param(
            FakeExtender(fails=FAILURE, ignorable=True), ("node2", 1, 1), [("node2",)], id="ignorable failure"
        ),
    ],
)
def test_a_nominated_node_is_tried_alone(
    extender: FakeExtender, wanted: tuple[str | None, int, int], calls: list[tuple[str, ...]]
) -> None:
    choice = decided(engine(extender), nominated("node2"))
    assert counts(choice) == (wanted[0] or choice.node_name, *wanted[1:])
    assert [names for verb, names in extender.calls if verb == "filter"] == calls


def test_a_failure_on_the_nominated_node_is_logged_and_all_are_looked_at() -> None:
    extender = FakeExtender()
    extender.before = lambda: fail_once(extender)
    assert counts(decided(engine(extender), nominated("node2")))[1:] == (3, 3)


def fail_once(extender: FakeExtender) -> None:
    if len(extender.calls) == 1:
        raise FAILURE


@examples(60)
@given(
    requests=st.lists(st.sampled_from(["100m", "1", "3", "9"]), min_size=1, max_size=6),
    percentage=st.sampled_from([0, 100]),
    count=st.integers(1, 5),
)
def test_an_extender_that_passes_all_and_scores_nothing_changes_nothing(
    requests: list[str], percentage: int, count: int
) -> None:
    """Decisions one after the other, each assumed; without it they come from kept evaluations."""
    found = []
    for extenders in ([], [FakeExtender(), FakeExtender("http://other", scores={"node1": 0})]):
        made = engine(*extenders, nodes=count, percentageOfNodesToScore=percentage)
        choices = [
            made.place(make_pod(f"p{at}", requests={"cpu": cpu}), made.profile(), ALL_NODES)
            for at, cpu in enumerate(requests)
        ]
        found.append([(one.node_name, one.total, one.evaluated, one.feasible) for one in choices])
    assert found[0] == found[1]


def test_the_state_is_not_locked_while_an_extender_is_asked() -> None:
    extender = FakeExtender()
    made = engine(extender, exclusive=True)
    changed = []

    def change() -> None:
        # The limit only bounds how long a broken run takes.
        changing = Thread(target=cast("State", made.state).replace, args=("other", [make_node("new")]))
        changing.start()
        changing.join(10)
        changed.append(not changing.is_alive())

    extender.before = change
    choice = made.place(make_pod(), made.profile(), ALL_NODES)
    assert all(changed)
    assert choice.node_name in ("node1", "node2", "node3")
    assert [verb for verb, _ in extender.calls] == ["filter", "prioritize"], "the change touched another node"


def test_a_chosen_node_that_changed_meanwhile_is_decided_again() -> None:
    extender = FakeExtender(rejects={"node2": "no", "node3": "no"})
    made = engine(extender)
    taken = make_pod("taken", node="node1", requests={"cpu": "4"})

    def take() -> None:
        if len(extender.calls) == 1:
            cast("State", made.state).replace("other", [taken])

    extender.before = take
    choice = made.place(make_pod(requests={"cpu": "1"}), made.profile(), ALL_NODES)
    assert choice.node_name is None
    assert extender.calls == [("filter", ("node1", "node2", "node3")), ("filter", ("node2", "node3"))]
