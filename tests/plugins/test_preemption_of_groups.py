"""Room for a pod among the pods of groups, which go one by one or as a whole (Kubernetes 1.37)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.plugins import test_default_preemption as alone
from tests.plugins.preempting import preemption_of
from tests.plugins.test_default_preemption import WEB, budget, message, node, wanting

Manifest = dict[str, Any]
GATES = {"GenericWorkload": True}
NODES = [node("n1", "4"), node("n2", "4")]

found = partial(alone.found, version="1.37", feature_gates=GATES)
placed = partial(alone.placed, cpu="3")


def group(name: str = "g", mode: str | None = "all", priority: int = 0) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"priority": priority, "disruptionMode": None if mode is None else {mode: {}}},
    }


def grouped(name: str, on: str, priority: int, group: str = "g", **fields: Any) -> Manifest:
    """Return a pod of a group on a node."""
    pod = placed(name, on, priority, **fields)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod


PAIR = [*NODES, grouped("m1", "n1", 0), grouped("m2", "n2", 0)]


@pytest.mark.parametrize(
    ("objects", "victims"),
    [
        pytest.param([*PAIR, group()], {"n1": ["m1", "m2"], "n2": ["m1", "m2"]}, id="as a whole"),
        pytest.param([*PAIR, group(mode="single")], {"n1": ["m1"], "n2": ["m2"]}, id="one by one"),
        pytest.param([*PAIR, group(mode=None)], {"n1": ["m1"], "n2": ["m2"]}, id="no mode is one by one"),
        pytest.param(PAIR, {"n1": ["m1"], "n2": ["m2"]}, id="a group that is not there"),
        pytest.param([*PAIR, group(priority=10)], {}, id="a group that is as important"),
        pytest.param([*PAIR, group(mode="single", priority=10)], {}, id="its priority counts in any mode"),
        pytest.param(
            [*NODES, grouped("m1", "n1", 50), group(mode="single", priority=5)],
            {"n1": ["m1"]},
            id="and its pods' own does not",
        ),
        pytest.param(
            [NODES[0], grouped("m", "n1", 0, cpu="2"), placed("x", "n1", 0, cpu="2", start=1), group()],
            {"n1": ["x"]},
            id="a lone pod goes first, though it runs longer",
        ),
        pytest.param(
            [NODES[0], grouped("m", "n1", 0, cpu="2"), placed("x", "n1", 0, cpu="2", start=1)],
            {"n1": ["x"]},
            id="and before a pod of a group that is not there",
        ),
        pytest.param(
            [
                *NODES,
                *(grouped(f"m{at}", at, 0, cpu="2") for at in ("n1", "n2")),
                grouped("k", "n1", 0, "h", cpu="2", start=1),
                *(group(name) for name in ("g", "h")),
            ],
            {"n1": ["k"]},
            id="the smaller group goes, though it runs longer",
        ),
    ],
)
def test_victims(objects: list[Manifest], victims: dict[str, list[str]]) -> None:
    assert {name: names for name, (names, _) in found(objects, wanting("2")).items()} == victims


def test_without_the_gate_each_pod_stands_alone() -> None:
    objects = [*PAIR, group(priority=10)]
    answer = alone.found(objects, wanting("2"), version="1.37")
    assert answer == {"n1": (["m1"], 0), "n2": (["m2"], 0)}


def test_each_protected_pod_of_a_group_counts_and_it_comes_back_before_others() -> None:
    objects = [
        node("n1", "4"),
        node("n2", "4"),
        *(grouped(f"m{at}", at, 0, cpu="2", **WEB) for at in ("n1", "n2")),
        placed("x", "n1", 5, cpu="2"),
        group(),
        budget(),
    ]
    assert found(objects, wanting("2")) == {"n1": (["x"], 0)}
    assert found(objects, wanting("4")) == {"n1": (["x", "mn1", "mn2"], 2), "n2": (["mn1", "mn2"], 2)}


def test_the_best_node_is_that_of_the_pods_own_priorities() -> None:
    """kube-scheduler ranks nodes by the priorities of their victims, whatever their groups have."""
    objects = [
        *NODES,
        grouped("m1", "n1", 1),
        grouped("m2", "n2", 2, "h"),
        group(mode="single", priority=9),
        group("h", mode="single", priority=3),
    ]
    assert preemption_of(objects, wanting("2"), version="1.37", feature_gates=GATES).best == ("n1",)


def test_a_filter_that_looks_at_other_nodes_sees_them_without_the_group() -> None:
    """The pod can't be near ``m2``, which is in the zone, on a node that the search does not test again."""
    zone = {"zone": "z"}
    nodes = [node("n1", "4", labels=zone), node("n2", "4", labels=zone)]
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": WEB["labels"]}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    there = [grouped("m1", "n1", 0, cpu="1"), grouped("m2", "n2", 0, cpu="1", **WEB)]
    pod = wanting("2", spec={"affinity": anti})
    whole = {"n1": (["m1", "m2"], 0), "n2": (["m1", "m2"], 0)}
    assert found([*nodes, *there, group()], pod) == whole
    assert found([*nodes, *there, group(mode="single")], pod) == {"n2": (["m2"], 0)}


def test_a_node_is_no_candidate_while_a_pod_of_a_group_on_it_is_on_one_that_is_gone() -> None:
    objects = [*PAIR, grouped("m3", "n3", 0), group()]
    assert found(objects, wanting("2")) == {}
    lost = 'failed to get node info for node "n3" from snapshot: nodeinfo not found for node name "n3"'
    said = message(objects, wanting("2"), version="1.37", feature_gates=GATES)
    assert said == f"0/2 nodes are available: 2 Insufficient cpu. preemption: {lost}"


def test_a_leaving_pod_of_an_important_group_is_not_waited_for() -> None:
    leaving = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    member = grouped("m1", "n1", 0, status={"conditions": [leaving]})
    member["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [*NODES, placed("x", "n2", 0), member]
    pod = wanting("2", status={"nominatedNodeName": "n1"})
    assert found([*others, group(mode="single", priority=10)], pod) == {"n2": (["x"], 0)}
    assert found([*others, group(mode="single", priority=9)], pod) == {}


def test_a_host_port_is_free_on_the_node_alone_that_its_pod_left() -> None:
    """On n2 a more important pod keeps the port, although the group frees it on n1."""
    port: Manifest = {
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    }
    m1, keeper, pod = grouped("m1", "n1", 0), placed("keeper", "n2", 50, cpu="1"), wanting("1")
    for each in (m1, keeper, pod):
        each["spec"] |= port
    objects = [*NODES, m1, grouped("m2", "n2", 0, cpu="1"), keeper, group()]
    assert found(objects, pod) == {"n1": (["m1", "m2"], 0)}
