"""Blame names every smallest set of inputs without which a decision comes out otherwise, and no other one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Pod
from mooring.runtime.answers import ALL_NODES, CycleOptions, evaluate
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.blame import Blame, Blamed, Input, InputKind, other_rules, without_plugins
from mooring.sessions.work_trees import Work
from mooring.testing import make_node
from tests.sessions.test_change import PORT, TAINT, node, pod, there, work_on

ZONE = "topology.kubernetes.io/zone"
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
}
TOGETHER = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
}
EVEN = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
}


def blamed(work: Work, asked: Pod, **more: Any) -> Blamed:
    profile = work.engine.profile("", asked)
    return Blame(work, asked, profile, progress=NoDeadline(), seconds=1e9, **more).run()


def named(found: Blamed) -> list[tuple[list[str], list[str]]]:
    return [(sorted(each.name for each in inputs), nodes) for inputs, nodes in found.sets.items()]


@pytest.mark.parametrize(
    ("asked", "objects", "expected"),
    [
        pytest.param(
            pod(),
            [node("a", spec={"taints": [TAINT]}), node("b", spec={"taints": [TAINT]})],
            [(["TaintToleration"], ["a", "b"])],
            id="a rule",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [node("a"), there("big", "a", requests={"cpu": "1500m"}), there("small", "a")],
            [(["default/big"], ["a"]), (["NodeResourcesFit"], ["a"])],
            id="a pod, or the rule that counts it",
        ),
        pytest.param(
            pod(requests={"cpu": "2"}),
            [node("a"), *(there(name, "a", requests={"cpu": "1"}) for name in "xyz")],
            [(["NodeResourcesFit"], ["a"])],
            id="three pods are too many",
        ),
        pytest.param(
            pod(spec={"schedulingGates": [{"name": "g"}]}),
            [node("a")],
            [(["SchedulingGates"], ["a"])],
            id="a gate of the pod",
        ),
        pytest.param(
            pod(spec={**PORT, **APART}),
            [node("a", labels={ZONE: "1"}), there("web", "a", labels={"app": "web"}, spec=PORT)],
            [(["default/web"], ["a"]), (["InterPodAffinity", "NodePorts"], ["a"])],
            id="one pod, or both rules",
        ),
    ],
)
def test_what_cost_a_rejection(
    asked: Pod, objects: list[Any], expected: list[tuple[list[str], list[str]]]
) -> None:
    found = blamed(work_on(*objects), asked)
    assert (named(found), found.complete) == (expected, True)


def test_why_another_node_is_better() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
    work = work_on(node("a", labels={"disk": "ssd"}), node("b"), there("x", "a", requests={"cpu": "500m"}))
    found = blamed(
        work, pod(spec={"affinity": {"nodeAffinity": preferred}}, requests={"cpu": "100m"}), most=1
    )
    assert (found.node, named(found)) == ("a", [(["NodeAffinity"], ["b"])])


def test_why_not_this_node() -> None:
    work = work_on(node("a"), node("b", spec={"taints": [TAINT]}))
    found = blamed(work, pod(), node="b")
    assert (named(found), found.status.plugin) == ([(["TaintToleration"], ["b"])], "TaintToleration")


def test_a_gate_that_was_switched_is_blamed() -> None:
    gates = {"TaintTolerationComparisonOperators": True}
    options = EngineOptions(feature_gates=gates, kube_version="1.37")
    registry = registry_of(options)
    core = build_core(options, registry, configuration_of(options, registry))
    lower = {"key": "sla", "value": "950", "effect": "NoSchedule"}
    core.state.replace("test", [node("a", spec={"taints": [lower]})])
    live = LiveState(core, options)
    work = live.work()
    others = other_rules(live, work, "1.37", gates, NoDeadline())
    assert [each.without.name for each in others] == ["TaintTolerationComparisonOperators=true"]
    asked = pod(spec={"tolerations": [{**lower, "operator": "Gt", "value": "900"}]})
    found = blamed(work, asked, others=others)
    assert (found.node, found.sets) == ("a", {}), "without the gate no other node would be the best"


# Against brute force: every set of inputs is taken away, and the whole pod is decided again.

CASES = 500
NODES = 8


def draw(dice: Random) -> tuple[Pod, list[Any]]:
    nodes = [
        make_node(
            f"n{at}",
            allocatable={"cpu": "2", "memory": "4Gi", "pods": 10},
            labels={ZONE: str(at % 3), **({"disk": "ssd"} if dice.random() < 0.3 else {})},
            spec={"taints": [TAINT]} if dice.random() < 0.3 else {},
        )
        for at in range(NODES)
    ]
    pods = [
        there(
            f"x{at}",
            f"n{dice.randrange(NODES)}",
            labels={"app": dice.choice(["web", "db"]), "at": str(at)},
            requests={"cpu": dice.choice(["500m", "1", "1500m"])},
            spec=PORT if dice.random() < 0.3 else {},
        )
        for at in range(dice.randrange(4, 9))
    ]
    spec: dict[str, Any] = {}
    for part in (PORT, APART, TOGETHER, EVEN, {"nodeSelector": {"disk": "ssd"}}):
        if dice.random() < 0.35 and not ("affinity" in part and "affinity" in spec):
            spec |= part
    return pod(spec=spec, labels={"app": "web"}, requests={"cpu": dice.choice(["1", "2"])}), [*nodes, *pods]


def taking(work: Work, asked: Pod, removed: Sequence[Input]) -> list[str]:
    """Return the nodes that take the pod without these inputs."""
    gone = {each.name for each in removed if each.kind is InputKind.POD}
    rules = frozenset(each.name for each in removed if each.kind is InputKind.RULE)
    profile = without_plugins(work.engine.profile("", asked), rules)
    for record in list(work.tree.snapshot.pods.records.values()):
        if record.pod.key in gone:
            work.tree.discard(record.uid)
    run = partial(evaluate, options=CycleOptions(post_filter=False))
    found, _ = work.engine.evaluate(asked, profile, ALL_NODES, run, progress=NoDeadline())
    names = [found.names[row] for row in found.rows[found.feasible].tolist()]
    work.go_back()
    return sorted(names)


def brute_force(work: Work, asked: Pod, most: int) -> dict[frozenset[Input], list[str]]:
    profile = work.engine.profile("", asked)
    inputs = [Input(InputKind.RULE, each.name) for each in profile.filter]
    records = work.tree.snapshot.pods.records.values()
    inputs += [Input(InputKind.POD, each.pod.key, each.node_name) for each in records]
    found: dict[frozenset[Input], list[str]] = {}
    for count in range(most + 1):
        for chosen in itertools.combinations(inputs, count):
            some = frozenset(chosen)
            if not any(known < some for known in found) and (names := taking(work, asked, chosen)):
                found[some] = names
    return found


def cases(count: int, seed: int) -> Iterator[tuple[Work, Pod]]:
    dice = Random(seed)
    while count:
        asked, objects = draw(dice)
        work = work_on(*objects)
        if not taking(work, asked, ()):
            count -= 1
            yield work, asked


def check(count: int, seed: int) -> None:
    for work, asked in cases(count, seed):
        found = blamed(work, asked)
        expected = brute_force(work, asked, 2)
        assert found.sets.keys() == expected.keys()
        for inputs, nodes in found.sets.items():
            assert set(nodes) <= set(expected[inputs])
        assert found.complete


def test_all_smallest_sets_are_found() -> None:
    check(20, 1)


@pytest.mark.slow
def test_all_smallest_sets_are_found_in_many_clusters() -> None:
    check(CASES, 2)
