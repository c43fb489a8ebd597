"""A pod group's cycle: placements, each tried with all pods, and the best of them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import Code, Node, Pod, PodGroupInfo
from mooring.framework.objects import (
    GangSchedulingPolicy,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    TopologyConstraint,
)
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.runtime.cycle.tie_break import SeededPicks
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning
from mooring.telemetry.decision_metrics import MetricsObserver
from mooring.telemetry.metrics import Metrics
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
NOBODY_GOES = "pod group preemption: No preemption victims found for incoming preemptor"
"""The text that 1.37 adds to the message of a group for which no preemption made room."""
IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}}
CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def engine_of(
    *objects: Any,
    gates: dict[str, bool] = GATES,
    version: str = "1.37",
    metrics: Metrics | None = None,
    tuning: CacheTuning = DEFAULT_TUNING,
) -> Engine:
    registry = new_in_tree_registry()
    state = State()
    state.replace("test", objects)
    configuration = from_document(CONFIG, registry.catalog(), kube_version=version, feature_gates=gates)
    return build_engine(
        configuration,
        registry,
        state,
        NoBinder(),
        kube_version=version,
        feature_gates=gates,
        observer=None if metrics is None else MetricsObserver(metrics),
        tuning=tuning,
    )


def group(min_count: int | None, key: str = "", **spec: Any) -> PodGroup:
    gang = None if min_count is None else GangSchedulingPolicy(min_count)
    topology = (TopologyConstraint(key),) if key else ()
    return PodGroup(
        metadata=ObjectMeta(name="g", namespace="default", uid="g"),
        spec=PodGroupSpec(
            scheduling_policy=PodGroupSchedulingPolicy(gang=gang),
            scheduling_constraints=PodGroupSchedulingConstraints(topology),
            **spec,
        ),
    )


def member(name: str, **fields: Any) -> Pod:
    spec = {**IN_GROUP, **fields.pop("spec", {})}
    return make_pod(name, requests={"cpu": "1"}, spec=spec, **fields)


def node(name: str, cpu: int, zone: str = "") -> Node:
    return make_node(name, allocatable={"cpu": str(cpu)}, labels={"zone": zone} if zone else {})


def members(count: int) -> tuple[Pod, ...]:
    return tuple(member(f"m{i}") for i in range(count))


def decide(
    of: PodGroup, pods: tuple[Pod, ...], *objects: Any, gates: dict[str, bool] = GATES
) -> GroupDecision:
    engine = engine_of(of, *pods, *objects, gates=gates)
    before = dict(engine.state.snapshot.pods.records)
    decision = engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))
    assert engine.state.snapshot.pods.records == before
    return decision


def tried(decision: GroupDecision) -> dict[str, list[str]]:
    return {one.placement.name: [each.node_name for each in one.members] for one in decision.tried}


def test_each_pod_sees_those_before_it_and_all_get_a_node() -> None:
    decision = decide(group(3), members(3), node("a", 1), node("b", 2))
    assert decision.status.ok
    assert sorted(each.node_name for each in decision.members) == ["a", "b", "b"]
    assert decision.message == ""


@pytest.mark.parametrize(
    ("gates", "message", "tried_pods"),
    [
        pytest.param(
            GATES,
            "pod group is unschedulable, 0/1 placements are available, first placement status: "
            "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
            3,
            id="with placements",
        ),
        pytest.param(
            GATES | {"TopologyAwareWorkloadScheduling": False},
            "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
            3,
            id="without",
        ),
    ],
)
def test_a_gang_that_does_not_fit_gets_nothing(gates: dict[str, bool], message: str, tried_pods: int) -> None:
    decision = decide(group(3), members(3), node("a", 2), gates=gates)
    message = f"{message}, {NOBODY_GOES}"
    assert (decision.status.code, decision.message) == (Code.UNSCHEDULABLE, message)
    assert len(decision.tried[0].members) == tried_pods
    told = [each.message for each in decision.members]
    given_up = f"pod group is unschedulable, {message}"
    assert told == [given_up, given_up, "0/1 nodes are available: 1 Insufficient cpu."]


def test_nobody_is_tried_once_too_few_are_left() -> None:
    decision = decide(group(3), members(4), node("a", 0), gates=GATES)
    assert [len(one.members) for one in decision.tried] == [2]
    assert decision.members[3].message == decision.message.removesuffix(f", {NOBODY_GOES}")


def test_a_group_too_small_for_its_gang_is_tried_nowhere() -> None:
    decision = decide(group(3), members(2), node("a", 9))
    assert decision.tried[0].members == ()
    assert decision.tried[0].status.reasons == (
        "pod group is unschedulable",
        "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
    )
    without_room = decision.message.removesuffix(f", {NOBODY_GOES}")
    assert without_room.endswith("first placement status: pod group is unschedulable")


def test_without_a_gang_one_pod_is_enough() -> None:
    decision = decide(group(None), members(3), node("a", 2))
    assert decision.status.ok
    assert [each.node_name for each in decision.members] == ["a", "a", ""]
    assert decision.members[2].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


NODES = (node("a1", 2, "a"), node("a2", 2, "a"), node("b1", 4, "b"), node("c1", 3, "c"), node("none", 9))


def test_every_domain_is_tried_and_no_node_without_one() -> None:
    decision = decide(group(4, "zone"), members(4), *NODES)
    assert {name: len(list(filter(None, names))) for name, names in tried(decision).items()} == {
        "a": 4,
        "b": 4,
        "c": 3,
    }
    assert decision.compared == (0, 1)
    assert len({each.node_name[0] for each in decision.members}) == 1


@pytest.mark.parametrize(
    ("scheduled", "domains", "status"),
    [
        pytest.param([], ["a", "b", "c"], "", id="nobody yet"),
        pytest.param(["b1"], ["b"], "", id="one has its node"),
        pytest.param(["b1", "a1"], [], "more than 1 domain found for pod group: b, a", id="in two already"),
        pytest.param(["none"], [], "no topology domain found for pod default/s0", id="outside of all"),
    ],
)
def test_a_group_that_is_somewhere_already_stays_there(
    scheduled: list[str], domains: list[str], status: str
) -> None:
    there = [member(f"s{i}", node=name) for i, name in enumerate(scheduled)]
    decision = decide(group(2, "zone"), members(1), *NODES, *there)
    assert list(tried(decision)) == domains
    if status:
        assert decision.status.code is Code.ERROR
        assert decision.message == f"cannot determine domain for already scheduled pods: {status}"


def test_more_pods_win_and_then_fuller_nodes() -> None:
    small = (node("a1", 2, "a"), node("b1", 4, "b"), node("c1", 40, "c"))
    decision = decide(group(2, "zone"), members(4), *small)
    assert decision.compared == (0, 1, 2)
    by_plugin = {score.plugin: score.normalized.tolist() for score in decision.scores}
    assert by_plugin["PodGroupPodsCount"] == [50, 100, 100]
    fullness = by_plugin["NodeResourcesFit"]
    assert fullness[1] > fullness[2]
    assert [decision.tried[at].placement.name for at in decision.ties] == ["b"]
    assert {each.node_name for each in decision.members} == {"b1"}


@pytest.mark.parametrize(
    ("leaving", "code"),
    [
        pytest.param({}, Code.SUCCESS, id="not tried"),
        pytest.param({"priority": 7}, Code.ERROR, id="but compared with the others"),
    ],
)
def test_a_pod_that_is_being_deleted(leaving: dict[str, Any], code: Code) -> None:
    gone = member("gone", spec=leaving, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    decision = decide(group(1), (*members(1), gone), node("a", 4))
    assert decision.status.code is code
    tried_pods = [each.pod.metadata.name for each in decision.members]
    assert tried_pods == (["m0"] if code is Code.SUCCESS else ["m0", "gone"])


def test_of_a_group_that_goes_altogether_nothing_is_decided() -> None:
    gone = member("gone", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    decision = decide(group(1), (gone,), node("a", 4))
    assert decision.status.ok
    assert not decision.members
    assert not decision.tried


def test_no_node_has_the_label() -> None:
    decision = decide(group(1, "nowhere"), members(1), *NODES)
    assert decision.message.removesuffix(f", {NOBODY_GOES}") == "no feasible placements found"
    assert decision.status.code is Code.UNSCHEDULABLE


@pytest.mark.parametrize(
    ("of", "pods", "code", "message"),
    [
        pytest.param(
            group(1),
            (member("x"), member("y", spec={"schedulerName": "other"})),
            Code.ERROR,
            "all pods in a single pod group should have the same .spec.schedulerName set, "
            'got: "other" and "default-scheduler"',
            id="two schedulers",
        ),
        pytest.param(
            group(1, priority=5),
            (member("x"),),
            Code.ERROR,
            "all pods in a single pod group should have the same priority as the pod group's priority, "
            "got 0 and 5",
            id="another priority",
        ),
        pytest.param(
            group(1),
            (member("x"), member("y", spec={"preemptionPolicy": "Never"})),
            Code.ERROR,
            "all pods in a single pod group should have the same preemption policy, "
            "got Never and PreemptLowerPriority",
            id="two policies",
        ),
        pytest.param(
            group(1, parent_composite_pod_group_name="all"),
            (member("x"),),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "pod group default/g: groups in a CompositePodGroup are not supported yet",
            id="a group in a group",
        ),
    ],
)
def test_a_group_that_cannot_be_tried(of: PodGroup, pods: tuple[Pod, ...], code: Code, message: str) -> None:
    decision = decide(of, pods, node("a", 9))
    assert (decision.status.code, decision.message) == (code, message)
    assert [each.message for each in decision.members] == [message] * len(pods)
    assert decision.tried == ()


def test_pods_that_nobody_has_heard_of_count_as_members() -> None:
    of, pods = group(2), members(2)
    engine = engine_of(of, node("a", 2))
    decision = engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))
    assert decision.status.ok


def test_a_pod_with_a_topology_constraint_is_not_placed_alone() -> None:
    of, (pod,) = group(1, "zone"), members(1)
    engine = engine_of(of, pod, *NODES)
    profile = engine.profile("default-scheduler")
    choice = engine.decide(pod, profile, ALL_NODES)
    assert choice.node_name is None
    assert "placed together, by ScheduleGroups" in choice.message
    free = engine.decide(make_pod("free"), profile, ALL_NODES)
    assert free.node_name is not None


def said(decision: GroupDecision) -> list[Any]:
    """Return the parts of a decision that an answer contains."""
    return [
        (decision.status, decision.taken, decision.compared, decision.ties),
        [(each.pod.metadata.name, each.node_name, each.status, each.message) for each in decision.members],
        [
            (
                one.placement.name,
                one.status,
                [
                    (each.node_name, each.choice.total, each.choice.tie_count, each.message)
                    for each in one.members
                    if each.choice
                ],
            )
            for one in decision.tried
        ],
        [(score.plugin, score.raw.tolist(), score.normalized.tolist()) for score in decision.scores],
    ]


TAINT = {"taints": [{"key": "dedicated", "value": "x", "effect": "PreferNoSchedule"}]}


@pytest.mark.parametrize("seed", range(25))
def test_what_cached_evaluations_say_is_what_evaluations_in_full_say(seed: int) -> None:
    rng = Random(seed)
    nodes = [
        make_node(
            f"n{i}",
            allocatable={"cpu": str(rng.randint(0, 4)), "memory": f"{rng.randint(1, 9)}Gi"},
            labels={"zone": rng.choice("abc"), "disk": rng.choice(["ssd", "hdd"])},
            spec=TAINT if rng.random() < 0.3 else {},
        )
        for i in range(12)
    ]
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = [{"weight": 5, "preference": ssd}]
    affine = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}
    pods = tuple(member(f"m{i}", spec=affine if rng.random() < 0.4 else {}) for i in range(rng.randint(1, 9)))
    of = group(rng.choice([1, 2, len(pods), None]), rng.choice(["", "zone", "zone"]))
    engine = engine_of(of, *pods, *nodes)
    info, profile = PodGroupInfo(of, pods), engine.profile("default-scheduler")
    quick = engine.decide_group(info, profile, seed=seed)
    full = engine.decide_group(info, profile, seed=seed, picks=SeededPicks(seed, "g"))
    assert said(quick) == said(full)


@pytest.mark.parametrize(
    ("gates", "generated", "feasible", "infeasible"),
    [
        pytest.param(GATES, 2.0, 1.0, 1.0, id="of two zones one is large enough"),
        pytest.param(GATES | {"TopologyAwareWorkloadScheduling": False}, None, None, None, id="gate off"),
    ],
)
def test_placements_are_measured(
    gates: dict[str, bool], generated: float | None, feasible: float | None, infeasible: float | None
) -> None:
    of, pods, metrics = group(2, "zone"), members(2), Metrics()
    engine = engine_of(of, *pods, node("a", 2, "x"), node("b", 1, "y"), gates=gates, metrics=metrics)
    engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))

    def value(name: str, **labels: str) -> float | None:
        labels = {"profile": "default-scheduler", **labels}
        return metrics.registry.get_sample_value(f"mooring_{name}", labels)

    assert value("generated_placements_total") == generated
    for result, count in (("feasible", feasible), ("infeasible", infeasible)):
        assert value("placement_evaluations_total", result=result) == count
        assert value("placement_evaluation_duration_seconds_count", result=result) == count
