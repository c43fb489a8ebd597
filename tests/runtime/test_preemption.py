"""PostFilter, and what a plugin may find out there: rejections, and nodes with other pods on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.framework import (
    SUCCESS,
    CacheablePlugin,
    Code,
    CycleState,
    Dependencies,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Part,
    Plugin,
    Pod,
    PostFilterPlugin,
    PreFilterPlugin,
    Status,
)
from mooring.framework.preemption import RejectedNodes
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from tests.runtime.fakes import cycle, filtering, prefiltering, profile

FULL = filtering("Full", lambda _: Status.unschedulable("full"))
SENTENCE = "0/3 nodes are available: 3 full."


def post_filtering(name: str, answer: Any, asked: list[str] | None = None) -> type[Plugin[Any]]:
    """Return a PostFilter plugin: a status, or what a function makes of the nodes and the pod."""

    class PostFiltering(PostFilterPlugin[None]):
        def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
            if asked is not None:
                asked.append(name)
            status: Status = answer(nodes, pod) if callable(answer) else answer
            return status

    PostFiltering.name = name
    return PostFiltering


NO, LATER, BAD = Status.unschedulable("no"), Status.unschedulable("later"), Status.error("broken")
NEVER = Status.unresolvable("never")


@pytest.mark.parametrize(
    ("answers", "asked", "said"),
    [
        pytest.param([], 0, "", id="no plugin"),
        pytest.param([NO], 1, " no", id="one rejects"),
        pytest.param([NO, LATER], 2, " no, later", id="all reject: reasons are joined"),
        pytest.param([NO, SUCCESS, LATER], 2, "", id="the first success ends it, and nothing is said"),
        pytest.param([NO, NEVER, LATER], 2, " never", id="unresolvable ends it"),
        pytest.param([BAD, LATER], 1, " broken", id="an error ends it"),
        pytest.param([Status(Code.PENDING, ("soon",)), LATER], 2, " soon, later", id="pending rejects"),
    ],
)
def test_the_plugins_take_turns(answers: list[Status], asked: int, said: str) -> None:
    calls: list[str] = []
    plugins = [post_filtering(f"Post{at}", answer, calls) for at, answer in enumerate(answers)]
    document = cycle(FULL, *plugins)
    assert document["status"]["message"] == SENTENCE + said
    assert document["status"]["code"] == "Unschedulable"
    assert calls == [f"Post{at}" for at in range(asked)]


def test_it_runs_only_for_a_pod_that_no_node_takes() -> None:
    calls: list[str] = []
    post = post_filtering("Post", NO, calls)
    assert cycle(filtering("Fits", {}), post)["selected"]
    assert cycle(FULL, post, nodes=())["status"]["message"] == "no nodes available to schedule pods"
    assert calls == []
    rejected = cycle(prefiltering("Pre", Status.unresolvable("gone")), post)
    assert rejected["status"]["message"] == "0/3 nodes are available: gone. no"
    assert calls == ["Post"]


def test_a_broken_plugin_fails_the_decision() -> None:
    document = cycle(FULL, post_filtering("Post", lambda *_: "what"))
    assert document["status"]["code"] == "Error"
    assert "'Post' failed at PostFilter: returned str" in document["status"]["message"]


def test_what_is_told_of_the_nodes() -> None:
    statuses = {"a": Status.unschedulable("full"), "b": Status.unresolvable("wrong"), "c": NO}
    told: dict[str, Any] = {}

    def look(nodes: RejectedNodes, _: Pod) -> Status:
        told.update({name: nodes.status(name).code for name in ("a", "b", "c", "gone")})
        told["resolvable"] = [nodes.snapshot.nodes.names[row] for row in nodes.resolvable()]
        told["count"] = len(nodes.rows)
        return NO

    cycle(filtering("Some", statuses), post_filtering("Post", look))
    unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert told == {
        "a": Code.UNSCHEDULABLE,
        "b": unresolvable,
        "c": Code.UNSCHEDULABLE,
        "gone": unresolvable,
        "resolvable": ["a", "c"],
        "count": 3,
    }


class Notes:
    """The pods on each node, as PreFilter and the extensions count them."""

    def __init__(self, count: dict[str, int]) -> None:
        self.count = count

    def clone(self) -> Notes:
        return Notes(dict(self.count))


class Counting(PreFilterPlugin[None], FilterPlugin[None]):
    """Takes a node with fewer than two pods, by its own notes; rejects when these are wrong."""

    name = "Counting"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(self.name, Notes({info.name: len(info.pods) for info in nodes.infos()}))
        return SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        assert other in node.pods
        state.read(self.name, Notes).count[node.name] += 1
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        assert other not in node.pods
        state.read(self.name, Notes).count[node.name] -= 1
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        noted = state.read(self.name, Notes).count[node.name]
        if noted != len(node.pods):
            return Status.unresolvable(f"noted {noted}, there are {len(node.pods)}")
        return Status.unschedulable("crowded") if noted >= 2 else SUCCESS


def tried(
    objects: list[dict[str, Any]], steps: Callable[[RejectedNodes, Pod], object], *plugins: type[Plugin[Any]]
) -> dict[str, Any]:
    def look(nodes: RejectedNodes, pod: Pod) -> Status:
        steps(nodes, pod)
        return NO

    used = [*plugins, post_filtering("Post", look)]
    pod = pod_manifest("subject", spec={"priority": 5})
    return explain(objects, pod, profile(used), plugins=used)


CROWD = [
    node_manifest("a"),
    node_manifest("b"),
    *(pod_manifest(f"{node}{i}", node=node) for node in "ab" for i in range(2)),
]


def test_pods_go_and_come_back() -> None:
    seen: list[str] = []

    def steps(nodes: RejectedNodes, _: Pod) -> None:
        first, second = nodes.snapshot.pods.on_row(nodes.snapshot.nodes.index["a"])
        for _repeat in range(2):
            with nodes.what_if(["a"]) as node:
                seen.append(node.statuses(["a"])[0].message)
                node.remove("a", first)
                seen.append(node.statuses(["a"])[0].message)
                node.remove("a", second)
                node.add("a", first)
                seen.append(node.statuses(["a"])[0].message)
                node.add("a", second)
                seen.append(node.statuses(["a"])[0].message)
                node.remove("a", first)
        with nodes.what_if(["b"]) as other:
            seen.append(other.statuses(["b"])[0].message)

    document = tried(CROWD, steps, Counting)
    assert seen == ["crowded", "", "", "crowded"] * 2 + ["crowded"]
    assert document["status"]["message"] == "0/2 nodes are available: 2 crowded. no"


def nominated(name: str, node: str, priority: int) -> dict[str, Any]:
    return pod_manifest(name, spec={"priority": priority}, status={"nominatedNodeName": node})


@pytest.mark.parametrize(
    ("priority", "room"), [pytest.param(5, False, id="as important"), pytest.param(4, True, id="less")]
)
def test_nominated_pods_count_in_what_ifs(priority: int, room: bool) -> None:
    seen: list[bool] = []

    def steps(nodes: RejectedNodes, _: Pod) -> None:
        first, second = nodes.snapshot.pods.on_row(nodes.snapshot.nodes.index["a"])
        with nodes.what_if(["a"]) as node:
            node.remove("a", first)
            seen.append(node.statuses(["a"])[0].ok)
            node.remove("a", second)
            seen.append(node.statuses(["a"])[0].ok)

    tried([*CROWD, nominated("waiting", "a", priority)], steps, Counting)
    assert seen == [room, True]


class OnePerCluster(PreFilterPlugin[None], FilterPlugin[None]):
    """Takes any node while no more than one pod is placed anywhere."""

    name = "OnePerCluster"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        state.write(self.name, Notes({"": sum(len(info.pods) for info in nodes.infos())}))
        return SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        state.read(self.name, Notes).count[""] += 1
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS if state.read(self.name, Notes).count[""] <= 1 else NO


class TwoPerNode(FilterPlugin[None], CacheablePlugin):
    """Takes a node with fewer than two pods; can't stand one pod."""

    name = "TwoPerNode"

    def dependencies(self, pod: Pod) -> Dependencies:
        return Dependencies(parts=Part.PODS)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if any(other.metadata.name == "unbearable" for other in node.pods):
            raise ValueError("unbearable")
        return Status.unschedulable("crowded") if len(node.pods) >= 2 else SUCCESS


def test_nodes_that_do_not_matter_to_each_other_are_tried_together() -> None:
    seen: list[list[str]] = []

    def steps(nodes: RejectedNodes, _: Pod) -> None:
        first, second = nodes.snapshot.pods.on_row(nodes.snapshot.nodes.index["a"])
        assert nodes.independent
        with nodes.what_if(["a", "b"]) as trial:
            trial.remove("a", first)
            seen.append([status.message for status in trial.statuses(["b", "a"])])
            trial.remove("a", second)
            trial.add("b", replace(first, metadata=replace(first.metadata, name="unbearable", uid="u")))
            seen.append([status.message.rpartition(": ")[2] for status in trial.statuses(["a", "b"])])

    tried(CROWD, steps, TwoPerNode)
    assert seen == [["crowded", ""], ["", "unbearable"]]


@pytest.mark.parametrize("plugin", [Counting, FULL], ids=["add_pod and remove_pod", "of the whole cluster"])
def test_other_nodes_are_tried_one_at_a_time(plugin: type[Plugin[Any]]) -> None:
    def steps(nodes: RejectedNodes, _: Pod) -> None:
        assert not nodes.independent
        with pytest.raises(ValueError, match="2 nodes tried at once"):
            nodes.what_if(["a", "b"])

    tried(CROWD, steps, plugin)


def test_a_nominated_pod_counts_on_its_own_node_only() -> None:
    """Two pods that wait for two nodes are never both placed while one of the nodes is searched."""
    objects = [node_manifest("a"), node_manifest("b"), nominated("x", "a", 9), nominated("y", "b", 9)]
    used = [OnePerCluster]
    document = explain(objects, pod_manifest("subject"), profile(used), plugins=used)
    assert document["feasible"] == 2


def test_an_extension_that_rejects_fails_the_decision() -> None:
    class Rejecting(Counting):
        def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
            return Status.unschedulable("lost count")

    def steps(nodes: RejectedNodes, _: Pod) -> None:
        (first, _second) = nodes.snapshot.pods.on_row(nodes.snapshot.nodes.index["a"])
        with nodes.what_if(["a"]) as node:
            node.remove("a", first)

    document = tried(CROWD, steps, Rejecting)
    assert document["status"]["code"] == "Error"
    assert "pod default/a0: returned lost count" in document["status"]["message"]
