"""How questions to the evaluation cache end, and that a change of the configuration is a swap."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import Pod
from mooring.runtime.answers import NEEDS_PLUGINS
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.outcome import Bypass
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline, Observer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.telemetry.decision_metrics import cache_metrics
from mooring.telemetry.metrics import Scraped
from mooring.testing.builders import make_node, make_pod
from mooring.testing.question import NoBinder

MOST, LEAST = (
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": strategy}}}]}
        ],
    }
    for strategy in ("MostAllocated", "LeastAllocated")
)


LARGE = {"uid": "p", "annotations": {"large": "x" * 200_000}}


def engine_of(state: State, document: dict[str, Any] = LEAST) -> Engine:
    registry = new_in_tree_registry()
    return build_engine(from_document(document, registry.catalog()), registry, state, NoBinder())


def pod(name: str, **wants: Any) -> Pod:
    return make_pod(name, **{"metadata": {"uid": name}, "requests": {"cpu": "1"}, **wants})


def state_of(*nodes: str) -> State:
    state = State()
    state.replace("test", [make_node(name, allocatable={"cpu": "4", "memory": "8Gi"}) for name in nodes])
    return state


def test_hits_and_misses_are_counted_and_scraped() -> None:
    state = state_of("a", "b")
    engine = engine_of(state)
    for number in range(5):
        engine.place(pod(f"p{number}"), engine.profile(), ALL_NODES)
    counts = engine.cache_counts
    assert (counts.hits + counts.misses, counts.bypasses()) == (5, {})
    assert counts.hits >= 3
    registry = CollectorRegistry()
    registry.register(Scraped(lambda: cache_metrics(counts)))
    name = "mooring_evaluation_cache_requests_total"
    assert registry.get_sample_value(name, {"result": "hit", "reason": ""}) == counts.hits


@pytest.mark.parametrize(
    ("wants", "reason"),
    [
        pytest.param({"status": {"nominatedNodeName": "a"}}, Bypass.NOMINATED, id="nominated"),
        pytest.param({"spec": {"nodeSelector": {"no": "node"}}}, Bypass.NO_NODE, id="no node"),
        pytest.param(
            {"metadata": {"uid": "p", "annotations": {"large": "x" * 200_000}}}, Bypass.LARGE_POD, id="large"
        ),
    ],
)
def test_a_bypass_is_counted_by_its_reason(wants: dict[str, Any], reason: Bypass) -> None:
    engine, progress = engine_of(state_of("a", "b")), NoDeadline()
    engine.decide(pod("p", **wants), engine.profile(), ALL_NODES, progress=progress)
    assert engine.cache_counts.bypasses() == {reason: 1}
    assert progress.answered_by == f"full ({reason})"


def test_a_decision_tells_that_the_cache_answered() -> None:
    engine, progress = engine_of(state_of("a", "b")), NoDeadline()
    engine.decide(pod("p"), engine.profile(), ALL_NODES, progress=progress)
    assert progress.answered_by == "cache"


def test_a_question_without_plugins_is_not_counted_as_a_bypass_since_it_comes_again() -> None:
    engine = engine_of(state_of("a", "b"))
    template = pod("p"), engine.profile()
    assert (
        engine.decide_batch([template], [0], ["p"], progress=NoDeadline(may_call_plugins=False))
        is NEEDS_PLUGINS
    )
    assert engine.cache_counts.bypasses() == {}


def test_after_a_swap_of_the_profiles_nothing_is_answered_by_the_old_ones() -> None:
    state = state_of("busy", "free")
    state.assume(pod("there", node="busy"), "busy")
    engine, other = engine_of(state, LEAST), engine_of(state, MOST)

    def selected(number: int) -> str | None:
        return engine.decide(pod(f"p{number}"), engine.profile(), ALL_NODES).node_name

    assert [selected(number) for number in range(3)] == ["free"] * 3
    before, engine.profiles = engine.profiles, other.profiles
    assert [selected(number) for number in range(3)] == ["busy"] * 3
    engine.profiles = before
    assert selected(0) == "free"


class Points(Observer):
    """Counts the pods for which each extension point ran."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def point_duration(
        self, extension_point: str, status: str, profile: str, seconds: float, count: int = 1
    ) -> None:
        self.counts[extension_point] += count


def test_score_runs_once_for_a_pod_that_nobody_saw_before() -> None:
    registry, seen = new_in_tree_registry(), Points()
    state = state_of("a", "b")
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder(), observer=seen)
    asked = pod("first", requests={"cpu": "1"})
    for _ in range(2):
        engine.decide(asked, engine.profile(), ALL_NODES)
    counted = seen.counts.copy()
    engine.decide(pod("other", requests={"cpu": "2"}), engine.profile(), ALL_NODES)
    assert seen.counts["Score"] - counted["Score"] == 1


def test_totals_that_pass_an_int32_are_not_cached() -> None:
    weight = 30_000_000
    enabled = {
        "disabled": [{"name": "TaintToleration"}],
        "enabled": [{"name": "TaintToleration", "weight": weight}],
    }
    document = {**LEAST, "profiles": [{"plugins": {"multiPoint": enabled}}]}
    engine = engine_of(state_of("a", "b"), document)
    for number in range(3):
        chosen = engine.decide(pod(f"p{number}"), engine.profile(), ALL_NODES)
        assert chosen.total > 100 * weight
    assert engine.cache_counts.bypasses() == {Bypass.LARGE_WEIGHTS: 3}
