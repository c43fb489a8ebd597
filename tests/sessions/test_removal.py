"""Removal reports for each node where its pods would go in a cluster that never had the node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Int32s, Node, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.commit.controllers import made_anew
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.forecast.node_removal import NodeRemovalForecast
from mooring.sessions.removal import Departure, Landing, NodeRemoval, Removal, adopted, cordoned
from mooring.testing import make_node, make_pod
from tests.examples import examples
from tests.runtime.test_cached_equals_full import TEMPLATES, ZONE

OPTIONS = EngineOptions()
REGISTRY = registry_of(OPTIONS)
CONFIGURATION = configuration_of(OPTIONS, REGISTRY)
SEED = 3

PLAIN = ("small", "large", "tolerant", "selecting", "preferring", "with an image")
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]}
KINDS = {
    **TEMPLATES,
    "with an image": {
        "spec": {"containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "500m"}}}]}
    },
}


BOTH = pytest.mark.parametrize("departure", list(Departure), ids=[each.name.lower() for each in Departure])


def removal_over(objects: Sequence[Any], departure: Departure = Departure.DELETION) -> Removal:
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    core.state.replace("test", objects)
    work = LiveState(core, OPTIONS).work()
    return Removal(work, partial(adopted, work.engine, ""), departure=departure, seed=SEED)


def one_by_one(
    nodes: Sequence[Node], pods: Sequence[Pod], name: str, departure: Departure = Departure.DELETION
) -> NodeRemoval:
    """Place the pods of a node again in a cluster of their own, each by a full evaluation."""
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    stay = [pod for pod in pods if pod.spec.node_name != name]
    there = [node for node in nodes if node.metadata.name != name]
    if departure is Departure.DRAIN:
        there = [cordoned(node) if node.metadata.name == name else node for node in nodes]
    core.state.replace("test", [*there, *stay])

    def elsewhere(state: ClusterState) -> Int32s:
        rows = state.snapshot.nodes.rows()
        others: Int32s = rows[rows != state.snapshot.nodes.index.get(name, -1)]
        return others

    landings: list[Landing] = []
    for pod in (pod for pod in pods if pod.spec.node_name == name):
        anew = made_anew(pod)
        # A pod that tolerates everything tolerates the cordon.
        asked = Candidates(elsewhere) if pod.spec.tolerations else ALL_NODES
        choice = core.engine.decide(anew, core.engine.profile(), asked, seed=SEED, options=CycleOptions())
        landings.append(Landing(pod, choice.node_name or "", choice.status, choice.message))
        if choice.node_name is None:
            break
        core.state.assume(anew, choice.node_name)
    return NodeRemoval(name, all(landing.node_name for landing in landings), tuple(landings), 0)


def facts(found: NodeRemoval) -> tuple[Any, ...]:
    landings = [
        (landing.pod.metadata.name, landing.node_name, landing.message if not landing.node_name else "")
        for landing in found.landings
    ]
    return found.node_name, found.removable, landings


@st.composite
def clusters(draw: st.DrawFn, kinds: Sequence[str]) -> tuple[list[Node], list[Pod]]:
    """Return nodes in two zones, some with an image and a taint, with pods of a few kinds."""
    nodes = [
        make_node(
            f"n{at}",
            labels={
                ZONE: draw(st.sampled_from(("z1", "z2"))),
                **draw(st.sampled_from(({}, {"disk": "ssd"}))),
            },
            allocatable={"cpu": draw(st.sampled_from(("2", "4", "7500m"))), "memory": "16Gi", "pods": 9},
            taints=draw(st.sampled_from(((), ({"key": "t", "effect": "PreferNoSchedule"},)))),
            status={"images": draw(st.sampled_from(([], [{"names": ["app:1"], "sizeBytes": 700 << 20}])))},
        )
        for at in range(draw(st.integers(2, 5)))
    ]
    some = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3))
    pods = [
        make_pod(
            f"p{at}",
            node=f"n{draw(st.integers(0, len(nodes) - 1))}",
            metadata={"uid": f"u{at}", **OWNED},
            **KINDS[draw(st.sampled_from(some))],
        )
        for at in range(draw(st.integers(1, 10)))
    ]
    return nodes, pods


@BOTH
@pytest.mark.parametrize("kinds", [pytest.param(PLAIN, id="plain"), pytest.param(tuple(KINDS), id="all")])
@examples(40)
@given(data=st.data())
def test_each_node_is_looked_at_as_if_it_had_never_been_or_were_cordoned(
    kinds: Sequence[str], departure: Departure, data: st.DataObject
) -> None:
    nodes, pods = data.draw(clusters(kinds))
    names = [node.metadata.name for node in nodes]
    found = list(removal_over([*nodes, *pods], departure).try_nodes(names, NoDeadline()))
    for said in found:
        expected = one_by_one(nodes, pods, said.node_name, departure)
        deleted = one_by_one(nodes, pods, said.node_name)
        assert said.removable == expected.removable
        if expected.removable or departure is Departure.DELETION:
            assert facts(said) == facts(expected)
        elif deleted.removable:
            assert any(landing.waits for landing in said.landings)
            assert all(landing.node_name for landing in said.landings)
        else:
            assert facts(said) == facts(deleted)


@examples(20)
@given(data=st.data())
def test_nodes_that_go_one_after_the_other_are_gone_for_the_next(data: st.DataObject) -> None:
    nodes, pods = data.draw(clusters(tuple(KINDS)))
    names = [node.metadata.name for node in nodes]
    for found in removal_over([*nodes, *pods]).try_nodes(names, NoDeadline(), cumulative=True):
        expected = one_by_one(nodes, pods, found.node_name)
        assert Counter(facts(found)[2]) == Counter(facts(expected)[2])
        if not found.removable:
            continue
        nodes = [node for node in nodes if node.metadata.name != found.node_name]
        places = {landing.pod.metadata.uid: landing.node_name for landing in found.landings}
        pods = [pod for pod in pods if pod.metadata.uid not in places] + [
            make_again(landing.pod, landing.node_name) for landing in found.landings
        ]


def make_again(pod: Pod, node_name: str) -> Pod:
    anew = made_anew(pod)
    return replace(anew, spec=replace(anew.spec, node_name=node_name))


def test_plain_pods_are_not_moved_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [make_node(f"n{at}", allocatable={"cpu": "4", "pods": 9}) for at in range(4)]
    pods = [
        make_pod(f"p{at}", node="n1", metadata={"uid": f"u{at}", **OWNED}, **KINDS["small"])
        for at in range(3)
    ]
    removal = removal_over([*nodes, *pods])
    version = removal._work.tree.version
    (found,) = removal.try_nodes(["n1"], NoDeadline())
    assert found.removable
    assert removal._work.tree.version == version
    monkeypatch.setattr(NodeRemovalForecast, "decide", lambda *_: ())
    (moved,) = removal.try_nodes(["n1"], NoDeadline())
    assert facts(moved) == facts(found)
    assert removal._work.tree.version > version
