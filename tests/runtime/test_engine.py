"""Decisions over a live state: consistent, exact under concurrency, and without traces in a dry run."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    SUCCESS,
    BindOutcome,
    CycleState,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Plugin,
    Pod,
    PreFilterPlugin,
    Status,
)
from mooring.framework.errors import NotFoundError, PluginFailureError
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.engine import Engine
from mooring.testing import make_node, make_pod

from .fakes import filtering, profile, registry_of


class NoBinder:
    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        raise AssertionError("a decision binds nothing")


def engine_of(state: State, *plugins: type[Plugin[Any]], fit: bool = False) -> Engine:
    """Return an engine with only these plugins, and NodeResourcesFit if ``fit``."""
    config = profile(plugins)
    registry = registry_of(plugins)
    if fit:
        enabled = config["profiles"][0]["plugins"]["multiPoint"]["enabled"]
        enabled.append({"name": "NodeResourcesFit"})
    return build_engine(from_document(config, registry.catalog()), registry, state, NoBinder())


def state_of(*names: str, cpu: str = "4") -> State:
    state = State()
    state.replace("test", [make_node(name, allocatable={"cpu": cpu}) for name in names])
    return state


def acting(act: Callable[[], None]) -> type[Plugin[Any]]:
    """Return a Filter plugin that changes the cluster during its first call."""
    pending = [act]

    class Acting(FilterPlugin[None]):
        name = "Acting"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            if pending:
                pending.pop()()
            return Status.unschedulable("cordoned") if node.node.spec.unschedulable else SUCCESS

    return Acting


def test_each_decision_sees_the_ones_before_it() -> None:
    state = state_of("a", "b", cpu="2")
    engine = engine_of(state, fit=True)
    placed = [
        engine.place(make_pod(f"p{at}", requests={"cpu": "1"}), engine.profile(), ALL_NODES).node_name
        for at in range(5)
    ]
    assert Counter(placed) == {"a": 2, "b": 2, None: 1}


@pytest.mark.parametrize("asked", [["a"], ["c", "a"], ["a", "b", "c"]], ids=",".join)
def test_pre_filter_gets_all_nodes_whichever_are_asked_about(asked: list[str]) -> None:
    class Counting(PreFilterPlugin[None], FilterPlugin[None]):
        """At most one pod in the cluster."""

        name = "Counting"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
            state.write("count", sum(len(node.pods) for node in nodes.infos()))
            return SUCCESS

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            return Status.unschedulable("there is one") if state.read("count", int) else SUCCESS

    state = state_of("a", "b", "c")
    state.apply("test", [Put(make_pod("placed", node="b"))])
    engine = engine_of(state, Counting)
    index = state.snapshot.nodes.index
    some = Candidates(lambda _: np.array([index[name] for name in asked], np.int32))
    found = engine.filter(make_pod("new"), engine.profile(), some)
    assert isinstance(found, tuple)
    assert found[0].message.endswith(f": {len(asked)} there is one.")


def test_pre_filter_gets_nodes_in_one_order_whatever_the_order_of_the_candidates() -> None:
    orders = set()

    class Looking(PreFilterPlugin[None]):
        name = "Looking"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
            orders.add(tuple(nodes.names))
            return SUCCESS

    state = state_of("a", "b", "c")
    engine, index = engine_of(state, Looking), state.snapshot.nodes.index
    for names in itertools.permutations("abc"):
        asked = Candidates(lambda _, names=names: np.array([index[name] for name in names], np.int32))  # type: ignore[misc]
        engine.filter(make_pod("new"), engine.profile(), asked)
    assert orders == {("a", "b", "c")}


def test_a_dry_run_leaves_no_trace() -> None:
    state = state_of("a")
    before = state.version
    engine = engine_of(state)
    assert engine.decide(make_pod(), engine.profile(), ALL_NODES).node_name == "a"
    assert (state.version, len(state.snapshot.pods)) == (before, 0)


def test_many_threads_never_overcommit() -> None:
    state = state_of(*(f"n{at}" for at in range(4)), cpu="5")
    engine = engine_of(state, fit=True)

    def place(at: int) -> str | None:
        pod = make_pod(f"p{at}", requests={"cpu": "1"})
        return engine.place(pod, engine.profile(), ALL_NODES).node_name

    with ThreadPoolExecutor(8) as threads:
        placed = Counter(threads.map(place, range(40)))
    assert placed == {"n0": 5, "n1": 5, "n2": 5, "n3": 5, None: 20}


@pytest.mark.parametrize("commits", [pytest.param(False, id="dry run"), pytest.param(True, id="assumed")])
def test_a_change_during_the_evaluation_counts(commits: bool) -> None:
    state = state_of("a", "b")
    cordoned = make_node("a", spec={"unschedulable": True})
    engine = engine_of(state, acting(lambda: state.apply("test", [Put(cordoned)])))
    decide = engine.place if commits else engine.decide
    choice = decide(make_pod(), engine.profile(), ALL_NODES)
    assert choice.node_name == "b"
    assert choice.evaluation.status.ok


@pytest.mark.parametrize(
    ("changes", "told"),
    [pytest.param(True, 0, id="under changes"), pytest.param(False, 1, id="at rest")],
)
def test_a_plugin_is_named_for_what_fails_at_rest_alone(
    changes: bool, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Tables that change while they are read can make any plugin fail; then it is called again."""

    def fail() -> None:
        if changes:
            state.apply("test", [Put(make_node("c", allocatable={"cpu": "4"}))])
        raise IndexError(f"row {told}")

    state = state_of("a", "b")
    engine = engine_of(state, acting(fail))
    if changes:
        assert engine.decide(make_pod(), engine.profile(), ALL_NODES).node_name
    else:
        with pytest.raises(PluginFailureError):
            engine.decide(make_pod(), engine.profile(), ALL_NODES)
    messages = [message for message in caplog.messages if f"IndexError: row {told}" in message]
    assert len(messages) == told


def test_a_node_that_goes_during_the_evaluation_is_not_chosen() -> None:
    state = state_of("a", "b")
    engine = engine_of(state, acting(lambda: state.apply("test", [Remove("Node", "", "b")])))
    assert engine.decide(make_pod(), engine.profile(), ALL_NODES).node_name == "a"


def test_a_state_that_never_rests_is_evaluated_on_a_copy() -> None:
    state = state_of("a", "b")
    stop = threading.Event()

    def churn() -> None:
        at = 0
        while not stop.is_set():
            at += 1
            state.apply("test", [Put(make_node("b", labels={"turn": str(at)}))])

    churner = threading.Thread(target=churn)
    churner.start()
    try:
        engine = engine_of(state, filtering("F", {"b": Status.unschedulable("no")}))
        choice = engine.place(make_pod(), engine.profile(), ALL_NODES)
    finally:
        stop.set()
        churner.join()
    assert choice.node_name == "a"


@pytest.mark.parametrize(
    ("names", "asked", "said_by_pod", "found"),
    [
        pytest.param(["one", "two"], "two", "one", "two", id="the one that is asked for"),
        pytest.param(["one", "two"], "", "two", "two", id="the one that the pod names"),
        pytest.param(["one"], "", "default-scheduler", "one", id="the only one"),
        pytest.param(["one", "two"], "", "default-scheduler", None, id="none of several"),
        pytest.param(["one"], "two", "one", None, id="an unknown one is never replaced"),
    ],
)
def test_which_profile_decides(names: list[str], asked: str, said_by_pod: str, found: str | None) -> None:
    config = profile([])
    config["profiles"] = [{**config["profiles"][0], "schedulerName": name} for name in names]
    registry = registry_of([])
    engine = build_engine(from_document(config, registry.catalog()), registry, State(), NoBinder())
    pod = make_pod(spec={"schedulerName": said_by_pod})
    if found is not None:
        assert engine.profile(asked, pod).name == found
        return
    with pytest.raises(NotFoundError, match=", ".join(names)):
        engine.profile(asked, pod)


@pytest.mark.parametrize(
    ("guest", "expected"),
    [
        pytest.param({"priority": 5}, "b", id="of higher priority: its room is taken"),
        pytest.param({"priority": 0}, "b", id="of the same priority: its room is taken"),
        pytest.param({"priority": -1}, "a", id="of lower priority: it does not count"),
    ],
)
def test_room_made_by_preemption_is_kept(guest: dict[str, int], expected: str) -> None:
    state = state_of("a", "b", cpu="2")
    nominated = make_pod("guest", requests={"cpu": "2"}, spec=guest, status={"nominatedNodeName": "a"})
    busy = make_pod("busy", node="b", requests={"cpu": "1"})
    state.apply("test", [Put(nominated), Put(busy)])
    engine = engine_of(state, filtering("F", {"b": SUCCESS}), fit=True)
    pod = make_pod("late", requests={"cpu": "1"})
    choice = engine.decide(pod, engine.profile(), Candidates(lambda read: read.snapshot.nodes.rows()))
    verdicts = dict(zip(["a", "b"], choice.evaluation.codes.tolist(), strict=True))
    assert (verdicts["a"] == 0) == (expected == "a")
    assert verdicts["b"] == 0
    if expected == "b":
        rejection = choice.evaluation.statuses[verdicts["a"]]
        assert (rejection.plugin, rejection.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
        assert choice.node_name == "b"


def test_a_pod_is_not_its_own_guest() -> None:
    state = state_of("a", cpu="2")
    pod = make_pod("self", requests={"cpu": "2"}, status={"nominatedNodeName": "a"})
    state.apply("test", [Put(pod)])
    engine = engine_of(state, fit=True)
    assert engine.decide(pod, engine.profile(), ALL_NODES).node_name == "a"


def test_an_engine_over_a_fork_goes_with_its_last_user() -> None:
    """It holds a copy of the state, which is too large to wait for the collector of cycles."""
    state = state_of("a")
    over = engine_of(state).over(state.fork())
    over.decide(make_pod(), over.profile(), ALL_NODES)
    gone = weakref.ref(over)
    gc.disable()
    try:
        del over
        assert gone() is None
    finally:
        gc.enable()


def test_a_state_goes_with_the_engine_over_it() -> None:
    """Plugins hold the state, so no cache that outlives the engine may hold plugins."""
    engine = engine_of(state_of("a"), fit=True)
    for name in ("first", "second", "third"):
        engine.place(make_pod(name), engine.profile(), ALL_NODES)
    assert engine.cache_counts.hits
    [plugin] = {weakref.ref(enabled.plugin) for enabled in engine.profile().filter}
    del engine
    gc.collect()
    assert plugin() is None
