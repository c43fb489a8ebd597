"""DefaultPreemption: who may preempt, which pods go, which node is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import Pod
from mooring.framework.preemption import Candidate
from mooring.plugins.default_preemption.budgets import Budgets
from mooring.plugins.default_preemption.importance import cheapest, costs_of
from mooring.plugins.default_preemption.units import VictimUnit, by_importance, pods_of
from mooring.testing import explain, make_pod
from mooring.testing.builders import node_manifest, pod_manifest
from tests.examples import examples
from tests.plugins.preempting import preemption_of

Manifest = dict[str, Any]
NOW = 4_000_000_000.0


def node(name: str, cpu: str = "2", **fields: Any) -> Manifest:
    return node_manifest(name, allocatable={"cpu": cpu}, **fields)


def placed(name: str, on: str, priority: int, cpu: str = "1", **fields: Any) -> Manifest:
    """Return a pod on a node. Those without a start count as started last."""
    start = fields.pop("start", None)
    status = {
        "phase": "Running",
        **({"startTime": f"2026-01-01T00:00:{start:02d}Z"} if start is not None else {}),
    }
    return pod_manifest(
        name,
        node=on,
        requests={"cpu": cpu},
        spec={"priority": priority},
        metadata={"uid": name},
        status={**status, **fields.pop("status", {})},
        **fields,
    )


def wanting(cpu: str = "2", priority: int = 10, **fields: Any) -> Manifest:
    spec = {"priority": priority, **fields.pop("spec", {})}
    return pod_manifest("wanting", requests={"cpu": cpu}, spec=spec, **fields)


def budget(name: str = "guard", *, allowed: int = 0, **spec_and_status: Any) -> Manifest:
    status = {"disruptionsAllowed": allowed, **spec_and_status.pop("status", {})}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": spec_and_status.pop("namespace", "default")},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec_and_status},
        "status": status,
    }


def found(objects: Sequence[Manifest], pod: Manifest, **options: Any) -> dict[str, tuple[list[str], int]]:
    """Victims and violations by node."""
    answer = preemption_of(objects, pod, **options)
    return {
        candidate.node_name: ([victim.metadata.name for victim in candidate.victims], candidate.violations)
        for candidate in answer.candidates
    }


def message(objects: Sequence[Manifest], pod: Manifest, **options: Any) -> str:
    text = explain(objects, pod, **options)["status"]["message"]
    assert isinstance(text, str)
    return text


FULL = [node("a"), placed("x", "a", 5, "2")]


@pytest.mark.parametrize(
    ("objects", "pod", "victims"),
    [
        pytest.param(FULL, wanting("1"), {"a": (["x"], 0)}, id="one in the way"),
        pytest.param(FULL, wanting("1", priority=5), {}, id="one as important stays"),
        pytest.param(FULL, wanting("3"), {}, id="more than the node has"),
        pytest.param(
            [node("a"), placed("x", "a", 5, start=1), placed("y", "a", 4, start=2)],
            wanting("1"),
            {"a": (["y"], 0)},
            id="the less important one goes",
        ),
        pytest.param(
            [node("a"), placed("x", "a", 5, start=9), placed("y", "a", 5, start=2)],
            wanting("1"),
            {"a": (["x"], 0)},
            id="the one that started later goes",
        ),
        pytest.param(
            [node("a"), placed("x", "a", 5), placed("y", "a", 5, start=59)],
            wanting("1"),
            {"a": (["x"], 0)},
            id="one that hasn't started goes first",
        ),
        pytest.param(
            [node("a", "3"), placed("x", "a", 5), placed("y", "a", 3), placed("z", "a", 4)],
            wanting("3"),
            {"a": (["x", "z", "y"], 0)},
            id="victims are listed by importance",
        ),
        pytest.param(
            [node("a", "4"), placed("big", "a", 7, "3"), placed("small", "a", 6, "1")],
            wanting("2"),
            {"a": (["big"], 0)},
            id="what can stay stays, though less important",
        ),
        pytest.param(
            [node("a", spec={"unschedulable": True}), placed("x", "a", 1, "2")],
            wanting("1"),
            {},
            id="nodes that removing pods can't help are left alone",
        ),
        pytest.param(
            [node("a"), placed("x", "a", -3, "2")],
            pod_manifest("wanting", requests={"cpu": "1"}),
            {"a": (["x"], 0)},
            id="no priority is 0",
        ),
    ],
)
def test_victims(objects: list[Manifest], pod: Manifest, victims: dict[str, Any]) -> None:
    assert found(objects, pod) == victims


WEB: dict[str, Any] = {"labels": {"app": "web"}}
TWO = [node("a"), placed("x", "a", 5, start=1, **WEB), placed("y", "a", 4, start=2)]


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param([], (["y"], 0), id="none"),
        pytest.param([budget()], (["y"], 0), id="the guarded one is spared"),
        pytest.param([budget(selector={"matchLabels": {"app": "db"}})], (["y"], 0), id="of others"),
    ],
)
def test_budget_of_the_more_important(budgets: list[Manifest], expected: Any) -> None:
    assert found([*TWO, *budgets], wanting("1")) == {"a": expected}


GUARDED = [node("a"), placed("x", "a", 5, start=1), placed("y", "a", 4, start=2, **WEB)]


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        pytest.param(budget(), (["x"], 0), id="guarded: another goes"),
        pytest.param(budget(allowed=1), (["y"], 0), id="allowed"),
        pytest.param(budget(namespace="other"), (["y"], 0), id="of another namespace"),
        pytest.param(budget(selector={}), (["y"], 0), id="an empty selector guards nobody"),
        pytest.param(budget(selector=None), (["y"], 0), id="no selector guards nobody"),
        pytest.param(
            budget(status={"disruptedPods": {"y": "2026-01-01T00:00:00Z"}}), (["y"], 0), id="granted already"
        ),
    ],
)
def test_budget_of_the_less_important(guard: Manifest, expected: Any) -> None:
    assert found([*GUARDED, guard], wanting("1")) == {"a": expected}


def test_a_budget_is_used_up_by_the_most_important_first() -> None:
    objects = [
        node("a", "3"),
        *(placed(name, "a", priority, **WEB) for name, priority in {"x": 5, "y": 4, "z": 3}.items()),
        budget(allowed=2),
    ]
    assert found(objects, wanting("3")) == {"a": (["x", "y", "z"], 1)}
    # Only z violates, so z is the first that may stay.
    assert found(objects, wanting("1")) == {"a": (["y"], 0)}


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        pytest.param(
            {"a": [placed("x", "a", 5, "2"), budget()], "b": [placed("y", "b", 9, "2")]}, {"a"}, id="top"
        ),
        pytest.param(
            {"a": [placed("x", "a", 5, "2", **WEB), budget()], "b": [placed("y", "b", 9, "2")]},
            {"b"},
            id="fewest violations before all",
        ),
        pytest.param(
            {
                "a": [placed("x", "a", 5), placed("w", "a", 4)],
                "b": [placed("y", "b", 5), placed("z", "b", 3)],
            },
            {"b"},
            id="lowest sum",
        ),
        pytest.param(
            {"a": [placed("x", "a", -5), placed("w", "a", -5)], "b": [placed("y", "b", -5, "2")]},
            {"b"},
            id="two negative ones are more than one",
        ),
        pytest.param(
            {"a": [placed("x", "a", 5, "2", start=3)], "b": [placed("y", "b", 5, "2", start=8)]},
            {"b"},
            id="latest start of the most important",
        ),
        pytest.param(
            {"a": [placed("x", "a", 5, "2", start=3)], "b": [placed("y", "b", 5, "2", start=3)]},
            {"a", "b"},
            id="equally good",
        ),
    ],
)
def test_best(rows: Mapping[str, list[Manifest]], best: set[str]) -> None:
    objects = [item for name, items in rows.items() for item in (node(name), *items)]
    assert set(preemption_of(objects, wanting()).best) == best


def leaving(priority: int = 5, **changes: str) -> Manifest:
    pod = placed("y", "a", priority, "2")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    pod["status"]["conditions"] = [condition | changes]
    return pod


NOMINATED: dict[str, Any] = {"status": {"nominatedNodeName": "a"}}
NEVER = "preemption: not eligible due to preemptionPolicy=Never."
ROOM = "preemption: found a potential placement for pod on node a, preempting 1 victims"
TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("objects", "pod", "text"),
    [
        pytest.param(FULL, wanting("1", spec={"preemptionPolicy": "Never"}), NEVER, id="policy"),
        pytest.param([node("a"), leaving()], wanting("1", **NOMINATED), TERMINATING, id="waits for a victim"),
        pytest.param([node("a"), leaving()], wanting("1"), ROOM, id="not nominated"),
        pytest.param(
            [node("a"), leaving(reason="EvictionByEvictionAPI")],
            wanting("1", **NOMINATED),
            ROOM,
            id="evicted",
        ),
        pytest.param([node("a"), leaving(status="False")], wanting("1", **NOMINATED), ROOM, id="no longer"),
        pytest.param(
            FULL,
            wanting("1", priority=5),
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="nobody less important",
        ),
        pytest.param(
            FULL,
            wanting("3"),
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="never enough",
        ),
        pytest.param(
            [*FULL, placed("y", "a", 50)],
            wanting("2"),
            "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
            id="not enough without the less important",
        ),
        pytest.param(FULL, wanting("1"), ROOM, id="room can be made"),
    ],
)
def test_sentence(objects: list[Manifest], pod: Manifest, text: str) -> None:
    said = message(objects, pod)
    assert said == f"0/1 nodes are available: 1 Insufficient cpu. {text}"


def test_a_filter_that_fails_on_the_emptied_node_is_named() -> None:
    left_out = {"plugins": {"preFilter": {"disabled": [{"name": "PodTopologySpread"}]}}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [left_out],
    }
    said = message(FULL, wanting("2"), config=config)
    assert "preemption: plugin 'PodTopologySpread' failed at Filter" in said


def test_pods_nominated_for_the_node_are_counted() -> None:
    waiting = wanting("1", priority=20)
    waiting["metadata"]["name"] = waiting["metadata"]["uid"] = "other"
    waiting["status"] = {"nominatedNodeName": "a"}
    objects = [node("a"), placed("x", "a", 5), placed("y", "a", 4)]
    assert found(objects, wanting("1")) == {"a": (["y"], 0)}
    assert found([*objects, waiting], wanting("1")) == {"a": (["x", "y"], 0)}


def limited(**args: int) -> Manifest:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": "DefaultPreemption", "args": args}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("args", "count"),
    [
        pytest.param({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 3}, 3, id="absolute"),
        pytest.param({"minCandidateNodesPercentage": 50, "minCandidateNodesAbsolute": 1}, 5, id="share"),
        pytest.param(
            {"minCandidateNodesPercentage": 15, "minCandidateNodesAbsolute": 0}, 1, id="rounded down"
        ),
        pytest.param({"minCandidateNodesAbsolute": 100}, 10, id="no more than there are"),
    ],
)
def test_as_many_candidates_as_wanted(args: dict[str, int], count: int) -> None:
    objects = [item for i in range(10) for item in (node(f"n{i}"), placed(f"x{i}", f"n{i}", 1, "2"))]
    config = limited(**args)
    answers = [list(found(objects, wanting("1"), config=config, seed=seed)) for seed in range(8)]
    assert {len(answer) for answer in answers} == {count}
    assert all(answer == sorted(answer) for answer in answers)
    assert (len({tuple(answer) for answer in answers}) > 1) == (count < 10)
    assert answers[3] == list(found(objects, wanting("1"), config=config, seed=3))


def test_the_search_goes_on_until_a_candidate_violates_no_budget() -> None:
    objects = [item for i in range(9) for item in (node(f"n{i}"), placed(f"x{i}", f"n{i}", 1, "2", **WEB))]
    objects += [node("n9"), placed("x9", "n9", 1, "2"), budget()]
    config = limited(minCandidateNodesPercentage=0, minCandidateNodesAbsolute=2)
    for seed in range(6):
        answer = found(objects, wanting("1"), config=config, seed=seed)
        assert "n9" in answer
        assert len(answer) in (2, 3)
        assert preemption_of(objects, wanting("1"), config, seed=seed).best == ("n9",)


def test_a_pod_that_has_no_nodes_at_all_is_told_only_that() -> None:
    assert message([], wanting()) == "no nodes available to schedule pods"


pods = st.lists(st.tuples(st.integers(-3, 9), st.integers(1, 4)), max_size=5)


@examples(60)
@given(pods, st.integers(1, 8), st.integers(0, 6))
def test_no_victim_could_stay_and_the_others_leave_room(
    there: list[tuple[int, int]], asked: int, priority: int
) -> None:
    objects = [node("a", "8")]
    objects += [placed(f"p{i}", "a", rank, str(cpu), start=i) for i, (rank, cpu) in enumerate(there)]
    answer = found(objects, wanting(str(asked), priority=priority))
    cpu_of = {f"p{i}": cpu for i, (_, cpu) in enumerate(there)}
    rank_of = {f"p{i}": rank for i, (rank, _) in enumerate(there)}
    free = 8 - sum(cpu_of.values())
    lower = [name for name, rank in rank_of.items() if rank < priority]
    possible = free < asked <= free + sum(cpu_of[name] for name in lower)
    assert bool(answer) == possible
    if not possible:
        return
    (victims, _) = answer["a"]
    assert set(victims) <= set(lower)
    freed = sum(cpu_of[name] for name in victims)
    assert free + freed >= asked
    assert all(free + freed - cpu_of[name] < asked for name in victims)
    # No choice of victims spares a more important pod first.
    order = sorted(lower, key=lambda name: (-rank_of[name], int(name[1:])))
    kept = [name in victims for name in order]
    for other in (set(c) for size in range(len(order) + 1) for c in combinations(order, size)):
        if free + sum(cpu_of[name] for name in other) >= asked:
            assert kept <= [name in other for name in order]


def candidate(name: str, *priorities: int, violations: int = 0) -> Candidate:
    return Candidate(name, tuple(ranked(priority) for priority in priorities), violations)


def ranked(priority: int | None, start: str | None = None) -> Pod:
    spec = {} if priority is None else {"priority": priority}
    return make_pod(spec=spec, status={} if start is None else {"startTime": start})


@pytest.mark.parametrize(
    ("candidates", "best"),
    [
        pytest.param([], (), id="none"),
        pytest.param([candidate("a"), candidate("b", -9)], ("a",), id="nobody has to go"),
        pytest.param([candidate("a", 1), candidate("b", 1, violations=1)], ("a",), id="violations"),
        pytest.param([candidate("a", 5), candidate("b", 4, 4, 4)], ("b",), id="top before number"),
        pytest.param([candidate("b", 5), candidate("a", 5)], ("b", "a"), id="ties keep their order"),
    ],
)
def test_cheapest(candidates: list[Candidate], best: tuple[str, ...]) -> None:
    found = cheapest(costs_of(candidates), NOW).tolist()
    assert tuple(candidates[at].node_name for at in found) == best


def ordered(*pods: Pod, in_order: bool = True) -> list[int]:
    """Return which of the pods comes first, second and so on."""
    units = [VictimUnit.of((pod,), pod.priority, NOW, place) for place, pod in enumerate(pods)]
    names = [id(pod) for pod in pods]
    return [names.index(id(pod)) for pod in pods_of(by_importance(units, in_order=in_order))]


def test_importance_reads_times_as_moments() -> None:
    early, late = ranked(1, "2026-01-01T02:00:00+02:00"), ranked(1, "2026-01-01T00:00:01Z")
    assert ordered(late, early) == [1, 0]
    assert ordered(ranked(None), ranked(1)) == [1, 0]


def test_of_those_that_wait_to_start_the_first_counts_most_and_before_1_37_the_last() -> None:
    pods = ranked(1), ranked(1, "2026-01-01T00:00:00Z"), ranked(1)
    assert ordered(*pods) == [1, 0, 2]
    assert ordered(*pods, in_order=False) == [1, 2, 0]


def test_a_selector_that_cannot_be_used_guards_nobody() -> None:
    from mooring.framework.objects import (
        LabelSelector,
        LabelSelectorRequirement,
        ObjectMeta,
        PodDisruptionBudget,
        PodDisruptionBudgetSpec,
    )

    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Near", ("web",)),))
    guard = PodDisruptionBudget(ObjectMeta("guard", "default"), PodDisruptionBudgetSpec(bad))
    pod = make_pod(labels={"app": "web"})
    assert not Budgets([guard]).violates(pod, Counter())
