"""SimulationService: sessions over gRPC, and the questions that are answered about them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.app.options import DecisionOptions
from mooring.config.documents import read_configuration
from mooring.sessions.sessions import Quota, Sessions
from mooring.testing.builders import make_node, make_pod, node_manifest, pod_manifest
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import nodes_pb2, objects_pb2
from mooring_client.v1 import scheduling_service_pb2 as schedule_pb
from mooring_client.v1 import simulation_service_pb2 as pb
from tests.runtime.test_group_cycle import GATES, group, member, node
from tests.service.backends import (
    WAYS,
    configuration,
    direct,
    profile,
    rejected,
    sent,
    statuses_code,
    world,
)

PLACE = schedule_pb.COMMIT_MODE_RESERVE


def owned(kind: str) -> dict[str, Any]:
    """Return the metadata of a pod that a controller of this kind made."""
    return {"ownerReferences": [{"kind": kind, "name": "owner", "uid": "owner", "controller": True}]}


OWNED, DAEMON = owned("ReplicaSet"), owned("DaemonSet")
SMALL: dict[str, Any] = {"cpu": "1", "memory": "1Gi", "pods": 10}
ROOM = (make_node("a", allocatable=SMALL), make_node("b", allocatable={**SMALL, "cpu": "2"}))


class Client:
    """One session, and calls about it."""

    def __init__(self, stubs: Any, **opened: Any) -> None:
        self.stubs = stubs
        self.simulation = stubs.simulation
        self.id = self.simulation.OpenSession(pb.OpenSessionRequest(**opened)).session.id

    def look(self) -> Any:
        return self.simulation.GetSession(pb.GetSessionRequest(session=self.id)).session

    def put(self, *manifests: dict[str, Any]) -> Any:
        objects = [objects_pb2.KubernetesObject(json=json.dumps(each).encode()) for each in manifests]
        return self.change(pb.SessionChange(put=cluster_pb.PutObjects(objects=objects)))

    def remove(self, kind: str, name: str, namespace: str = "") -> Any:
        removal = cluster_pb.RemoveObject(kind=kind, namespace=namespace, name=name)
        return self.change(pb.SessionChange(remove=removal))

    def change(self, *changes: pb.SessionChange) -> Any:
        return self.simulation.ChangeSession(pb.ChangeSessionRequest(session=self.id, changes=changes))

    def place(self, *pods: Any, mode: Any = PLACE) -> dict[str, str]:
        """Return the node of each pod."""
        templates = [schedule_pb.PodTemplate(pod=sent(pod)) for pod in pods]
        request = schedule_pb.ScheduleRequest(session=self.id, templates=templates, commit_mode=mode)
        answer = self.stubs.scheduling.Schedule(request)
        return dict(zip((pod.metadata.name for pod in pods), answer.nodes.names.names, strict=True))

    def mark(self) -> int:
        mark: int = self.simulation.MarkSession(pb.MarkSessionRequest(session=self.id)).mark
        return mark

    def revert(self, mark: int = 0) -> Any:
        return self.simulation.RevertSession(pb.RevertSessionRequest(session=self.id, mark=mark)).session

    def commit(self, mark: int) -> Any:
        return self.simulation.CommitSession(pb.CommitSessionRequest(session=self.id, mark=mark)).session


@contextmanager
def client(*objects: Any, **how: Any) -> Iterator[tuple[Client, Any]]:
    with world(*objects, **how) as w, direct(w.backend) as stubs:
        yield Client(stubs), w


def pod(name: str, cpu: str = "1", **fields: Any) -> Any:
    return make_pod(
        name, requests={"cpu": cpu}, metadata={"uid": name, **fields.pop("metadata", {})}, **fields
    )


@pytest.mark.parametrize("way", WAYS)
def test_pods_placed_in_a_session_count_there_and_nowhere_else(way: Callable[..., Any]) -> None:
    with world(*ROOM) as w, way(w.backend) as stubs:
        session = Client(stubs)
        before = stubs.cluster.GetClusterInfo(cluster_pb.GetClusterInfoRequest())
        assert sorted(session.place(pod("p"), pod("q"), pod("r")).values()) == ["a", "b", "b"]
        assert session.place(pod("s")) == {"s": ""}
        assert session.look().pod_count == 3
        after = stubs.cluster.GetClusterInfo(cluster_pb.GetClusterInfoRequest())
        assert after == before


def test_a_dry_run_in_a_session_changes_nothing_in_it() -> None:
    with client(*ROOM) as (session, _):
        for _ in range(2):
            placed = session.place(pod("p", "2"), mode=schedule_pb.COMMIT_MODE_DRY_RUN)
            assert placed == {"p": "b"}
        assert session.look().change_count == 0


def test_a_change_is_answered_with_how_many_nodes_and_pods_there_are_then() -> None:
    with client(*ROOM) as (session, _):
        nodes = session.look().node_count
        changed = session.put(node_manifest("new"), pod_manifest("p")).session
        assert (changed.node_count, changed.pod_count) == (nodes + 1, session.look().pod_count)
        assert session.remove("Node", "new").session.node_count == nodes


def test_what_happens_in_the_cluster_does_not_show_in_a_session() -> None:
    with client(*ROOM) as (session, w):
        w.put(make_node("c"))
        assert session.place(pod("p", "2")) == {"p": "b"}
        assert session.look().node_count == 2
        assert Client(session.stubs).look().node_count == 1


def test_objects_are_changed_and_questions_see_them() -> None:
    with client(*ROOM) as (session, _):
        session.remove("Node", "b")
        session.put(node_manifest("c", allocatable={**SMALL, "cpu": "4"}))
        question = schedule_pb.FilterRequest(
            session=session.id,
            pod=sent(pod("p", "2")),
            nodes=nodes_pb2.NodeSelection(all=nodes_pb2.AllNodes()),
        )
        answer = session.stubs.scheduling.Filter(question)
        assert answer.feasible_count == 1
        assert sorted(answer.nodes.names.names) == ["a", "c"]
        explained = session.stubs.scheduling.Explain(
            schedule_pb.ExplainRequest(session=session.id, pod=sent(pod("p", "2")))
        )
        assert explained.nodes.names.names[explained.selected_position] == "c"


def test_changes_of_one_call_take_effect_together_or_not_at_all() -> None:
    with client(*ROOM) as (session, _):
        gone = [
            pb.SessionChange(remove=cluster_pb.RemoveObject(kind="Node", name=name)) for name in ("a", "d")
        ]
        found = rejected(lambda: session.change(*gone))
        assert found.text == "changes[1].remove: there is no Node d"
        assert session.look().node_count == 2


def test_marks_nest_and_reverting_undoes_what_was_done_since() -> None:
    with client(*ROOM) as (session, _):
        session.place(pod("p"))
        outer = session.mark()
        session.remove("Node", "b")
        inner = session.mark()
        session.put(node_manifest("c"))
        assert (outer, inner) == (1, 2)
        session.revert(inner)
        assert (session.look().node_count, session.look().mark_count) == (1, 1)
        session.revert(outer)
        assert (session.look().node_count, session.look().pod_count) == (2, 1)
        session.revert()
        assert (session.look().pod_count, session.look().change_count) == (0, 0)


def test_a_session_is_opened_from_another_and_both_go_on_by_themselves() -> None:
    with client(*ROOM) as (first, _):
        first.place(pod("p", "2"))
        second = Client(first.stubs, from_session=first.id)
        assert second.place(pod("q", "2")) == {"q": ""}
        first.revert()
        assert first.place(pod("q", "2")) == {"q": "b"}
        assert second.look().pod_count == 1
        first.simulation.CloseSession(pb.CloseSessionRequest(session=first.id))
        assert second.look().pod_count == 1


def test_a_closed_session_is_unknown() -> None:
    with client(*ROOM) as (session, _):
        session.simulation.CloseSession(pb.CloseSessionRequest(session=session.id))
        assert rejected(lambda: session.place(pod("p"))).info.reason == "SESSION_NOT_FOUND"


@pytest.mark.parametrize(
    ("quota", "message"),
    [
        pytest.param(Quota(changes=1), "2 changes of at most 1", id="changes"),
        pytest.param(Quota(size=100), "bytes of at most 100", id="size"),
    ],
)
def test_what_exceeds_a_quota_changes_nothing(quota: Quota, message: str) -> None:
    with client(*ROOM, quota=quota) as (session, _):
        found = rejected(lambda: session.put(node_manifest("c"), node_manifest("d")))
        assert (found.code.name, found.info.reason) == ("FAILED_PRECONDITION", "SESSION_QUOTA")
        assert message in found.text
        assert session.look().node_count == 2


@pytest.mark.parametrize(
    ("quota", "open_"),
    [
        pytest.param(Quota(sessions=1), lambda session: Client(session.stubs), id="sessions"),
        pytest.param(
            Quota(depth=0), lambda session: Client(session.stubs, from_session=session.id), id="nested"
        ),
        pytest.param(Quota(depth=0), lambda session: session.mark(), id="marks"),
    ],
)
def test_there_are_so_many_and_no_more(quota: Quota, open_: Callable[[Client], object]) -> None:
    with client(*ROOM, quota=quota) as (session, _):
        assert rejected(lambda: open_(session)).info.reason == "SESSION_QUOTA"


def test_a_question_about_the_live_state_takes_no_session() -> None:
    with client(*ROOM, quota=Quota(sessions=1)) as (session, w):
        answer = session.simulation.PlanRemoval(pb.PlanRemovalRequest(nodes=["a"]))
        assert [node.node for node in answer.nodes] == ["a"]
        assert len(w.backend.sessions) == 1


def test_what_a_session_decides_by_is_read_in_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noting(text: str) -> Any:
        threads.append(threading.current_thread().name)
        return read_configuration(text)

    monkeypatch.setattr("mooring.app.sessions.read_configuration", noting)
    with client(*ROOM) as (session, _):
        Client(session.stubs, configuration=weighing("NodeResourcesFit"))
    assert [name.startswith("plugin-slot") for name in threads] == [True]


def test_capacity_says_how_many_more_there_is_room_for_and_what_ends_it() -> None:
    with client(*ROOM, make_pod("running", requests={"cpu": "500m"}, node="a")) as (session, w):
        request = pb.EstimateCapacityRequest(
            shapes=[sent(pod("p", "500m")), sent(pod("q", "5"))], include_nodes=True
        )
        answer = session.simulation.EstimateCapacity(request)
        small, large = answer.shapes
        assert small.count == 5
        assert {node.node: node.count for node in small.nodes} == {"a": 1, "b": 4}
        assert small.end.message == "0/2 nodes are available: 2 Insufficient cpu."
        assert (large.count, statuses_code(large.end)) == (0, "UNSCHEDULABLE")
        assert len(w.state.snapshot.pods) == 1


def test_capacity_ends_at_the_limit() -> None:
    with client(*ROOM) as (session, _):
        (shape,) = session.simulation.EstimateCapacity(
            pb.EstimateCapacityRequest(shapes=[sent(pod("p", "100m"))], limit=7)
        ).shapes
        assert (shape.count, shape.limited, statuses_code(shape.end)) == (7, True, "SUCCESS")


BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1},
}


@pytest.mark.parametrize(
    ("running", "removable", "reason"),
    [
        pytest.param({"metadata": OWNED}, True, "", id="moves"),
        pytest.param({"metadata": OWNED, "cpu": "2"}, False, "1 Insufficient cpu", id="no room"),
        pytest.param({}, False, "no controller", id="nobody makes it anew"),
        pytest.param(
            {"metadata": {**OWNED, "annotations": {"karpenter.sh/do-not-disrupt": "true"}}},
            False,
            "do-not-disrupt",
            id="must not be disrupted",
        ),
        pytest.param({"metadata": DAEMON}, True, "", id="ends with the node"),
    ],
)
def test_a_node_can_go_if_its_pods_find_others(running: Any, removable: bool, reason: str) -> None:
    with client(*ROOM, pod("p", running.pop("cpu", "500m"), node="b", **running)) as (session, w):
        (answer,) = session.simulation.PlanRemoval(pb.PlanRemovalRequest(nodes=["b"])).nodes
        assert answer.removable is removable
        message = answer.landings[-1].verdict.message if answer.landings else ""
        assert reason in message
        assert len(w.state.snapshot.nodes) == 2


def test_budgets_are_used_up_node_by_node_and_by_all_together() -> None:
    pods = [pod(name, "100m", node=name[0], labels={"app": "web"}, metadata=OWNED) for name in ("a1", "b1")]
    nodes = (*ROOM, make_node("c", allocatable=SMALL))
    with client(*nodes, *pods) as (session, _):
        session.put(BUDGET)
        ask = {"session": session.id, "nodes": ["a", "b"]}
        each = session.simulation.PlanRemoval(pb.PlanRemovalRequest(**ask)).nodes
        assert [one.removable for one in each] == [True, True]
        both = session.simulation.PlanRemoval(pb.PlanRemovalRequest(cumulative=True, **ask)).nodes
        assert [one.removable for one in both] == [True, False]
        assert both[1].landings[-1].verdict.message == "it would violate PodDisruptionBudget web"
        assert session.look().node_count == 3


@pytest.mark.parametrize(
    ("volume", "metadata", "lost"),
    [
        pytest.param({"emptyDir": {}}, OWNED, ["p"], id="a directory"),
        pytest.param(
            {"emptyDir": {"medium": "Memory"}}, OWNED, ["p"], id="in memory, which kubectl counts, too"
        ),
        pytest.param({"hostPath": {"path": "/var"}}, OWNED, [], id="the node's own directory stays"),
        pytest.param({"emptyDir": {}}, DAEMON, [], id="kubectl leaves a DaemonSet's pod in place"),
    ],
)
def test_pods_whose_local_data_a_drain_deletes(
    volume: dict[str, Any], metadata: dict[str, Any], lost: list[str]
) -> None:
    scratch = {"volumes": [{"name": "scratch", **volume}]}
    with client(*ROOM, pod("p", "100m", node="b", metadata=metadata, spec=scratch)) as (session, _):
        (answer,) = session.simulation.PlanRemoval(pb.PlanRemovalRequest(nodes=["b"])).nodes
        assert (answer.removable, [each.name for each in answer.local_data]) == (True, lost)


def test_nodes_that_go_one_after_the_other_leave_no_room_to_later_ones() -> None:
    pods = [pod(name, "1", node=name[0], metadata=OWNED) for name in ("a1", "b1")]
    nodes = (*ROOM, make_node("c", allocatable=SMALL))
    with client(*nodes, *pods) as (session, _):
        both = session.simulation.PlanRemoval(pb.PlanRemovalRequest(nodes=["a", "b"], cumulative=True)).nodes
        assert [one.removable for one in both] == [True, False]
        assert both[0].landings[0].node in ("b", "c")


@pytest.mark.parametrize(
    ("request_", "failed"),
    [
        pytest.param(pb.PlanRemovalRequest(nodes=["x"]), ("NOT_FOUND", "NODE_NOT_FOUND"), id="unknown node"),
        pytest.param(
            pb.PlanRemovalRequest(nodes=["a", "a"]), ("INVALID_ARGUMENT", "REQUEST_INVALID"), id="twice"
        ),
        pytest.param(pb.PlanRemovalRequest(session="x"), ("NOT_FOUND", "SESSION_NOT_FOUND"), id="no session"),
    ],
)
def test_a_wrong_question_is_rejected(request_: Any, failed: tuple[str, str]) -> None:
    with client(*ROOM) as (session, _):
        found = rejected(lambda: session.simulation.PlanRemoval(request_))
        assert (found.code.name, found.info.reason) == failed


def test_without_sessions_no_changes_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mooring.sessions.sessions._REAP_SECONDS", 0.01)
    with client(*ROOM, remembering=DecisionOptions(undo=0)) as (session, w):
        session.place(pod("p"))
        assert w.state._writer.journal is not None
        session.simulation.CloseSession(pb.CloseSessionRequest(session=session.id))
        sessions: Sessions = w.backend.sessions
        while sessions._reaping:
            pass
        assert w.state._writer.journal is None
        assert sessions.size == 0


def test_a_group_is_placed_in_a_session_as_a_whole_or_not_at_all() -> None:
    members = [member(f"m{at}") for at in range(3)]
    with client(group(3), *members, node("a", 2), node("b", 1), gates=GATES) as (session, w):
        asked = [schedule_pb.GroupToSchedule(namespace="default", name="g")]
        request = schedule_pb.ScheduleGroupsRequest(session=session.id, groups=asked, commit_mode=PLACE)
        mark = session.mark()
        (placed,) = session.stubs.scheduling.ScheduleGroups(request).groups
        assert sorted(pod.node for pod in placed.pods) == ["a", "a", "b"]
        assert session.look().change_count == 3
        session.revert(mark)
        session.remove("Node", "b")
        (rejected_group,) = session.stubs.scheduling.ScheduleGroups(request).groups
        assert statuses_code(rejected_group.verdict) == "UNSCHEDULABLE"
        assert session.look().change_count == 1
        assert not any(record.node_name for record in w.state.snapshot.pods.records.values())


def node_group(name: str, cpu: str, price: float = 1.0, **fields: Any) -> pb.NodeGroup:
    manifest = node_manifest("template", allocatable={**SMALL, "cpu": cpu}, **fields)
    return pb.NodeGroup(
        name=name, price=price, node=objects_pb2.KubernetesObject(json=json.dumps(manifest).encode())
    )


def test_which_nodes_would_help_and_how_many_of_them_the_cheapest_first() -> None:
    pods = [pod(f"p{at}", "600m") for at in range(6)]
    with client(*ROOM, *pods) as (session, w):
        groups = [
            node_group("small", "1", 1.0),
            node_group("large", "4", 2.5),
            node_group("tiny", "500m", 0.1),
            node_group("tainted", "4", 0.1, taints=[{"key": "k", "effect": "NoSchedule"}]),
        ]
        answer = session.simulation.PlanNodeGroups(pb.PlanNodeGroupsRequest(groups=groups))
        assert (answer.placed_count, len(answer.unplaced)) == (4, 2)
        found = [(one.group, one.node_count, one.price, len(one.left_over)) for one in answer.options]
        assert found == [
            ("small", 2, 2.0, 0),
            ("large", 1, 2.5, 0),
            ("tainted", 0, 0.0, 2),
            ("tiny", 0, 0.0, 2),
        ]
        assert "untolerated taint" in answer.options[2].left_over[0].verdict.message
        assert len(w.state.snapshot.nodes) == 2


def test_a_group_that_ends_leaves_some_pods_over() -> None:
    pods = [pod(f"p{at}", "1") for at in range(5)]
    group = node_group("small", "1")
    group.max_count = 3
    with client(*pods) as (session, _):
        (option,) = session.simulation.PlanNodeGroups(pb.PlanNodeGroupsRequest(groups=[group])).options
        assert (option.node_count, len(option.left_over)) == (3, 2)


def test_pods_that_must_be_apart_need_a_node_each() -> None:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    pods = [pod(f"p{at}", "100m", labels={"app": "web"}, spec=apart) for at in range(5)]
    with client(*ROOM, *pods) as (session, _):
        answer = session.simulation.PlanNodeGroups(
            pb.PlanNodeGroupsRequest(groups=[node_group("large", "8")])
        )
        assert (answer.placed_count, answer.options[0].node_count) == (2, 3)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        pytest.param([], "groups: is empty", id="none"),
        pytest.param([node_group("a", "1"), node_group("a", "1")], "more than once", id="twice"),
        pytest.param([node_group("a", "1", price=-1)], "is not a price", id="price"),
        pytest.param([pb.NodeGroup(name="a")], "groups[0].node", id="no node"),
    ],
)
def test_wrong_node_groups_are_rejected(groups: list[Any], message: str) -> None:
    with client(*ROOM) as (session, _):
        failed = rejected(lambda: session.simulation.PlanNodeGroups(pb.PlanNodeGroupsRequest(groups=groups)))
        assert failed.code.name == "INVALID_ARGUMENT"
        assert message in failed.text


@pytest.mark.parametrize("way", WAYS)
def test_what_would_make_a_pod_fit_is_told_and_nothing_is_changed(way: Callable[..., Any]) -> None:
    taken = make_pod("x", node="b", requests={"cpu": "1500m"}, metadata={"uid": "x", **OWNED})
    with world(*ROOM, taken) as w, way(w.backend) as stubs:
        session = Client(stubs)
        asked = pb.SuggestChangesRequest(session=session.id, pod=sent(pod("p", "1500m")))
        found = session.simulation.SuggestChanges(asked)
        (more,), (less,) = (option.steps for option in found.options)
        assert (found.options[0].node, found.options[1].node) == ("b-1", "a")
        assert less.request == pb.LoweredRequest(resource="cpu", before=1500, after=1000)
        assert more.node == pb.AddedNode(node="b-1", like="b")
        assert found.verdict.message == (
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
        )
        assert session.look().change_count == 0


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"kinds": [1, 9]}, "kinds[1]: 9 is not a kind of change", id="kind"),
        pytest.param({"nodes": ["a", "z"]}, "node 'z' is not known", id="node"),
    ],
)
def test_changes_of_what_is_not_there_are_rejected(fields: dict[str, Any], text: str) -> None:
    with client(*ROOM) as (session, _):
        request = pb.SuggestChangesRequest(session=session.id, pod=sent(pod("p")), **fields)
        assert text in rejected(lambda: session.simulation.SuggestChanges(request)).text


G = schedule_pb.GroupToSchedule(namespace="default", name="g")


@pytest.mark.parametrize("way", WAYS)
def test_what_would_make_a_group_fit_is_told_with_where_its_pods_go(way: Callable[..., Any]) -> None:
    members = [member(f"m{at}", metadata={"uid": f"m{at}"}) for at in range(3)]
    with world(group(3), *members, node("a", 2), gates=GATES, version="1.37") as w, way(w.backend) as stubs:
        session = Client(stubs)
        found = session.simulation.SuggestChanges(pb.SuggestChangesRequest(session=session.id, group=G))
        more, less = found.options
        (step,) = less.steps
        assert step.request == pb.LoweredRequest(resource="cpu", before=1000, after=666)
        assert [(each.pod.name, each.node) for each in less.landings] == [
            ("m0", "a"),
            ("m1", "a"),
            ("m2", "a"),
        ]
        assert {each.node for each in more.landings} == {"a", "a-1"}
        assert found.verdict.message.endswith("victims found for incoming preemptor")
        assert session.look().change_count == 0


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        pytest.param({}, "INVALID_ARGUMENT", "pod: give either a pod or a group", id="neither"),
        pytest.param(
            {"group": G, "pod": sent(pod("p"))}, "INVALID_ARGUMENT", "group: give either", id="both"
        ),
        pytest.param({"group": G, "nodes": ["a"]}, "UNIMPLEMENTED", "nodes: changes for a group", id="nodes"),
        pytest.param(
            {"group": G, "kinds": [1, 4]}, "UNIMPLEMENTED", "CHANGE_KIND_MOVE is not offered", id="moves"
        ),
        pytest.param(
            {"group": {"name": "g"}}, "INVALID_ARGUMENT", "group.namespace: is missing", id="no namespace"
        ),
        pytest.param(
            {"group": {"namespace": "default", "name": "h"}},
            "NOT_FOUND",
            "PodGroup default/h is not known",
            id="h",
        ),
    ],
)
def test_what_is_not_offered_for_groups_is_refused_by_name(
    fields: dict[str, Any], code: str, text: str
) -> None:
    with client(group(1), node("a", 2), gates=GATES, version="1.37") as (session, _):
        request = pb.SuggestChangesRequest(session=session.id, **fields)
        failed = rejected(lambda: session.simulation.SuggestChanges(request))
        assert failed.code.name == code
        assert text in failed.text


def test_groups_have_to_be_decided_as_a_whole() -> None:
    code, text = "FAILED_PRECONDITION", "GenericWorkload"
    with client(group(1), member("m"), node("a", 2), gates={}, version="1.37") as (session, _):
        failed = rejected(
            lambda: session.simulation.SuggestChanges(pb.SuggestChangesRequest(session=session.id, group=G))
        )
        assert failed.code.name == code
        assert text in failed.text


def weighing(plugin: str, **args: Any) -> str:
    """Return a configuration that scores by this plugin alone, with these arguments if there are any."""
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": plugin, "weight": 7}]}
    profile: dict[str, Any] = {"schedulerName": "default-scheduler", "plugins": {"score": score}}
    if args:
        profile["pluginConfig"] = [{"name": plugin, "args": args}]
    return json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
    )


def explained(session: Client, seed: int = 0) -> Any:
    asked = schedule_pb.ExplainRequest(session=session.id, pod=sent(pod("p")), seed=seed, always_score=True)
    return session.stubs.scheduling.Explain(asked)


def test_a_session_decides_by_its_own_configuration_and_shares_the_tables() -> None:
    with client(*ROOM) as (session, _):
        own = Client(session.stubs, configuration=weighing("ImageLocality"))
        assert [score.plugin for score in explained(own).plugins] == ["ImageLocality"]
        assert len(explained(session).plugins) > 1
        own.place(pod("q"))
        forked = Client(session.stubs, from_session=own.id)
        assert [score.plugin for score in explained(forked).plugins] == ["ImageLocality"]
        assert forked.look().pod_count == 1
        again = Client(session.stubs, from_session=own.id, configuration=weighing("NodeAffinity"))
        assert again.look().pod_count == 1


def test_a_session_gives_arguments_to_plugins_of_kube_scheduler() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    with client(*ROOM) as (session, _):
        own = Client(session.stubs, configuration=weighing("NodeResourcesFit", scoringStrategy=strategy))
        assert [score.plugin for score in explained(own).plugins] == ["NodeResourcesFit"]


def test_a_session_follows_its_own_release() -> None:
    with client(*ROOM) as (session, _):
        opened = session.simulation.OpenSession(pb.OpenSessionRequest(kube_version="1.36"))
        assert list(opened.warnings) == ["pods that are being resized count as in the server's own release"]
        gated = Client(session.stubs, kube_version="1.36", feature_gates={"StorageCapacityScoring": True})
        assert explained(gated).selected_position in (0, 1)


def test_the_seed_of_a_session_is_that_of_calls_without_one() -> None:
    twins = [make_node(name, allocatable=SMALL) for name in "abcdefgh"]
    with client(*twins) as (session, _):
        seeded = {seed: Client(session.stubs, seed=seed) for seed in range(1, 9)}
        chosen = {seed: explained(own).selected_position for seed, own in seeded.items()}
        assert chosen == {seed: explained(session, seed).selected_position for seed in seeded}
        assert len(set(chosen.values())) > 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"kube_version": "1.12"}, "kube_version: mooring does not follow", id="release"),
        pytest.param({"configuration": weighing("Nobody")}, "Nobody", id="plugin"),
        pytest.param({"configuration": "profiles: [1"}, "configuration", id="text"),
        pytest.param(
            {"configuration": "#" * 65_537}, "configuration: has more than 65536 bytes", id="too long"
        ),
        pytest.param(
            {"feature_gates": {f"Gate{at:061}": True for at in range(1_009)}},
            "feature_gates: has more than 65536 bytes",
            id="too many gates",
        ),
        pytest.param(
            {"configuration": json.dumps(configuration(*[profile(name=f"s{at}") for at in range(18)]))},
            "configuration: profiles: has 18 entries; here it may have 17",
            id="too many profiles",
        ),
        pytest.param(
            {"configuration": weighing("NetworkTraffic", bandwidthFile="/etc/passwd")},
            "profiles[0].pluginConfig: a session can't give arguments to NetworkTraffic",
            id="a file of the server's",
        ),
    ],
)
def test_a_session_of_what_is_not_there_is_not_opened(fields: dict[str, Any], text: str) -> None:
    with client(*ROOM) as (session, w):
        found = rejected(lambda: session.simulation.OpenSession(pb.OpenSessionRequest(**fields)))
        assert text in found.text
        assert found.code.name == "INVALID_ARGUMENT"
        assert len(w.backend.sessions) == 1


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda session: session.mark(), id="mark"),
        pytest.param(lambda session: session.revert(1), id="revert"),
        pytest.param(lambda session: session.commit(1), id="commit"),
        pytest.param(lambda session: session.look(), id="look"),
        pytest.param(lambda session: session.place(pod("p")), id="place"),
    ],
)
def test_calls_about_a_session_run_where_they_give_way(
    ask: Callable[[Client], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    with client(*ROOM) as (session, w):
        session.mark()
        run = w.backend.session_slots.run

        def note(*arguments: Any) -> object:
            ran.append(arguments)
            return run(*arguments)

        monkeypatch.setattr(w.backend.session_slots, "run", note)
        ask(session)
    assert len(ran) == 1
