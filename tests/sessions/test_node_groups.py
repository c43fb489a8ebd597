"""The advised number of nodes is enough and one fewer is not, whichever way it was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Pod
from mooring.runtime.cycle.plugin_calls import Unhurried
from mooring.sessions.node_groups import NodeGroup, NodeGroups
from mooring.sessions.work_trees import Work
from mooring.testing import make_node, make_pod

OPTIONS = EngineOptions()
REGISTRY = registry_of(OPTIONS)
CONFIGURATION = configuration_of(OPTIONS, REGISTRY)


def looking(pods: Sequence[Pod], *objects: Any) -> NodeGroups:
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    core.state.replace("test", objects)
    work: Work = LiveState(core, OPTIONS).work()
    found = NodeGroups(work, pods, lambda pod: work.engine.profile("", pod))
    found.place_existing(Unhurried())
    return found


def shapes() -> st.SearchStrategy[dict[str, Any]]:
    amounts = st.fixed_dictionaries(
        {"cpu": st.sampled_from(["100m", "300m", "700m", "1"]), "memory": st.sampled_from(["1Gi", "3Gi"])}
    )
    return st.fixed_dictionaries({"requests": amounts})


@st.composite
def some_pods(draw: st.DrawFn) -> list[Pod]:
    kinds = draw(st.lists(shapes(), min_size=1, max_size=3))
    counts = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=20))
    return [make_pod(f"p{at}", metadata={"uid": f"u{at}"}, **kinds[kind]) for at, kind in enumerate(counts)]


@settings(max_examples=25, deadline=None)
@given(some_pods(), st.sampled_from(["1", "2"]), st.sampled_from(["4Gi", "16Gi"]))
def test_one_node_fewer_leaves_more_pods_over(pods: list[Pod], cpu: str, memory: str) -> None:
    group = NodeGroup("g", make_node("t", allocatable={"cpu": cpu, "memory": memory, "pods": 6}))
    found = looking(pods, make_node("old", allocatable={"cpu": "1", "memory": "8Gi", "pods": 10}))
    option = found.option(group, Unhurried())
    waiting = [left.pod for left in found.rest]

    def left(count: int) -> int:
        return len(found._left_by(group, count, waiting, Unhurried()))

    assert left(option.count) == len(option.left_over) == left(len(pods))
    assert option.count == 0 or left(option.count - 1) > len(option.left_over)


def test_nodes_of_the_group_that_are_there_already_stay() -> None:
    room = {"cpu": "4", "memory": "16Gi", "pods": 10}
    there = [make_node(f"large-{number}", allocatable=room) for number in (0, 2)]
    full = [
        make_pod(f"full-{node.metadata.name}", node=node.metadata.name, requests={"cpu": "3"})
        for node in there
    ]
    found = looking([make_pod("p", requests={"cpu": "3"})], *there, *full)
    option = found.option(NodeGroup("large", make_node("t", allocatable=room)), Unhurried())
    assert (option.count, option.left_over) == (1, ())


@settings(max_examples=25, deadline=None)
@given(some_pods(), st.integers(1, 8))
def test_nodes_alone_say_what_they_say_beside_others(pods: list[Pod], count: int) -> None:
    group = NodeGroup("g", make_node("t", allocatable={"cpu": "2", "memory": "8Gi", "pods": 6}))
    full = make_node("full", allocatable={"cpu": "1", "memory": "1Gi", "pods": 0})
    found = looking(pods, full)
    fitting, _, plain = found._split(group, Unhurried())
    assert plain
    waiting = fitting
    if not waiting:
        return
    alone = found._all_placed_alone(group, count, waiting, Unhurried())
    assert alone == (not found._left_by(group, count, waiting, Unhurried()))


APART = {"topologyKey": "zone", "labelSelector": {}}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


@pytest.mark.parametrize(
    ("spec", "alone"),
    [
        pytest.param({}, True, id="plain"),
        pytest.param(
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}},
            False,
            id="apart",
        ),
        pytest.param({"topologySpreadConstraints": [SPREAD]}, False, id="spread"),
    ],
)
def test_pods_that_look_at_others_are_placed_beside_them(spec: dict[str, Any], alone: bool) -> None:
    pods = [make_pod("p", spec=spec)]
    group = NodeGroup("g", make_node("t", labels={"zone": "z"}))
    assert looking(pods)._split(group, Unhurried())[2] is alone
