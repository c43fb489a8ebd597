"""Decisions on top of the state: those that a private copy gives, pod after pod; the state stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.runtime.answers import NeedsPlugins
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import ChoiceColumns
from mooring.runtime.cycle.plugin_calls import NoDeadline, Observer, Progress
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder
from tests.examples import examples
from tests.runtime.test_cached_equals_full import EMPTY_NODES, SMALL, TEMPLATES, History, Step, histories

SEED = 5
PLAIN = ("small", "large", "asks for nothing", "of a service", "tolerant", "selecting", "preferring")
Columns = list[tuple[object, ...]]


def on_a_copy(engine: Engine, names: Sequence[str], indices: Sequence[int]) -> Columns | None:
    """One pod after the other, each assumed; None when one finds no node."""
    fork = engine.state.fork()
    copy, columns = engine.over(fork), Columns()
    for number, index in enumerate(indices):
        pod = make_pod(f"q{number}", metadata={"uid": f"q{number}"}, **TEMPLATES[names[index]])
        choice = copy.decide(pod, copy.profile(), ALL_NODES, seed=SEED)
        if choice.node_name is None:
            return None
        columns.append(
            (choice.node_name, choice.row, choice.total, choice.tie_count, choice.evaluated, choice.feasible)
        )
        fork.assume(pod, choice.node_name)
    return columns


def on_top(
    engine: Engine, names: Sequence[str], indices: Sequence[int], progress: Progress | None = None
) -> ChoiceColumns | None:
    pods = [make_pod("template", metadata={"uid": "template"}, **TEMPLATES[name]) for name in names]
    templates = [(pod, engine.profile()) for pod in pods]
    uids = [f"q{number}" for number in range(len(indices))]
    found = engine.decide_batch(templates, indices, uids, seed=SEED, progress=progress)
    assert not isinstance(found, NeedsPlugins)
    return found


def rows(found: ChoiceColumns) -> Columns:
    columns = (found.names, found.rows, found.totals, found.tie_counts, found.evaluated, found.feasible)
    return list(zip(*columns, strict=True))


@examples(60)
@given(histories(), st.lists(st.sampled_from(sorted(TEMPLATES)), min_size=1, max_size=3), st.data())
def test_an_overlay_decides_as_a_copy_does(later: list[Step], names: list[str], data: st.DataObject) -> None:
    history = History().run([*EMPTY_NODES, *later])
    indices = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=9))
    engine, version = history.engine, history.state.version
    found = on_top(engine, names, indices)
    assert history.state.version == version
    if found is not None:
        assert found.version == version
        assert rows(found) == on_a_copy(engine, names, indices)


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3, unique=True), st.data())
def test_plain_pods_need_no_copy(names: list[str], data: st.DataObject) -> None:
    history = History().run(EMPTY_NODES)
    indices = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=5))
    full = on_a_copy(history.engine, names, indices)
    for _ in range(2):
        found = on_top(history.engine, names, indices)
        assert (found and rows(found)) == full


class Counted(Observer):
    """Counts the calls of plugins."""

    def __init__(self) -> None:
        self.asked = 0

    def plugin_evaluated(self, plugin: str, extension_point: str, profile: str, count: int = 1) -> None:
        self.asked += 1


def test_amounts_that_no_node_has_yet_are_asked_about_once() -> None:
    state = History().run(EMPTY_NODES).state
    observer, registry = Counted(), new_in_tree_registry()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder(), observer=observer)
    first = on_top(engine, ["small"], [0] * 6)
    asked = observer.asked
    assert on_top(engine, ["small"], [0] * 6) == first is not None
    assert observer.asked == asked


def test_an_overlay_follows_the_state() -> None:
    history = History().run(EMPTY_NODES)
    assert on_top(history.engine, ["small"], [0, 0]) is not None
    history.run([("decide", "small"), ("remove_node", "n1"), ("decide", "large")])
    found = on_top(history.engine, ["small"], [0, 0])
    assert found is not None
    assert rows(found) == on_a_copy(history.engine, ["small"], [0, 0])


def test_a_pod_without_a_node_needs_a_copy() -> None:
    history = History()
    history.state.replace("test", [make_node("n0", allocatable={"cpu": "1", "memory": "2Gi", "pods": 9})])
    assert SMALL == {"cpu": "500m", "memory": "1Gi"}
    assert on_top(history.engine, ["small"], [0, 0]) is not None
    assert on_top(history.engine, ["small"], [0, 0, 0]) is None


def packing() -> Engine:
    """Return an engine that fills one node after the other, with no two nodes alike."""
    state, registry = State(), new_in_tree_registry()
    offers = [
        {"cpu": f"{3000 + 7 * number}m", "memory": f"{9000 + number}Mi", "pods": 50} for number in range(9)
    ]
    state.replace("test", [make_node(f"n{at}", allocatable=offer) for at, offer in enumerate(offers)])
    strategy = {"type": "MostAllocated", "resources": [{"name": name} for name in ("cpu", "memory")]}
    document: Manifest = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]}],
    }
    return build_engine(from_document(document, registry.catalog()), registry, state, NoBinder())


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_guesses_that_are_wrong_are_put_right(indices: list[int]) -> None:
    engine, names = packing(), ["small", "large", "asks for nothing"]
    full = on_a_copy(engine, names, indices)
    found = on_top(engine, names, indices)
    assert (found and rows(found)) == full


def test_a_node_that_fills_up_in_one_batch() -> None:
    engine = packing()
    found = on_top(engine, ["small"], [0] * 30)
    assert found is not None
    assert rows(found) == on_a_copy(engine, ["small"], [0] * 30)
    assert len(set(found.names)) < 9


def test_nobody_waits_for_who_is_held_up_by_a_plugin() -> None:
    held, release = threading.Event(), threading.Event()

    class Stuck(Observer):
        def plugin_evaluated(self, plugin: str, extension_point: str, profile: str, count: int = 1) -> None:
            if threading.current_thread().name == "held up":
                held.set()
                release.wait(60)

    state, registry = History().run(EMPTY_NODES).state, new_in_tree_registry()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder(), observer=Stuck())
    assert on_top(engine, ["small"], [0]) is not None
    other = threading.Thread(target=lambda: on_top(engine, ["small"], [0, 0]), name="held up")
    state.apply("test", [Put(make_node("n9", allocatable={"cpu": "9"}))])
    other.start()
    try:
        assert held.wait(60)
        assert on_top(engine, ["small"], [0]) is None
    finally:
        release.set()
        other.join()
    assert on_top(engine, ["small"], [0]) is not None


class Meanwhile(NoDeadline):
    """Another client changes something just before the first pod is decided."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self._acts = [act]

    may_call_plugins = True

    def check(self) -> None:
        while self._acts:
            self._acts.pop()()


@pytest.mark.parametrize("name", ["preferring", "small"])
def test_resource_states_that_are_numbered_anew_meanwhile(name: str) -> None:
    """The first node fills up, so that scores are scaled again while the numbers mean something else."""
    state, registry = State(), new_in_tree_registry()
    offers = ({"cpu": "600m"}, {"cpu": "8"}, {"cpu": "9"})
    labels: tuple[dict[str, str], ...] = ({"gpu": "1"}, {"disk": "1"}, {})
    nodes = [
        make_node(f"n{at}", labels=labels[at], allocatable={**offer, "memory": "32Gi", "pods": 50})
        for at, offer in enumerate(offers)
    ]
    state.replace("test", nodes)
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    expected = on_a_copy(engine, [name], [0] * 8)
    before = on_top(engine, [name], [0] * 8)
    assert before is not None
    assert rows(before) == expected

    def act() -> None:
        full = {"cpu": "1m", "memory": "1Mi", "pods": 50}
        state.replace("test", [make_node(f"n{at}", labels=labels[at], allocatable=full) for at in range(3)])
        engine._cache.tracker.forget()
        pod = make_pod("other", **TEMPLATES[name])
        engine.decide(pod, engine.profile(), ALL_NODES, seed=SEED)

    found = on_top(engine, [name], [0] * 8, Meanwhile(act))
    assert found is None or rows(found) in (expected, on_a_copy(engine, [name], [0] * 8))
