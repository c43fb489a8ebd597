"""A value that is used once leaves nothing in the cache, and the cache stays within its budget of bytes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import pytest

from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Int32s
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.lookup import evaluation_cache
from mooring.runtime.cache.lookup.doorkeeper import DoorkeeperCache
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.tuning import CacheTuning
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder


class Value(msgspec.Struct):
    """Something with a size."""

    nbytes: int
    used: int = 0


def cache_of(most_bytes: int, dropped: list[str] | None = None) -> DoorkeeperCache[Value]:
    told = dropped if dropped is not None else []
    return DoorkeeperCache(most_bytes, lambda: told.append("dropped"))


def size_of(cache: DoorkeeperCache[Value], key: str) -> int | None:
    """Return the size by which a value is told apart."""
    value = cache.get(key)
    return None if value is None else value.nbytes


def test_a_value_is_kept_from_its_second_use_on() -> None:
    cache = cache_of(100)
    assert [cache.put("a", Value(1)) for _ in range(3)] == [False, True, True]
    assert size_of(cache, "a") == 1
    assert len(cache) == 1


def used_once(cache: DoorkeeperCache[Value], keys: Iterable[str], nbytes: int = 1) -> None:
    for key in keys:
        cache.put(key, Value(nbytes))


def used_twice(cache: DoorkeeperCache[Value], key: str) -> None:
    for _ in range(2):
        cache.put(key, Value(1))


def names(count: int, letter: str = "n") -> list[str]:
    return [f"{letter}{at}" for at in range(count)]


def test_values_that_were_used_once_are_there_for_a_while() -> None:
    cache = cache_of(1000)
    used_once(cache, names(20))
    assert size_of(cache, "n0") == 1
    used_once(cache, names(31, "later"))
    assert (size_of(cache, "n1"), size_of(cache, "n19")) == (None, 1)


def test_where_no_value_is_used_twice_only_the_last_is_there() -> None:
    cache = cache_of(1000)
    used_once(cache, names(40))
    assert [key for key in names(40) if cache.get(key) is not None] == ["n39"]


def test_a_second_use_makes_room_for_more_than_the_last() -> None:
    cache = cache_of(1000)
    used_once(cache, names(40))
    used_twice(cache, "again")
    used_once(cache, names(10, "later"))
    assert all(size_of(cache, key) == 1 for key in names(10, "later"))


def test_values_that_were_used_once_have_a_share_of_the_budget_at_most() -> None:
    cache = cache_of(800)
    for at in range(20):
        used_once(cache, [f"large{at}"], 60)
        used_twice(cache, f"again{at}")
    assert sum(cache.get(f"large{at}") is not None for at in range(20)) * 60 < 800


def test_a_second_use_counts_after_thousands_of_others() -> None:
    cache, keys = cache_of(10**6), range(10_000)
    assert not any(cache.put(key, Value(1)) for key in keys)
    assert all(cache.put(key, Value(1)) for key in keys)


def test_hashes_of_what_was_used_once_are_forgotten_at_last() -> None:
    cache = cache_of(10**6)
    cache.put("a", Value(1))
    for key in range(50_000):
        cache.put(key, Value(1))
    assert not cache.put("a", Value(1))


def test_to_be_found_is_a_use() -> None:
    cache = cache_of(100)
    cache.put("a", Value(1))
    assert (size_of(cache, "a"), len(cache)) == (1, 1)
    cache.put("b", Value(2))
    assert size_of(cache, "a") == 1


def test_a_newer_value_takes_the_place_of_the_older_one() -> None:
    cache = cache_of(100)
    for size in (1, 2, 3):
        cache.put("a", Value(size))
        assert size_of(cache, "a") == size


def test_past_the_budget_those_used_least_recently_are_dropped() -> None:
    told: list[str] = []
    cache = cache_of(100, told)
    for name in range(100):
        for _ in range(2):
            cache.put(name, Value(10))
        cache.get(0)
    assert cache.bytes <= 100 + 16 * 10
    assert cache.get(0) is not None
    assert cache.get(50) is None
    assert told


def test_values_that_grow_are_measured_again() -> None:
    cache, values = cache_of(100), [Value(1) for _ in range(40)]
    for at, value in enumerate(values):
        cache.put(at, value)
        cache.put(at, value)
        value.nbytes = 30
    assert cache.bytes <= 100 + 16 * 30


def test_one_value_is_kept_however_large_it_is() -> None:
    cache = cache_of(10)
    cache.put("a", Value(1000))
    cache.put("a", Value(1000))
    assert cache.get("a") is not None


def own_toleration(number: int) -> dict[str, Any]:
    """Return a pod that is like no other in what plugins read."""
    prefers = {"weight": 1, "preference": {"matchExpressions": [{"key": "w", "operator": "Exists"}]}}
    return {
        "requests": {"cpu": "10m"},
        "spec": {
            "tolerations": [{"key": f"web-{number}", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [prefers]}},
        },
    }


@pytest.mark.parametrize(
    "times", [pytest.param(1, id="asked about once"), pytest.param(3, id="asked about again")]
)
def test_what_pods_leave_behind_does_not_grow_with_the_nodes(times: int) -> None:
    """Pods that are decided once leave nothing; pods decided again leave something, or this test could not
    fail.
    """
    count, pods, windows = 990, 20, 3
    registry, state = new_in_tree_registry(), State()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    state.replace("test", [make_node(f"n{at}", labels={"w": str(at % 3)}) for at in range(count)])

    def ask(number: int) -> None:
        for _ in range(times):
            engine.decide(make_pod(f"web-{number}", **own_toleration(number)), engine.profile(), ALL_NODES)

    for number in range(3):
        ask(number)
    left: list[int] = []
    tracemalloc.start()
    try:
        for first in range(3, 3 + windows * pods, pods):
            before = tracemalloc.get_traced_memory()[0]
            for number in range(first, first + pods):
                ask(number)
            left.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    per_pod = min(left) / pods
    assert (per_pod < 10 * count) == (times == 1), f"{per_pod / count:.1f} bytes for each node and pod"


@pytest.mark.parametrize(
    ("spec", "shares"),
    [
        pytest.param({"nodeSelector": {"w": "1"}}, True, id="the same nodes"),
        pytest.param({"nodeSelector": {"w": "0"}}, False, id="other nodes, as many"),
        pytest.param({}, False, id="all nodes"),
    ],
)
def test_pods_of_which_nodes_say_the_same_share_a_column(spec: dict[str, Any], shares: bool) -> None:
    registry, state = new_in_tree_registry(), State()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    state.replace("test", [make_node(f"n{at}", labels={"w": str(at % 3)}) for at in range(30)])

    def column(app: str, spec: dict[str, Any]) -> Int32s:
        apart = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        affinity = {"affinity": {"podAntiAffinity": rule}}
        pod = make_pod(app, labels={"app": app}, spec={**affinity, **spec})
        for _ in range(2):
            engine.decide(pod, engine.profile(), ALL_NODES)
        return engine._cache.find(pod, engine.profile()).cached.static.base

    first, second = column("a", {"nodeSelector": {"w": "1"}}), column("b", spec)
    assert (first is second) == np.array_equal(first, second) == shares


def large(number: int) -> dict[str, Any]:
    """Return a pod with terms of its own for every plugin that remembers those."""
    labels = {f"key-{number}-{at}": "v" for at in range(400)}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}
    return {
        "spec": {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": apart}
                    ]
                }
            },
            "topologySpreadConstraints": [
                {**apart, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            ],
        },
    }


@pytest.mark.slow
def test_what_large_pods_leave_behind_does_not_grow_with_their_number() -> None:
    registry, state = new_in_tree_registry(), State()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder())
    state.replace("test", [make_node(f"n{at}", labels={"zone": str(at % 3)}) for at in range(6)])
    asked = 0
    tracemalloc.start()
    try:
        for number in range(200):
            pod = make_pod(f"pod-{number}", **large(number))
            asked += len(msgspec.json.encode(pod))
            engine.decide(pod, engine.profile(), ALL_NODES)
        del pod
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert left < 6 * asked, f"{left / asked:.1f} times what was asked"


def test_large_pods_that_are_asked_about_again_count_in_the_budget() -> None:
    pods = [make_pod("pod", **large(number)) for number in range(40)]
    size = evaluation_cache._OBJECT_BYTES * len(msgspec.msgpack.encode(pods[0].spec))
    tuning = CacheTuning(evaluation_bytes=10 * size, static_bytes=10 * size)
    registry, state = new_in_tree_registry(), State()
    engine = build_engine(default(registry.catalog()), registry, state, NoBinder(), tuning=tuning)
    state.replace("test", [make_node(f"n{at}") for at in range(6)])
    most = 0
    for pod in pods:
        for _ in range(3):
            engine.decide(pod, engine.profile(), ALL_NODES)
        most = max(most, len(engine._cache._evaluations), len(engine._cache._static))
    assert 1 < most < 10 + 16


def test_nothing_is_remembered_of_the_template_of_a_pod_that_is_only_asked_about() -> None:
    state = State()
    asked = make_pod("asked", labels={"app": "a"})
    once = state.kind_of(asked, remember=False)
    assert state.kind_of(asked, remember=False) is not once
    kept = state.kind_of(asked)
    assert kept == once
    assert state.kind_of(asked) is kept
