"""The harness itself: what counts as a difference, and how far a scenario is shrunk."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.laboratories.conformance import generator
from tests.laboratories.conformance.compare import differences, shrink
from tests.laboratories.conformance.families.draft import Manifest

FIT = {"raw": 50, "normalized": 50, "weight": 2, "weighted": 100}
DOCUMENT: Manifest = {
    "pod": "default/p",
    "profile": "default-scheduler",
    "status": {"code": "Success", "plugin": "", "reasons": [], "message": ""},
    "prefilter": {"NodeResourcesFit": {"code": "Success", "reasons": [], "nodes": None}},
    "nodes": {
        "a": {
            "status": {"code": "Success", "plugin": "", "reasons": []},
            "scores": {"NodeResourcesFit": FIT},
            "total": 100,
        },
        "b": {
            "status": {"code": "Unschedulable", "plugin": "NodePorts", "reasons": ["no port"]},
            "scores": {},
            "total": None,
        },
    },
    "ties": ["a", "c"],
    "evaluated": 2,
    "feasible": 1,
}
NOT_EVALUATED_NODE = {
    "status": {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "",
        "reasons": ["node(s) not evaluated, enough feasible ones were found before"],
    },
    "scores": {},
    "total": None,
}
NODE = ("nodes", "a")


def changed(path: tuple[str, ...], value: Any) -> Manifest:
    document = copy.deepcopy(DOCUMENT)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param((*NODE, "scores", "NodeResourcesFit", "raw"), 51, id="raw score"),
        pytest.param(
            (*NODE, "scores", "NodeResourcesFit", "normalized"), 50.0, id="a float is not an integer"
        ),
        pytest.param((*NODE, "scores"), {}, id="score missing"),
        pytest.param((*NODE, "total"), None, id="total"),
        pytest.param(("nodes", "b", "status", "code"), "UnschedulableAndUnresolvable", id="code"),
        pytest.param(("nodes", "b", "status", "plugin"), "NodeName", id="plugin"),
        pytest.param(("nodes", "b", "status", "reasons"), [], id="reasons"),
        pytest.param(("nodes", "c"), DOCUMENT["nodes"]["b"], id="another node"),
        pytest.param(("prefilter",), {}, id="prefilter"),
        pytest.param(("ties",), ["a"], id="ties"),
        pytest.param(("status", "message"), "0/2 nodes are available", id="message"),
        pytest.param(("feasible",), 2, id="feasible"),
    ],
)
def test_differs(path: tuple[str, ...], value: Any) -> None:
    found = differences(changed(path, value), DOCUMENT)
    assert len(found) == 1
    assert found[0].startswith("." + ".".join(path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("ties",), ["c", "a"], id="order of ties"),
        pytest.param(("nodes", "c"), NOT_EVALUATED_NODE, id="a node that nobody looked at"),
        pytest.param(("warnings",), ["something"], id="fields of mooring alone"),
    ],
)
def test_agrees(path: tuple[str, ...], value: Any) -> None:
    assert differences(changed(path, value), DOCUMENT) == []


def test_errors_are_compared_by_code() -> None:
    ours = changed(
        ("status",), {"code": "Error", "plugin": "", "reasons": ["bad label"], "message": "bad label"}
    )
    theirs = changed(
        ("status",), {"code": "Error", "plugin": "NodeAffinity", "reasons": [], "message": "invalid"}
    )
    assert differences(ours, theirs) == []
    assert differences(ours, DOCUMENT)


def test_shrink_keeps_only_what_makes_the_difference() -> None:
    scenario = generator.scenario(seed=1, index=0, only="taint-toleration")
    guilty = scenario["objects"][-1]["metadata"]["name"]

    def differs(smaller: Manifest) -> bool:
        return any(item.get("metadata", {}).get("name") == guilty for item in smaller["objects"])

    smallest = shrink(scenario, differs)
    assert smallest["objects"] == [{"metadata": {"name": guilty}}]
    assert smallest["pod"] == {}


def some(seed: int, family: str) -> list[Manifest]:
    return [generator.scenario(seed, index, family) for index in range(5)]


def test_scenarios_depend_on_the_seed_alone() -> None:
    families = generator.NAMES
    assert [
        name for name in families if some(7, name) != some(7, name) or some(7, name) == some(8, name)
    ] == []
