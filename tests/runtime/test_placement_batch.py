"""The pods of a group, decided in all placements in one pass, without a copy of the state."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from mooring.framework import Pod, PodGroupInfo
from mooring.framework.groups import PlacementColumns
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.tie_break import SeededPicks
from mooring.runtime.engine import Engine
from mooring.runtime.forecast.group_decisions import GroupDecisions
from mooring.runtime.forecast.placement_batch import PlacementBatch
from mooring.testing import make_node, make_pod
from tests.compiled_loops import compiled_loops
from tests.runtime import test_group_cycle as cycle
from tests.runtime.test_group_cycle import engine_of, group, member, members, node, said

Ran = list[bool]


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    """The loop is compiled, as it otherwise is for large clusters alone."""
    with compiled_loops():
        yield


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Return whether each question was answered in one pass."""
    ran: Ran = []
    run = PlacementBatch.run

    def noted(self: PlacementBatch, *arguments: Any) -> Any:
        found = run(self, *arguments)
        ran.append(found is not None)
        return found

    monkeypatch.setattr(PlacementBatch, "run", noted)
    return ran


def decide(engine: Engine, info: PodGroupInfo, seed: int = 0) -> GroupDecision:
    return engine.decide_group(info, engine.profile("default-scheduler"), seed=seed)


def without_copies(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fork(*_: Any, **__: Any) -> None:
        raise AssertionError("a copy was made")

    monkeypatch.setattr(type(engine.state), "fork", fork)


SMALL, LARGE = {"cpu": "500m", "memory": "1Gi"}, {"cpu": "1500m", "memory": "512Mi"}


def worker(name: str, requests: dict[str, str]) -> Pod:
    return make_pod(name, requests=requests, spec=cycle.IN_GROUP)


@pytest.mark.parametrize("seed", range(15))
def test_groups_get_what_evaluations_in_full_say(seed: int, at_once: Ran) -> None:
    rng = Random(seed)
    nodes = [
        make_node(
            f"n{at}",
            allocatable={"cpu": str(rng.randint(0, 6)), "memory": f"{rng.randint(1, 9)}Gi", "pods": "9"},
            labels={"zone": rng.choice("abc")},
        )
        for at in range(14)
    ]
    key = rng.choice(["", "zone", "zone"])
    engine = engine_of(*nodes)
    for number in range(6):
        sizes = [rng.choice([SMALL, SMALL, LARGE]) for _ in range(rng.randint(1, 6))]
        pods = tuple(worker(f"m{number}-{at}", requests) for at, requests in enumerate(sizes))
        info, profile = PodGroupInfo(group(len(pods), key), pods), engine.profile("default-scheduler")
        quick = decide(engine, info, seed)
        full = engine.decide_group(info, profile, seed=seed, picks=SeededPicks(seed, "g"))
        assert said(quick) == said(full)
        for placed in quick.placed:
            engine.state.assume(placed.pod, placed.node_name)
    assert any(at_once)


def test_a_group_that_fits_everywhere_is_decided_without_a_copy(
    monkeypatch: pytest.MonkeyPatch, at_once: Ran
) -> None:
    of, pods = group(2, "zone"), members(2)
    engine = engine_of(of, *pods, node("a", 2, "x"), node("b", 1, "y"), node("c", 1, "y"))
    without_copies(engine, monkeypatch)
    decision = decide(engine, PodGroupInfo(of, pods))
    assert decision.status.ok
    assert len(decision.tried) == 2
    assert decision.state_version == engine.state.version
    assert at_once == [True]


def test_what_changes_while_a_group_is_decided_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    of, pods = group(2), members(2)
    engine = engine_of(of, *pods, node("a", 2), node("b", 2))
    ask = GroupDecisions.decide

    def disturbed(self: GroupDecisions, placements: PlacementColumns) -> Any:
        found = ask(self, placements)
        if engine.state.find_pod("default", "other") is None:
            engine.state.assume(make_pod("other", requests={"cpu": "2"}), "a")
        return found

    monkeypatch.setattr(GroupDecisions, "decide", disturbed)
    decision = decide(engine, PodGroupInfo(of, pods))
    assert [placed.node_name for placed in decision.placed] == ["b", "b"]
    assert decision.state_version == engine.state.version


def test_groups_of_like_pods_share_an_evaluation(at_once: Ran) -> None:
    engine = engine_of(node("a", 90))
    for number in range(4):
        of = group(1)
        pods = (make_pod(f"m{number}", requests={"cpu": "1"}, spec=in_group(f"g{number}")),)
        decide(engine, PodGroupInfo(of, pods))
    assert at_once == [True] * 4
    assert len(engine._cache._evaluations) == 1


def in_group(name: str) -> dict[str, Any]:
    return {"schedulingGroup": {"podGroupName": name}}


def test_preferences_among_the_nodes_of_a_placement_are_asked_about_one_by_one(at_once: Ran) -> None:
    taint = {"taints": [{"key": "dedicated", "value": "x", "effect": "PreferNoSchedule"}]}
    of, pods = group(1), (member("m"),)
    engine = engine_of(of, *pods, node("a", 2), make_node("b", allocatable={"cpu": "2"}, spec=taint))
    assert decide(engine, PodGroupInfo(of, pods)).status.ok
    assert at_once == [False]
