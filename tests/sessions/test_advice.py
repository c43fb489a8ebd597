"""Advice to users: the easiest option first, in words, remembered as long as the filters agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mooring.cluster.manifests import objects_from
from mooring.framework import Pod
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.change import advice, time_limit
from mooring.sessions.change.advice import Advisor, nodes_with, search, words
from mooring.sessions.change.steps import ChangeOption, NeededChanges
from mooring.sessions.work_trees import Work
from mooring.testing import make_pod
from tests.plugins.rejections import FACTS
from tests.sessions.test_change import OWNED, TAINT, node, pod, there, work_on

GPU = "nvidia.com/gpu"
FOR_GPUS: dict[str, Any] = {"spec": {"taints": [{"key": GPU, "value": "true", "effect": "NoSchedule"}]}}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
FOR_CONTROL: dict[str, Any] = {"spec": {"taints": [{"key": CONTROL_PLANE, "effect": "NoSchedule"}]}}
SMALL = {"cpu": "2", "memory": "4Gi", "pods": 10}


def gpu_node(name: str) -> Any:
    return node(name, **FOR_GPUS, status={"allocatable": {**SMALL, GPU: "1"}})


def job(name: str, on: str, **fields: Any) -> Pod:
    owner = [{**OWNED[0], "apiVersion": "batch/v1", "kind": "Job"}]
    return make_pod(name, metadata={"uid": name, "ownerReferences": owner}, node=on, **fields)


def advised(asked: Pod, *objects: Any) -> NeededChanges:
    work = work_on(*objects)
    return search(work, asked, work.engine.profile("", asked), "", NoDeadline(), seconds=60)


@pytest.mark.parametrize(
    ("asked", "objects", "expected"),
    [
        pytest.param(
            pod(requests={GPU: "1"}),
            [*map(gpu_node, "abc"), *map(node, "defghijk")],
            ["tolerate nvidia.com/gpu=true:NoSchedule (3 nodes)"],
            id="G6, one toleration beside idle devices, whatever most nodes lack",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [gpu_node("a"), node("b"), there("x", "b", requests={"cpu": "1900m"})],
            [
                "add a node like b",
                "request 0.1 cpu instead of 1 (b)",
                "tolerate nvidia.com/gpu=true:NoSchedule (a)",
            ],
            id="nodes with devices are for pods that need them",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [node("a", **FOR_CONTROL), node("b"), there("x", "b", requests={"cpu": "1900m"})],
            [
                "add a node like b",
                "request 0.1 cpu instead of 1 (b)",
                f"tolerate {CONTROL_PLANE}:NoSchedule, and run on the control plane (a)",
            ],
            id="nodes of the control plane are for the control plane",
        ),
        pytest.param(
            pod(requests={"cpu": "2"}),
            [node("a"), node("b", cpu="1"), job("x", "a", requests={"cpu": "1"})],
            [
                "wait until default/x ends (a)",
                "move default/x to b (a)",
                "add a node like a",
                "request 1 cpu instead of 2 (2 nodes)",
            ],
            id="a job ends",
        ),
        pytest.param(
            pod(requests={"cpu": "2"}),
            [node("a"), *(job(name, "a", requests={"cpu": "1"}) for name in "xy")],
            ["add a node like a", "wait until default/x ends and wait until default/y ends (a)"],
            id="two jobs end, which is more than one change",
        ),
        pytest.param(
            pod(spec={"nodeSelector": {"disk": "ssd"}}),
            [node("a", spec={"taints": [TAINT]})],
            ["tolerate team=db:NoSchedule and label a with disk=ssd"],
            id="both are needed",
        ),
        pytest.param(pod(spec={"nodeName": ""}), [node("a")], [], id="it fits"),
    ],
)
def test_the_easiest_comes_first(asked: Pod, objects: list[Any], expected: list[str]) -> None:
    found = advised(asked, *objects)
    assert ([words(option) for option in found.options], found.complete) == (expected, True)


def test_no_time_is_said_to_be_too_little() -> None:
    work = work_on(node("a", spec={"taints": [TAINT]}))
    found = search(work, pod(), work.engine.profile("", pod()), "", NoDeadline(), seconds=1e-9)
    assert (found.options, found.complete) == ([], False)


@pytest.mark.parametrize(
    ("asked", "objects"),
    [
        pytest.param(pod(), [node("a", spec={"taints": [TAINT]})], id="toleration"),
        pytest.param(pod(spec={"nodeSelector": {"disk": "ssd"}}), [node("a")], id="label"),
        pytest.param(
            pod(requests={"cpu": "2"}),
            [node("a"), node("b"), there("x", "a", requests={"cpu": "1"}), node("c", cpu="1")],
            id="room that is there by then",
        ),
        pytest.param(
            pod(requests={"cpu": "2"}),
            [node("a"), node("b", cpu="1"), job("x", "a", requests={"cpu": "1"})],
            id="end, move, node and request",
        ),
    ],
)
def test_each_answer_holds_when_it_is_tried_again(asked: Pod, objects: list[Any]) -> None:
    work = work_on(*objects)
    profile = work.engine.profile("", asked)
    found = search(work, asked, profile, "", NoDeadline(), seconds=60)
    for option in found.options:
        assert nodes_with(work, asked, profile, option, NoDeadline()) == option.nodes
    assert not work.tree.take_changes(), "the tree is what it was"


class Counting:
    """Counts searches, and remembers the first answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.searches = 0
        real = advice.search

        def counted(*args: Any, **named: Any) -> NeededChanges:
            self.searches += 1
            return real(*args, **named)

        monkeypatch.setattr(advice, "search", counted)


def later(work: Work, *objects: Any) -> None:
    """The cluster has changed."""
    work.tree.put_objects(objects)
    version = work.keep()
    work.version = replace(version, live_version=version.live_version + 1)


@pytest.mark.parametrize(
    ("then", "searches", "expected"),
    [
        pytest.param([], 1, "(2 nodes)", id="nothing"),
        pytest.param([node("c", spec={"taints": [TAINT]})], 1, "(3 nodes)", id="more nodes are counted"),
        pytest.param(
            [node(name, spec={"taints": [{**TAINT, "value": "web"}]}) for name in "ab"],
            2,
            "tolerate team=web:NoSchedule",
            id="it no longer helps",
        ),
    ],
)
def test_advice_is_remembered_while_it_holds(
    then: list[Any], searches: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, advisor, counting = work_on(*tainted("ab")), Advisor(), Counting(monkeypatch)
    advisor.advise(work, pod(), "", NoDeadline(), seconds=60)
    if then:
        later(work, *then)
    twin = make_pod("twin", metadata={"uid": "twin"})
    found = advisor.advise(work, twin, "", NoDeadline(), seconds=60)
    assert (counting.searches, expected in words(found.options[0])) == (searches, True)
    advisor.advise(work, pod(requests={"cpu": "1"}), "", NoDeadline(), seconds=60)
    assert counting.searches == searches + 1, "another template is another question"


def test_without_time_only_what_is_remembered_is_said() -> None:
    work, advisor = work_on(*tainted("a")), Advisor()
    nothing = advisor.advise(work, pod(), "", NoDeadline(), seconds=0)
    assert (nothing.options, nothing.complete) == ([], False)
    advisor.advise(work, pod(), "", NoDeadline(), seconds=60)
    assert first(advisor.advise(work, pod(), "", NoDeadline(), seconds=0)).node_name == "a"


def first(found: NeededChanges) -> ChangeOption:
    return found.options[0]


def tainted(names: str) -> list[Any]:
    return [node(name, spec={"taints": [TAINT]}) for name in names]


def test_nothing_else_is_looked_for_beside_the_easiest_change() -> None:
    found = advised(
        pod(requests={GPU: "1"}), gpu_node("a"), gpu_node("b"), there("x", "b", requests={GPU: "1"})
    )
    assert ([words(option) for option in found.options], found.complete) == (
        ["tolerate nvidia.com/gpu=true:NoSchedule (a)"],
        True,
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param("devices, in use", ["add a node like n1"], id="devices"),
        pytest.param("limit, reached by a pod", ["add a node like n1"], id="the limit of a driver"),
        pytest.param("limit, two volumes where one fits", [], id="the same limit is too low"),
        pytest.param("driver, not on the node", [], id="a driver that is not there"),
    ],
)
def test_drivers_report_of_a_new_node_what_they_do_of_one_like_it(row: str, expected: list[str]) -> None:
    fact = FACTS[row]
    objects = objects_from([*fact.objects, fact.pod]).objects
    asked = next(each for each in objects if isinstance(each, Pod) and not each.spec.node_name)
    found = advised(asked, *objects)
    assert [words(option) for option in found.options] == expected


def test_a_step_that_lasts_too_long_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    work, asked = work_on(node("a")), pod(requests={"cpu": "64"})
    profile = work.engine.profile("", asked)
    monkeypatch.setattr(time_limit, "FACTOR", 0.0)
    cut = search(work, asked, profile, "", NoDeadline(), seconds=60)
    assert (cut.options, cut.complete) == ([], False)
    monkeypatch.undo()
    whole = search(work, asked, profile, "", NoDeadline(), seconds=60)
    assert ([words(option) for option in whole.options], whole.complete) == (
        ["request 2 cpu instead of 64 (a)"],
        True,
    )
