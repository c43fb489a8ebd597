"""Attributes with a column over all nodes, and the cost of names without one."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from random import Random

import pytest

from mooring.cluster import change_log, journal, node_writer, pod_kinds
from mooring.cluster.interning import InternTable
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.shared_values import SharedValues
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Node, Pod
from mooring.framework.view import NodeView
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder
from tests.cluster.histories import content

MANY = 3_000


def node(name: str, **offered: int) -> Node:
    return make_node(name, allocatable={"cpu": 8, "memory": "8Gi", "pods": 100, **of_devices(offered)})


def pod(name: str, on: str = "", /, **asked: int) -> Pod:
    return make_pod(name, spec={"nodeName": on}, requests={"cpu": "1m", **of_devices(asked)})


def of_devices(amounts: Mapping[str, int]) -> dict[str, int]:
    return {f"a.b/{name}": amount for name, amount in amounts.items()}


def many(prefix: str = "r", count: int = MANY) -> dict[str, int]:
    return {f"{prefix}{at}": 1 for at in range(count)}


def state_of(*objects: Node | Pod) -> State:
    state = State()
    state.replace("test", objects)
    return state


def requested(state: State) -> dict[str, int]:
    """Return the gpus that the pods on each node request."""
    nodes = NodeView(state.snapshot, state.snapshot.nodes.rows())
    return dict(zip(nodes.names, nodes.requested("a.b/gpu").tolist(), strict=True))


def width(state: State) -> int:
    return len(state.snapshot.nodes.requested)


def test_what_pods_alone_name_has_no_column() -> None:
    state = state_of(node("n"), pod("running", "n", **many()), pod("pending", "", **many("p")))
    assert width(state) == 4
    state.assume(pod("assumed", **many("s")), "n")
    assert width(state) == 4
    assert not NodeView(state.snapshot, state.snapshot.nodes.rows()).has_column("a.b/r1")


def test_pods_that_ask_for_a_resource_count_once_a_node_offers_it() -> None:
    state = state_of(node("n"), node("m"), pod("a", "n", gpu=2), pod("b", "n", gpu=1), pod("c", "m", gpu=5))
    assert requested(state) == {"n": 0, "m": 0}
    state.apply("test", [Put(node("m", gpu=8))])
    assert requested(state) == {"n": 3, "m": 5}
    state.apply("test", [Put(node("m")), Remove("Pod", "default", "b")])
    assert requested(state) == {"n": 0, "m": 0}
    state.apply("test", [Put(node("n", gpu=8))])
    assert requested(state) == {"n": 2, "m": 5}


@pytest.mark.parametrize("seed", range(30))
def test_columns_are_those_of_a_state_that_is_written_at_once(seed: int) -> None:
    dice, state = Random(seed), state_of()
    there: dict[str, Node | Pod] = {}
    for _ in range(60):
        amounts = {name: dice.randint(0, 3) for name in sorted(dice.sample("stuvwxyz", 3))}
        name = dice.choice("np") + dice.choice("1234")
        made = node(name, **amounts) if name[0] == "n" else pod(name, f"n{name[1]}", **amounts)
        if dice.random() < 0.3 and name in there:
            gone = there.pop(name)
            state.apply("test", [Remove(type(gone).__name__, gone.metadata.namespace, name)])
        else:
            there[name] = made
            state.apply("test", [Put(made)])
        assert content(state) == content(state_of(*there.values()))
        if dice.random() < 0.2:
            more = node("n5", **amounts)
            assert content(state.fork([more])) == content(state_of(*there.values(), more))


def test_columns_of_names_that_come_and_go_are_used_again() -> None:
    state = state_of(node("n"), pod("a", "n", **many(count=9)))
    for at in range(200):
        state.apply("test", [Put(node("n", **{f"name-{at}": 1}))])
    assert width(state) == 8
    assert len(state.snapshot.nodes.resource_index) == 5


def test_columns_grow_by_doubling() -> None:
    state, widths = state_of(), set()
    for at in range(100):
        state.apply("test", [Put(node(f"n{at}", **{f"name-{at}": 1}))])
        widths.add(width(state))
    assert widths == {8, 16, 32, 64, 128}


@pytest.mark.parametrize(
    ("by_node", "budget", "counted"),
    [
        pytest.param(10, 1 << 30, 6, id="of one node"),
        pytest.param(10, 20 * 16 * 16, 16, id="of all nodes by their bytes"),
        pytest.param(10, 0, 6, id="of all nodes, with room for those of one"),
    ],
)
def test_what_nodes_name_beyond_a_budget_is_left_out_and_told(
    by_node: int,
    budget: int,
    counted: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(node_writer, "MAX_NODE_RESOURCES", by_node)
    monkeypatch.setattr(node_writer, "MAX_RESOURCE_BYTES", budget)
    state, nodes = state_of(), 1 if budget == 1 << 30 else 3
    for at in range(nodes):
        state.apply("test", [Put(node(f"n{at}", **many(f"x{at}-", 100)))])
    assert len(state.snapshot.nodes.resource_index) == 4 + counted
    assert f"node n{nodes - 1} offers" in caplog.text
    caplog.clear()
    state.apply("test", [Put(node("n0", **many("x0-", 100)))])
    assert not caplog.text, "it is told again although nothing is new"


def test_a_resource_is_not_taken_for_the_one_whose_column_it_has() -> None:
    state = state_of(node("n", old=4), node("m"))
    registry = new_in_tree_registry()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    for _ in range(3):
        assert chosen(engine, pod("p", old=2)) == "n"
        assert chosen(engine, pod("p", new=2)) is None
    state.apply("test", [Put(node("n", new=4))])
    for _ in range(3):
        assert chosen(engine, pod("p", old=2)) is None
        assert chosen(engine, pod("p", new=2)) == "n"


def chosen(engine: Engine, asked: Pod) -> str | None:
    return engine.decide(asked, engine.profile(), ALL_NODES).node_name


def test_addresses_of_a_host_port_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[object] = []
    writable = SharedValues.writable

    def noted(self: SharedValues[object, object], key: object) -> object:
        looked_up.append(key)
        return writable(self, key)

    monkeypatch.setattr(SharedValues, "writable", noted)
    ports = [
        {"containerPort": 1, "hostPort": 80, "hostIP": f"10.0.{at >> 8}.{at & 255}"} for at in range(500)
    ]
    held = make_pod("p", spec={"nodeName": "n", "containers": [{"name": "c", "ports": ports}]})
    state = state_of(node("n"), held)
    assert looked_up.count(("TCP", 80)) == 1
    assert len(state.snapshot.nodes.ports["TCP", 80][0]) == 500
    state.apply("test", [Remove("Pod", "default", "p")])
    assert not state.snapshot.nodes.ports


def test_what_is_unused_of_huge_pods_is_not_kept() -> None:
    state = state_of(node("n"))
    kinds: Callable[[Pod], object] = state.kind_of
    for at in range(20):
        kinds(pod("p", "", **many(f"x{at}-")))
    gc.collect()
    parts = state._kinds._parts
    assert all(len(getattr(part, "requests", ())) <= pod_kinds._MOST_REQUESTS for part in parts)


def test_parts_are_forgotten_at_what_they_take_as_objects() -> None:
    parts: InternTable[int, int] = InternTable(100_000)
    for at in range(1_000):
        parts.keep(at, at, 1_000)
        assert len(parts.parts) <= 12


def test_taints_and_label_values_that_no_node_has_any_more_are_forgotten() -> None:
    state = state_of(node("n"), make_node("m", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    table = state.snapshot.nodes
    for at in range(200):
        seen = table.label("seen")
        taint = {"key": f"key-{at}", "effect": "NoSchedule"}
        state.apply("test", [Put(make_node("n", labels={"seen": f"at-{at}"}, taints=[taint]))])
        assert len(seen.values) <= 2 * table.capacity + 1
        column = table.label("seen")
        assert column.values[column.ids[table.index["n"]]] == f"at-{at}"
        assert [each.key for each in table.taint_sets[table.taint_set[table.index["n"]]]] == [f"key-{at}"]
    assert [each.key for each in table.taint_sets[table.taint_set[table.index["m"]]]] == ["gpu"]
    assert len(table.taint_sets) <= 4


def test_large_pods_that_are_gone_are_forgotten_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(journal, "MAX_BYTES", 1 << 20)
    state = State()
    entries = state.journal()

    def come_and_go(name: str, resources: int) -> None:
        state.apply("test", [Put(pod(name, **{f"{name}-{at}": 1 for at in range(resources)}))])
        state.apply("test", [Remove("Pod", "default", name)])

    def kept() -> tuple[bool, int]:
        return state.changes_since(0) is not None, entries.end - entries.first

    for at in range(100):
        come_and_go(f"small-{at}", 1)
    assert kept() == (True, 200)
    for at in range(50):
        come_and_go(f"large-{at}", MANY)
    reaches_back, count = kept()
    assert not reaches_back
    assert count < 50
