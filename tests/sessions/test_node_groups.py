"""The advised number of nodes is enough and one fewer is not, whichever way it was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Pod
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.forecast.alike_pods import alike
from mooring.runtime.forecast.hypothetical_nodes import HypotheticalNodes
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.least_count import Search, searched
from mooring.sessions.node_groups import NodeGroup, NodeGroups
from mooring.sessions.pending import place_pending
from mooring.sessions.work_trees import Work
from mooring.testing import make_node, make_pod
from tests.examples import examples
from tests.runtime.test_cached_equals_full import TEMPLATES, ZONE, near, spread

OPTIONS = EngineOptions()
REGISTRY = registry_of(OPTIONS)
CONFIGURATION = configuration_of(OPTIONS, REGISTRY)

APP = {"labels": {"app": "a"}}
SIDE_BY_SIDE: dict[str, dict[str, Any]] = {
    **{name: TEMPLATES[name] for name in ("small", "large", "of a service", "asks for nothing", "selecting")},
    **{name: TEMPLATES[name] for name in ("spread hard", "spread by host", "near", "apart", "preferring")},
    "spread over three zones": {
        "requests": {"cpu": "300m"},
        **APP,
        "spec": {
            "topologySpreadConstraints": [
                {**spread(ZONE, "DoNotSchedule")["topologySpreadConstraints"][0], "minDomains": 3}
            ]
        },
    },
    "apart by zone": {"labels": {"app": "b"}, "spec": near("podAntiAffinity", ZONE, required=True)},
    "near none yet": {"labels": {"app": "b"}, "spec": near("podAffinity", ZONE, required=True)},
    "rather near by zone": {"requests": {"cpu": "100m"}, "spec": near("podAffinity", ZONE, required=False)},
    "spread softly nowhere": {"labels": {"app": "c"}, "requests": {"cpu": "1"}},
}
ROOM = {"cpu": "2", "memory": "8Gi", "pods": 6}
FULL = {"cpu": "8", "memory": "16Gi", "pods": 1}


def looking(pods: Sequence[Pod], *objects: Any) -> NodeGroups:
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    core.state.replace("test", objects)
    work: Work = LiveState(core, OPTIONS).work()

    def profile_of(pod: Pod) -> Profile:
        return work.engine.profile("", pod)

    queue = place_pending(work, profile_of, 5, NoDeadline(), pods)
    return NodeGroups(work, queue.left, profile_of, seed=5)


@st.composite
def pods_of(draw: st.DrawFn, kinds: Sequence[str]) -> list[Pod]:
    some = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4))
    named = draw(st.lists(st.sampled_from(some), min_size=1, max_size=16))
    every = {**TEMPLATES, **SIDE_BY_SIDE}
    return [make_pod(f"p{at}", metadata={"uid": f"u{at}"}, **every[kind]) for at, kind in enumerate(named)]


@st.composite
def groups_of(draw: st.DrawFn) -> list[NodeGroup]:
    return [
        NodeGroup(
            f"g{at}",
            make_node(
                "t",
                labels=draw(st.sampled_from(({ZONE: "z1"}, {ZONE: "z2"}, {}, {ZONE: "z1", "disk": "ssd"}))),
                allocatable={**ROOM, "cpu": draw(st.sampled_from(("1", "2", "3500m", "8")))},
                taints=draw(st.sampled_from(((), (), ({"key": "t", "effect": "NoSchedule"},)))),
            ),
            draw(st.sampled_from((1, 3, 100))),
        )
        for at in range(draw(st.integers(1, 3)))
    ]


@st.composite
def full_nodes(draw: st.DrawFn) -> list[Any]:
    """Return nodes in zones without room, some with pods that other pods' rules count."""
    zones = draw(st.lists(st.sampled_from(("z1", "z2", "z3", None)), max_size=3))
    nodes = [
        make_node(f"full{at}", labels={ZONE: zone} if zone else {}, allocatable=FULL)
        for at, zone in enumerate(zones)
    ]
    running = [
        make_pod(
            f"running{at}",
            node=f"full{at}",
            metadata={"uid": f"running{at}"},
            **draw(st.sampled_from(({}, APP, SIDE_BY_SIDE["apart"], SIDE_BY_SIDE["apart by zone"]))),
        )
        for at in range(len(nodes))
    ]
    return [*nodes, *running]


def placed_side_by_side(found: NodeGroups, groups: Sequence[NodeGroup], counts: Sequence[int]) -> Any:
    """bool[P, G]: pods that are left over; None if a parallel decision is not possible."""
    pods = [left.pod for left in found.rest]
    templates, indices = alike(pods)
    nodes = [node for group in groups for node in found._new_nodes(group, 1)]
    tree = found.work.tree
    tree.put_objects(nodes)
    rows = np.array([tree.snapshot.nodes.index[node.metadata.name] for node in nodes], np.int32)
    decided = [(pod, found.profile_of(pod)) for pod in templates]
    worlds = found.work.engine.parallel_groups(decided, rows, NoDeadline())
    if worlds is None:
        found.work.go_back()
        return None
    uids = [pod.metadata.uid for pod in pods]
    numbers = np.arange(len(groups), dtype=np.int32)
    places = worlds.places(numbers, np.array(counts), indices, uids, found.seed, lambda: None)
    found.work.go_back()
    return places == REJECTED


@examples(120)
@given(pods_of(tuple(SIDE_BY_SIDE)), groups_of(), full_nodes(), st.integers(1, 8))
def test_pods_side_by_side_go_where_they_go_one_by_one(
    pods: list[Pod], groups: list[NodeGroup], there: list[Any], count: int
) -> None:
    found = looking(pods, *there)
    if not found.rest:
        return
    left = placed_side_by_side(found, groups, [count] * len(groups))
    assert left is not None
    for at, group in enumerate(groups):
        names = {each.pod.metadata.name for each in found._left_by([(group, count)], NoDeadline())}
        assert {
            each.pod.metadata.name for each, over in zip(found.rest, left[:, at], strict=True) if over
        } == names


@examples(60)
@given(pods_of((*SIDE_BY_SIDE, *TEMPLATES)), groups_of(), full_nodes())
def test_one_node_fewer_leaves_more_pods_over(
    pods: list[Pod], groups: list[NodeGroup], there: list[Any]
) -> None:
    found = looking(pods, *there)

    def left(group: NodeGroup, count: int) -> int:
        return len(found._left_by([(group, count)], NoDeadline()))

    options = found.options(groups, NoDeadline())
    assert [option.rank for option in options] == sorted(option.rank for option in options)
    for option in options:
        most = min(option.group.most, len(found.rest))
        assert left(option.group, option.count) == len(option.left_over) == left(option.group, most)
        assert option.count == 0 or left(option.group, option.count - 1) > len(option.left_over)
        assert (
            all(each.message for each in option.left_over)
            or option.left_over not in [one.left_over for one in options if one.left_over][:3]
        )


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        *(pytest.param(kind, True, id=kind) for kind in SIDE_BY_SIDE),
        pytest.param("with a port", False, id="ports of the node"),
        pytest.param("spread softly", False, id="scores of domains"),
        pytest.param("rather near", False, id="scores of nodes by the pods there"),
    ],
)
def test_what_is_told_side_by_side(kind: str, told: bool) -> None:
    pods = [
        make_pod(f"p{at}", metadata={"uid": f"u{at}"}, **{**TEMPLATES, **SIDE_BY_SIDE}[kind]) for at in (0, 1)
    ]
    found = looking(pods)
    group = NodeGroup("g", make_node("t", labels={ZONE: "z"}, allocatable=ROOM))
    assert (placed_side_by_side(found, [group], [2]) is not None) is told


def test_pods_that_might_go_to_a_node_that_is_there_are_placed_beside_it() -> None:
    there = make_node("there", labels={ZONE: "z"}, allocatable=ROOM)
    apart = make_pod("old", node="there", metadata={"uid": "old"}, **SIDE_BY_SIDE["apart"])
    pods = [make_pod("new", metadata={"uid": "new"}, **SIDE_BY_SIDE["apart"])]
    group = NodeGroup("g", make_node("t", labels={ZONE: "z"}, allocatable=ROOM))
    found = looking(pods, there, apart)
    assert placed_side_by_side(found, [group], [1]) is None
    (option,) = found.options([group], NoDeadline())
    assert (option.count, option.left_over) == (1, ())


def test_nodes_of_the_group_that_are_there_already_stay() -> None:
    room = {"cpu": "4", "memory": "16Gi", "pods": 10}
    there = [make_node(f"large-{number}", allocatable=room) for number in (0, 2)]
    full = [
        make_pod(f"full-{node.metadata.name}", node=node.metadata.name, requests={"cpu": "3"})
        for node in there
    ]
    found = looking([make_pod("p", requests={"cpu": "3"})], *there, *full)
    (option,) = found.options([NodeGroup("large", make_node("t", allocatable=room))], NoDeadline())
    assert (option.count, option.left_over) == (1, ())


@pytest.mark.parametrize(
    ("enough", "unfit", "first", "most", "count"),
    [
        pytest.param(7, 0, 7, 100, 7, id="the first"),
        pytest.param(9, 0, 7, 100, 9, id="a few more"),
        pytest.param(90, 0, 1, 100, 90, id="many more"),
        pytest.param(200, 0, 1, 100, 100, id="more than there can be"),
        pytest.param(3, 2, 3, 100, 3, id="some fit nowhere"),
        pytest.param(1, 20, 1, 100, 0, id="all fit nowhere"),
        pytest.param(5, 0, 1, 0, 0, id="there can be none"),
    ],
)
def test_the_least_count(enough: int, unfit: int, first: int, most: int, count: int) -> None:
    search = Search(first, first, most, 20, unfit)

    def placed_by(_: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
        over = [max(unfit, round(20 * (1 - each / enough))) for each in counts]
        return [[-1 if at < each else 0 for at in range(20)] for each in over]

    ((found, _),) = searched([search], placed_by)
    left = [max(unfit, round(20 * (1 - each / enough))) if each else 20 for each in range(most + 1)]
    assert found == min(each for each, over in enumerate(left) if over <= left[most])
    assert count in (found, enough, most)


def test_of_equal_nodes_the_seed_takes_one_in_their_order() -> None:
    found = looking([make_pod("p", metadata={"uid": "u"}, requests={"cpu": "1"})])
    tree = found.work.tree
    tree.put_objects([make_node("t", allocatable=ROOM)])
    usage = tree.kind_of(found.rest[0].pod, remember=False).usage
    for mixed in range(7):
        nodes = HypotheticalNodes(tree.snapshot, np.array([0, 0], np.int32), np.array([2, 4]), ())
        totals = np.array([3, 3, 1, 5, 5, 5], np.int32)
        assert nodes.place(totals, np.array([True, True]), mixed, usage, 0).tolist() == [
            mixed % 2,
            1 + mixed % 3,
        ]
        pods = nodes.view.requested("pods").tolist()
        assert np.flatnonzero(pods).tolist() == [mixed % 2, 3 + mixed % 3]
