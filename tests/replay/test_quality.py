"""The quality of placements over time, worked out by hand on a few nodes."""

from __future__ import annotations

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.replay.quality import Quality, waiting_times
from mooring.testing import make_node, make_pod


def cluster(*nodes: str) -> State:
    state = State()
    state.apply(
        "test",
        [Put(make_node(name, allocatable={"cpu": "4", "memory": "8Gi", "pods": "10"})) for name in nodes],
    )
    return state


def place(state: State, name: str, node: str, cpu: str) -> None:
    state.apply("test", [Put(make_pod(name, node=node, requests={"cpu": cpu}))])


def test_figures_of_one_moment() -> None:
    state = cluster("a", "b")
    quality = Quality(lambda: state.snapshot.nodes)
    quality.arrive(make_pod("big", requests={"cpu": "3"}), 0.0)
    quality.arrive(make_pod("none", requests={"memory": "1Gi"}), 0.0)
    place(state, "x", "a", "2")
    quality.sample(0.0)
    means = quality.means()
    assert means["cpu allocated %"] == 25.0
    # Loads are 0.5 and 0: their deviation is their mean, and one of two nodes carries all.
    assert means["cpu load variation"] == 1.0
    assert means["cpu Jain index"] == 0.5
    # A big pod cannot use 2 of 6 free cpu, those on a; the other kind uses no cpu at all.
    assert means["cpu fragmented %"] == pytest.approx((2 / 6 + 1) / 2 * 100, abs=1e-3)


def test_a_sample_holds_until_the_next_one() -> None:
    state = cluster("a")
    quality = Quality(lambda: state.snapshot.nodes, every=10)
    for time in (0.0, 5.0):
        quality.tick(time)
    place(state, "x", "a", "4")
    quality.tick(30.0)
    state.apply("test", [Remove("Pod", "default", "x", make_pod("x").metadata.uid)])
    quality.sample(40.0)
    assert quality.times == [0.0, 30.0, 40.0]
    assert quality.columns["cpu allocated %"] == [0.0, 100.0, 0.0]
    assert quality.means()["cpu allocated %"] == 25.0


def test_waiting_times() -> None:
    state = cluster("a")
    quality = Quality(lambda: state.snapshot.nodes)
    for number in range(101):
        pod = make_pod(f"p{number}")
        quality.arrive(pod, 0.0)
        quality.bind(pod.metadata.uid, float(number))
    quality.bind("unknown", 5.0)
    assert waiting_times(quality.waits) == {"wait p50, s": 50.0, "wait p90, s": 90.0, "wait p99, s": 99.0}
    assert waiting_times([]) == {}
