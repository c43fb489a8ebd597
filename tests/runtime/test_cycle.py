"""The cycle's rules, each shown by plugins whose answers are set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.framework import SUCCESS, Code, PreFilterResult, Status
from mooring.testing.builders import pod_manifest
from tests.missing_plugins import add_missing_plugin

from .fakes import cycle, filtering, prefiltering, scoring

NO = Status.unschedulable("no room")
NEVER = Status.unresolvable("never")


def said(document: dict[str, Any]) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Code, plugin and reasons of each node."""
    return {
        name: (node["status"]["code"], node["status"]["plugin"], tuple(node["status"]["reasons"]))
        for name, node in document["nodes"].items()
    }


@pytest.mark.parametrize(
    ("answers", "code", "plugin", "message"),
    [
        pytest.param([Status.skip()], "Success", "", "", id="skip lets its filter out"),
        pytest.param(
            [NEVER, NO],
            "UnschedulableAndUnresolvable",
            "P0",
            "0/3 nodes are available: never.",
            id="unresolvable ends at once",
        ),
        pytest.param(
            [NO, NEVER],
            "UnschedulableAndUnresolvable",
            "P1",
            "0/3 nodes are available: never.",
            id="unschedulable runs the rest",
        ),
        pytest.param(
            [NO, Status.unschedulable("second")],
            "Unschedulable",
            "P1",
            "0/3 nodes are available: second.",
            id="the last unschedulable one stands",
        ),
        pytest.param(
            [PreFilterResult(frozenset({"a"})), PreFilterResult(frozenset({"b"}))],
            "UnschedulableAndUnresolvable",
            "",
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [P0 P1] simultaneously.",
            id="no node in common",
        ),
        pytest.param(
            [PreFilterResult(frozenset())],
            "UnschedulableAndUnresolvable",
            "",
            "0/3 nodes are available: node(s) didn't satisfy plugin P0.",
            id="no node at all",
        ),
        pytest.param([PreFilterResult(frozenset({"b"})), SUCCESS], "Success", "", "", id="one node left"),
    ],
)
def test_prefilter(answers: list[PreFilterResult | Status], code: str, plugin: str, message: str) -> None:
    plugins = [prefiltering(f"P{at}", answer, then=_filter_of(answer)) for at, answer in enumerate(answers)]
    document = cycle(*plugins)
    assert (document["status"]["code"], document["status"]["plugin"]) == (code, plugin)
    assert document["status"]["message"] == message


def _filter_of(answer: PreFilterResult | Status) -> Status:
    """Return the status of the plugin's Filter: a plugin that skips would reject every node if it were
    called.
    """
    return NO if isinstance(answer, Status) and answer.code is Code.SKIP else SUCCESS


def test_a_rejecting_prefilter_rejects_every_node_and_no_filter_runs() -> None:
    watched = filtering("Watched", {})
    document = cycle(prefiltering("P", NEVER), watched)
    assert set(said(document).values()) == {("UnschedulableAndUnresolvable", "P", ("never",))}
    assert watched.asked == []  # type: ignore[attr-defined]
    assert (document["evaluated"], document["feasible"], document["ties"]) == (0, 0, [])


def test_nodes_outside_the_prefilter_result_say_so() -> None:
    document = cycle(prefiltering("P", PreFilterResult(frozenset({"b", "nowhere"}))))
    outside = ("UnschedulableAndUnresolvable", "", ("node(s) didn't satisfy plugin(s) [P]",))
    assert said(document) == {"a": outside, "b": ("Success", "", ()), "c": outside}
    assert (document["selected"], document["evaluated"]) == ("b", 1)


def test_the_first_failing_filter_of_a_node_stands_and_later_ones_are_not_asked() -> None:
    first, second = filtering("First", {"a": NO}), filtering("Second", {"a": NEVER, "b": NEVER})
    document = cycle(first, second)
    assert said(document) == {
        "a": ("Unschedulable", "First", ("no room",)),
        "b": ("UnschedulableAndUnresolvable", "Second", ("never",)),
        "c": ("Success", "", ()),
    }
    assert second.asked == ["b", "c"]  # type: ignore[attr-defined]


def test_all_rejections_names_every_plugin_that_rejects() -> None:
    plugins = filtering("First", {"a": NO}), filtering("Second", {"a": NEVER, "b": NEVER})
    document = cycle(*plugins, all_rejections=True)
    rejecting = {
        name: [rejection["plugin"] for rejection in node["rejections"]]
        for name, node in document["nodes"].items()
    }
    assert rejecting == {"a": ["First", "Second"], "b": ["Second"], "c": []}
    assert said(document)["a"] == ("Unschedulable", "First", ("no room",))


def test_message_counts_reasons_and_sorts_them_as_texts() -> None:
    answers = {f"n{at:02}": Status.unschedulable("Insufficient cpu") for at in range(10)}
    answers |= {"x": Status.unschedulable("Too many pods", "Insufficient cpu"), "y": NEVER}
    document = cycle(filtering("F", answers), nodes=sorted(answers))
    assert document["status"]["code"] == "Unschedulable"
    assert (
        document["status"]["message"]
        == "0/12 nodes are available: 1 Too many pods, 1 never, 11 Insufficient cpu."
    )


def test_without_nodes_the_pod_has_nowhere_to_go() -> None:
    document = cycle(filtering("F", {}), nodes=())
    assert document["status"]["message"] == "no nodes available to schedule pods"


def test_gates_keep_a_pod_out_of_the_cycle() -> None:
    from mooring.plugins.scheduling_gates.plugin import SchedulingGates
    from mooring.testing import explain
    from mooring.testing.builders import node_manifest

    pod = pod_manifest(spec={"schedulingGates": [{"name": "a"}, {"name": "b"}]})
    document = explain([node_manifest()], pod)
    assert document["status"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": SchedulingGates.name,
        "reasons": ["waiting for scheduling gates: [a b]"],
        "message": "waiting for scheduling gates: [a b]",
    }
    assert document["selected"] is None
    assert document["otherwise"]["selected"] == "node"


@pytest.mark.parametrize(
    ("code", "fails"),
    [
        pytest.param(Code.UNSCHEDULABLE, False, id="unschedulable"),
        pytest.param(Code.PENDING, False, id="pending"),
        pytest.param(Code.WAIT, True, id="wait"),
        pytest.param(Code.SKIP, True, id="skip"),
        pytest.param(Code.ERROR, True, id="error"),
    ],
)
def test_what_a_filter_may_say(code: Code, fails: bool) -> None:
    document = cycle(filtering("F", {"a": Status(code, ("because",))}))
    assert (document["status"]["code"] == "Error") == fails
    assert not fails or document["status"]["plugin"] == "F"


def test_an_exception_in_a_filter_fails_the_decision_with_its_name() -> None:
    def boom(name: str) -> Status:
        raise RuntimeError(f"no idea about {name}")

    status = cycle(filtering("Boom", boom))["status"]
    assert (status["code"], status["plugin"]) == ("Error", "Boom")
    assert "RuntimeError: no idea about a" in status["message"]
    assert "Filter" in status["message"]


def test_scores_are_normalised_weighted_and_added() -> None:
    document = cycle(
        scoring("One", {"a": 1, "b": 2, "c": 4}, normalize=lambda scores: scores * 25),
        scoring("Two", {"a": 100, "b": 0, "c": 0}),
        weights={"One": 3, "Two": 2},
    )
    assert {name: node["total"] for name, node in document["nodes"].items()} == {"a": 275, "b": 150, "c": 300}
    assert document["nodes"]["b"]["scores"]["One"] == {
        "raw": 2,
        "normalized": 50,
        "weight": 3,
        "weighted": 150,
    }
    assert (document["selected"], document["ties"]) == ("c", ["c"])


def test_a_plugin_that_skips_prescore_adds_nothing() -> None:
    document = cycle(
        scoring("Skips", {"a": 100, "b": 0, "c": 0}, pre_score=Status.skip()),
        scoring("Two", {"a": 1, "b": 2, "c": 3}),
    )
    assert [*document["nodes"]["a"]["scores"]] == ["Two"]
    assert document["selected"] == "c"


@pytest.mark.parametrize(
    ("scores", "fault"),
    [
        pytest.param({"a": 101, "b": 0, "c": 0}, "invalid score 101", id="over 100"),
        pytest.param({"a": 0, "b": -1, "c": 0}, "invalid score -1", id="below 0"),
        pytest.param({"a": 0, "b": 1.5, "c": 0}, "node 'b' is 1.5, not an int", id="float"),
        pytest.param({"a": float("nan"), "b": 1, "c": 0}, "node 'a' is nan, not an int", id="NaN"),
        pytest.param({"a": True, "b": 1, "c": 0}, "node 'a' is True, not an int", id="bool"),
        pytest.param({"a": None, "b": 1, "c": 0}, "node 'a' is None, not an int", id="None"),
        pytest.param({"a": 10**30, "b": 1, "c": 0}, "node 'a' is 100 bits long, outside int64", id="10**30"),
    ],
)
def test_bad_scores_fail_the_decision_by_name(scores: dict[str, Any], fault: str) -> None:
    status = cycle(scoring("Bad", scores))["status"]
    assert (status["code"], status["plugin"]) == ("Error", "Bad")
    assert fault in status["message"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda scores: scores.astype(np.float64), id="floats"),
        pytest.param(lambda scores: scores[:-1], id="one too few"),
        pytest.param(lambda scores: scores.tolist(), id="a list"),
        pytest.param(lambda scores: scores.__iadd__(1), id="the input changed"),
    ],
)
def test_bad_normalised_scores_fail_the_decision(answer: Any) -> None:
    status = cycle(scoring("Bad", {"a": 1, "b": 2, "c": 3}, normalize=answer))["status"]
    assert (status["code"], status["plugin"]) == ("Error", "Bad")
    assert "ScoreExtensionNormalize" in status["message"]


def test_one_feasible_node_is_not_scored_unless_asked() -> None:
    plugins = filtering("F", {"a": NO, "b": NO}), scoring("S", {"c": 7})
    document = cycle(*plugins)
    assert (document["selected"], document["nodes"]["c"]["total"], document["nodes"]["c"]["scores"]) == (
        "c",
        None,
        {},
    )
    assert cycle(*plugins, always_score=True)["nodes"]["c"]["total"] == 7


def test_without_score_plugins_every_node_is_as_good() -> None:
    document = cycle(filtering("F", {}))
    assert document["ties"] == ["a", "b", "c"]
    assert {node["total"] for node in document["nodes"].values()} == {1}


def test_the_nominated_node_is_tried_alone_first() -> None:
    nominated = pod_manifest(status={"nominatedNodeName": "b"})
    document = cycle(scoring("S", {"a": 9, "b": 0, "c": 0}), pod=nominated)
    assert (document["selected"], document["evaluated"]) == ("b", 1)
    rejected = cycle(filtering("F", {"b": NO}), scoring("S", {"a": 9, "c": 0}), pod=nominated)
    assert (rejected["selected"], rejected["evaluated"]) == ("a", 3)


def test_a_single_plugin_that_is_not_built_rejects_the_pods_that_need_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mooring.testing import explain
    from mooring.testing.builders import node_manifest

    missing = add_missing_plugin(monkeypatch)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": missing}]}}}],
    }
    pod = pod_manifest(labels={"needs": missing})
    document = explain([node_manifest()], pod, config)
    assert document["status"]["code"] == "UnschedulableAndUnresolvable"
    assert document["status"]["reasons"] == [f"plugin {missing} is not supported yet"]
    assert document["selected"] is None
    warnings = explain([node_manifest()], pod_manifest(), config)["warnings"]
    assert any(said.startswith("not supported yet: ") and missing in said for said in warnings)
    assert not [said for said in cycle(filtering("F", {}))["warnings"] if said.startswith("not ")]
