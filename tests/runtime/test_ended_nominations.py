"""A nomination ends: its node has room again, for a dry run and for a pod that is placed alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Node, Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder


def sized(name: str, pods: int = 110) -> Node:
    return make_node(name, allocatable={"cpu": "1", "pods": pods})


def guest(name: str, nominated: str = "", node: str = "", priority: int = 0) -> Pod:
    status = {"nominatedNodeName": nominated} if nominated else {}
    return make_pod(name, node=node, requests={"cpu": "600m"}, spec={"priority": priority}, status=status)


def cluster() -> State:
    """Return a node that a pod is nominated for, two nodes that take no pods, and a nomination that stays."""
    state = State()
    full = make_pod("full", node="n2", requests={"cpu": "1"})
    objects: list[Node | Pod] = [
        sized("n0"),
        sized("n1", pods=0),
        sized("n2"),
        guest("x", "n0"),
        guest("y", "n1"),
        full,
    ]
    state.apply("test", [Put(item) for item in objects])
    return state


def asking(name: str) -> Pod:
    return make_pod(name, requests={"cpu": "500m"})


End = Callable[[State], None]


def told(*pods: Pod) -> End:
    return lambda state: state.apply("test", [Put(pod) for pod in pods])


ENDS: dict[str, End] = {
    "nomination-moves": told(guest("x", "n1")),
    "nomination-ends-elsewhere": told(guest("x", node="n1")),
    "cleared in its status": told(guest("x")),
    "cleared here": lambda state: state.nominate(guest("x").metadata.uid, ""),
    "moved here": lambda state: state.nominate(guest("x").metadata.uid, "n2"),
    "assumed elsewhere": lambda state: state.assume(guest("x"), "n2"),
    "in a full load": lambda state: state.replace("test", [guest("x", "n2"), guest("y", "n1")], kind="Pod"),
    "deleted": lambda state: state.apply("test", [Remove("Pod", "default", "x")]),
    "less important": told(guest("x", "n0", priority=-1)),
}


@pytest.mark.parametrize("end", [pytest.param(end, id=name) for name, end in ENDS.items()])
def test_its_node_takes_the_next_pod(end: End) -> None:
    state, registry = cluster(), new_in_tree_registry()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    profile = engine.profile()
    assert engine.place(asking("a"), profile, ALL_NODES).node_name is None
    end(state)
    dry = engine.decide(asking("b"), profile, ALL_NODES)
    assert dry.node_name == "n0"
    assert engine.place(asking("b"), profile, ALL_NODES).node_name == "n0"
