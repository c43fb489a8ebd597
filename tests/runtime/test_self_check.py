"""Cached answers are compared with full evaluations while the engine runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from mooring.cluster import table_writer
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    CacheablePlugin,
    CycleState,
    Dependencies,
    Int64s,
    NodeView,
    Part,
    Pod,
    ScorePlugin,
)
from mooring.framework.pod_table import UNPLACED
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.layers.node_totals import NodeTotals
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import Observer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

NODES = ("a", "b", "c")


class Favourite(ScorePlugin[None], CacheablePlugin):
    """Scores one node 100; which one is for the subclass to say, and what that depends on."""

    name = "Favourite"
    parts = Part.NONE

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(signature=(), parts=self.parts)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        wanted = self.favourite(pod, nodes)
        return np.array([100 * (name == wanted) for name in nodes.names], np.int64)

    def favourite(self, pod: Pod, nodes: NodeView) -> str:
        """Return the name of the node."""
        return "a"


class ByPod(Favourite):
    """Signs all pods alike, and reads their annotations."""

    name = "ByPod"

    def favourite(self, pod: Pod, nodes: NodeView) -> str:
        return pod.metadata.annotations.get("wants", "a")


class ByGuests(Favourite):
    """Declares that nothing changes its answers, and reads the running pods."""

    name = "ByGuests"

    def favourite(self, pod: Pod, nodes: NodeView) -> str:
        return next((info.name for info in nodes.infos() if info.records), "a")


class ByMood(Favourite):
    """Selects another node at each call."""

    name = "ByMood"

    def __init__(self, _: object = None, __: object = None) -> None:
        self._asked = 0

    def favourite(self, pod: Pod, nodes: NodeView) -> str:
        self._asked += 1
        return NODES[self._asked % len(NODES)]


class Counted(Observer):
    """Notes what checks came to, and when the first one did."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.told = threading.Event()

    def self_checked(self, result: str) -> None:
        self.results.append(result)
        self.told.set()


def engine_of(
    *plugins: type[Favourite], observer: Observer | None = None, every: int = 0
) -> tuple[Engine, State]:
    registry, state = new_in_tree_registry(), State()
    for plugin in plugins:
        registry.register(plugin.name, plugin)
    enabled = [{"name": plugin.name, "weight": 50} for plugin in plugins]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}],
    }
    configuration = from_document(document, registry.catalog())
    engine = build_engine(configuration, registry, state, NoBinder(), observer=observer)
    engine.self_check.every, engine.self_check.not_before = every, 0.0
    state.replace("test", [make_node(name) for name in NODES])
    return engine, state


def asked(engine: Engine, times: int = 3, **fields: Any) -> Pod:
    """Decide a few times about pods like the one that is returned."""
    for number in range(times):
        pod = make_pod(f"p{number}", **fields)
        engine.decide(pod, engine.profile(), ALL_NODES)
    return pod


def test_an_honest_cache_passes() -> None:
    engine, state = engine_of(Favourite)
    pod, check = asked(engine), engine.self_check
    assert check.check(engine, pod, engine.profile(), 1)
    state.apply("test", [Put(make_pod("other", node="a", requests={"cpu": "1"}))])
    assert check.check(engine, pod, engine.profile(), 1)
    assert not check.different


def test_a_placed_pod_is_asked_about_as_one_like_it_that_is_not_placed() -> None:
    engine, _ = engine_of()
    pod, check = asked(engine, requests={"cpu": "1"}), engine.self_check
    engine.place(pod, engine.profile(), ALL_NODES)
    assert check.check(engine, pod, engine.profile(), 1)


def test_nothing_is_compared_where_nothing_is_cached() -> None:
    engine, _ = engine_of()
    pod = make_pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]})
    assert engine.self_check.check(engine, pod, engine.profile(), 0) is None


def signed_alike(engine: Engine, _: State) -> Pod:
    asked(engine)
    return asked(engine, times=1, metadata={"annotations": {"wants": "b"}})


def changed_later(engine: Engine, state: State) -> Pod:
    pod = asked(engine)
    assert engine.self_check.check(engine, pod, engine.profile(), 0)
    state.apply("test", [Put(make_pod("guest", node="c"))])
    return pod


def asked_at_once(engine: Engine, _: State) -> Pod:
    return asked(engine)


@pytest.mark.parametrize(
    ("plugin", "history", "said"),
    [
        pytest.param(ByPod, signed_alike, "plugin ByPod answers differently for pods with equal", id="sign"),
        pytest.param(ByGuests, changed_later, "plugin ByGuests changed its answer though none", id="parts"),
        pytest.param(ByMood, asked_at_once, "plugin ByMood said one thing and then another", id="random"),
    ],
)
def test_a_plugin_that_declares_what_is_not_true_is_named(
    plugin: type[Favourite],
    history: Callable[[Engine, State], Pod],
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    counted = Counted()
    engine, state = engine_of(plugin, observer=counted)
    check = engine.self_check
    pod = history(engine, state)
    with caplog.at_level(logging.ERROR):
        for _ in range(len(NODES)):
            check.check(engine, pod, engine.profile(), 0)
    assert said in caplog.text
    assert '"metadata":' in caplog.text
    assert check.different
    assert "different" in counted.results


def test_a_wrong_answer_drops_what_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a change had been missed: the answer is wrong until it is checked, and right from then on."""
    engine, state = engine_of()
    wants: dict[str, Any] = {"requests": {"cpu": "1"}}
    pod, check = asked(engine, **wants), engine.self_check
    with monkeypatch.context() as patch:
        patch.setattr(NodeTotals, "apply_changes", lambda *_: None)
        state.apply("test", [Put(make_pod("big", node="a", requests={"cpu": "30"}))])
        asked(engine, **wants)
    assert check.check(engine, pod, engine.profile(), 0) is False
    asked(engine, **wants)
    assert check.check(engine, pod, engine.profile(), 0)


def nominated(node: str) -> Put:
    """Return a pod that leaves no room on a node for those that ask here."""
    status = {"nominatedNodeName": node} if node else {}
    return Put(make_pod("guest", requests={"cpu": "3"}, spec={"priority": 10}, status=status))


def crowded(engine: Engine, state: State) -> Pod:
    """Place pods without room next to a nominated one; return one like them."""
    guests = [Put(make_pod(f"big-{name}", node=name, requests={"cpu": "4"})) for name in NODES[1:]]
    state.apply("test", [*guests, nominated("a")])
    for number in range(3):
        pod = make_pod(f"p{number}", requests={"cpu": "2"})
        engine.place(pod, engine.profile(), ALL_NODES)
    return pod


def test_verdicts_that_are_known_are_checked_where_nothing_is_cached() -> None:
    engine, state = engine_of()
    pod, check = crowded(engine, state), engine.self_check
    assert check.check(engine, pod, engine.profile(), 0)
    state.apply("test", [nominated("b")])
    assert check.check(engine, pod, engine.profile(), 0)
    assert not check.different


def test_a_wrong_verdict_drops_all_that_are_known(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As if a change of the nomination had gone unnoticed."""
    engine, state = engine_of()
    pod, check = crowded(engine, state), engine.self_check
    with monkeypatch.context() as patch:
        patch.setattr(table_writer, "_has_room", lambda record: record.row != UNPLACED)
        state.apply("test", [nominated("b")])
    assert engine.place(pod, engine.profile(), ALL_NODES).node_name is None
    with caplog.at_level(logging.ERROR):
        assert check.check(engine, pod, engine.profile(), 0) is False
    assert "known verdicts were wrong of 1 nodes" in caplog.text
    assert check.check(engine, pod, engine.profile(), 0) is None
    assert engine.place(pod, engine.profile(), ALL_NODES).node_name == "a"


def test_a_pod_that_is_rejected_again_counts_as_an_answer() -> None:
    counted = Counted()
    engine, state = engine_of(observer=counted, every=2)
    crowded(engine, state)
    assert counted.told.wait(20)
    assert set(counted.results) == {"same"}


def test_one_answer_in_so_many_is_checked_behind_the_decisions() -> None:
    counted = Counted()
    engine, _ = engine_of(observer=counted, every=5)
    asked(engine, times=20)
    assert counted.told.wait(20)
    assert set(counted.results) == {"same"}


def test_checks_take_no_more_than_their_share_of_time() -> None:
    counted = Counted()
    engine, _ = engine_of(observer=counted, every=1)
    engine.self_check.share = 1e-9
    asked(engine, times=100)
    assert counted.told.wait(20)
    assert len(counted.results) == 1


class Stretching(Favourite):
    """Normalises by itself, which fails without a node."""

    name = "Stretching"
    parts = Part.PODS
    asked_about: ClassVar[list[int]] = []

    def __init__(self, _: object = None, __: object = None) -> None:
        type(self).asked_about = []

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        self.asked_about.append(len(scores))
        stretched: Int64s = scores - scores.min()
        return stretched


def test_no_plugin_is_asked_to_score_no_nodes() -> None:
    engine, state = engine_of(Stretching)
    wants: dict[str, Any] = {"requests": {"cpu": "1"}}
    asked(engine, **wants)
    guests = [Put(make_pod(f"big-{name}", node=name, requests={"cpu": "32"})) for name in NODES]
    state.apply("test", guests)
    asked(engine, **wants)
    assert Stretching.asked_about
    assert all(Stretching.asked_about)
