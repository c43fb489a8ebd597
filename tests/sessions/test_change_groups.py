"""The cheapest set of changes with which a group fits, how it is verified, and what is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Node, Pod, PodGroupInfo
from mooring.framework.objects import PodGroup
from mooring.framework.objects.node import HOSTNAME
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.change import group_search
from mooring.sessions.change.group_search import GROUP_KINDS, GroupChangeSearch
from mooring.sessions.change.steps import AddNode, Kind, LowerRequest, NeededChanges, Relabel, Step, Tolerate
from mooring.testing import make_node, make_pod
from tests.runtime.test_group_cycle import GATES, group

TAINT = {"key": "team", "value": "db", "effect": "NoSchedule"}
NOT_ON_A = {"key": HOSTNAME, "operator": "NotIn", "values": ["a"]}
WITH_DISK = {"key": "disk", "operator": "Exists"}


def gang(count: int, cpu: str = "1", **spec: Any) -> list[Pod]:
    spec = {**spec, "schedulingGroup": {"podGroupName": "g"}}
    return [
        make_pod(f"p{at}", metadata={"uid": f"p{at}"}, requests={"cpu": cpu}, spec=spec)
        for at in range(count)
    ]


def requiring(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def node(name: str, cpu: str = "2", **fields: Any) -> Node:
    return make_node(name, allocatable={"cpu": cpu, "memory": "8Gi", "pods": 10}, **fields)


def changes(
    of: PodGroup,
    pods: Sequence[Pod],
    *objects: Any,
    kinds: frozenset[Kind] = GROUP_KINDS,
    version: str = "1.37",
) -> NeededChanges:
    options = EngineOptions(kube_version=version, feature_gates=GATES)
    registry = registry_of(options)
    core = build_core(options, registry, configuration_of(options, registry))
    core.state.replace("test", [of, *pods, *objects])
    work = LiveState(core, options).work()
    profile = work.engine.profile("default-scheduler")
    search = GroupChangeSearch(work, PodGroupInfo(of, tuple(pods)), profile, progress=NoDeadline())
    found = search.run(kinds)
    assert not work.tree.take_changes(), "the tree is what it was"
    return found


def said(found: NeededChanges) -> list[str]:
    return ["; ".join(map(_word, option.steps)) for option in found.options]


def _word(step: Step) -> str:
    match step:
        case Tolerate(taint):
            return f"tolerate {taint.key}"
        case Relabel(name, key, value):
            return f"{name} {key}={value}"
        case LowerRequest(resource, amount, _):
            return f"{resource} {amount}"
        case AddNode(added, like):
            return f"{added.metadata.name} like {like}"
        case _:
            raise AssertionError("no pod moves for a group")


@pytest.mark.parametrize(
    ("of", "pods", "objects", "expected"),
    [
        pytest.param(group(2), gang(2), [node("a")], [], id="it fits"),
        pytest.param(
            group(3),
            gang(3),
            [node("a", spec={"taints": [TAINT]}), node("b", spec={"taints": [TAINT]})],
            ["tolerate team"],
            id="one taint of all nodes is one change",
        ),
        pytest.param(
            group(4),
            gang(4),
            [node("a"), node("b", "1")],
            ["cpu 666", "a-1 like a"],
            id="the least that each pod gives up, or one more node",
        ),
        pytest.param(
            group(4),
            gang(4, "2"),
            [node("a"), node("b")],
            ["cpu 1000", "a-1 like a; a-2 like a"],
            id="several nodes that are alike",
        ),
        pytest.param(
            group(2),
            gang(2, nodeSelector={"disk": "ssd"}),
            [node("a", "1"), node("b", "1"), node("c", "1", labels={"disk": "ssd"})],
            ["a disk=ssd", "cpu 500", "c-1 like c"],
            id="as few nodes as are enough get a label",
        ),
        pytest.param(
            group(2),
            gang(2, **requiring(NOT_ON_A, WITH_DISK)),
            [node("a")],
            ["a-1 disk=true; a-1 like a"],
            id="a new node has a name of its own",
        ),
        pytest.param(
            group(3, "zone"),
            gang(3),
            [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"})],
            ["cpu 666", "a-1 like a"],
            id="all in one domain",
        ),
        pytest.param(group(3), gang(2), [node("a")], [], id="too few pods: no change helps"),
        pytest.param(
            group(2),
            [gang(1)[0], *gang(2, "3")[1:]],
            [node("a", "3")],
            ["cpu 2000", "a-1 like a"],
            id="who requests less keeps it",
        ),
    ],
)
def test_options(of: PodGroup, pods: list[Pod], objects: list[Any], expected: list[str]) -> None:
    found = changes(of, pods, *objects)
    assert said(found) == expected
    assert found.complete
    for option in found.options:
        assert len(option.landings) >= of.spec.scheduling_policy.gang.min_count  # type: ignore[union-attr]


def test_the_landings_are_where_the_pods_go_then() -> None:
    found = changes(group(2), gang(2), node("a", "1"), node("b", "1", spec={"taints": [TAINT]}))
    (first, *_) = found.options
    assert {pod.metadata.name: name for pod, name in first.landings}.keys() == {"p0", "p1"}
    assert sorted(name for _, name in first.landings) == ["a", "b"]
    assert all(pod.spec.tolerations for pod, _ in first.landings)


def test_kinds_are_those_that_were_asked_for() -> None:
    found = changes(group(4), gang(4), node("a"), node("b", "1"), kinds=frozenset({Kind.NODE}))
    assert said(found) == ["a-1 like a"]


def test_what_was_not_tried_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_search, "MOST_TRIED", 0)
    found = changes(group(4), gang(4), node("a"), node("b", "1"))
    assert (said(found), found.complete) == ([], False)


def test_each_option_was_placed_as_a_whole() -> None:
    """Room by resources alone is not enough if the pods may not share a node."""
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "g"}}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pods = [
        make_pod(
            each.metadata.name,
            metadata={"uid": each.metadata.uid, "labels": {"app": "g"}},
            requests={"cpu": "1"},
            spec={"affinity": apart, "schedulingGroup": {"podGroupName": "g"}},
        )
        for each in gang(3)
    ]
    hosts = [node(name, "8", labels={"kubernetes.io/hostname": name}) for name in "ab"]
    assert said(changes(group(3), pods, *hosts)) == ["a-1 like a"]
