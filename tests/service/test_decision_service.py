"""DecisionService: past decisions over the wire."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from mooring.app.options import DecisionOptions
from mooring.decisions import asking
from mooring.decisions.listed_pod import ListedPod
from mooring.framework import Pod
from mooring.framework.objects import ObjectMeta, OwnerReference
from mooring.service.decisions import MOST_WAITING
from mooring.serving.access.access import CurrentCall, for_call
from mooring.serving.access.clients import Client
from mooring.sessions.change import time_limit
from mooring.testing import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as pb
from mooring_client.v1 import findings_pb2, nodes_pb2
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from tests.process import until
from tests.service.backends import Stubs, World, direct, rejected, sent, served, world

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10"}
NODES = [make_node(name, allocatable=ROOM) for name in ("n1", "n2")]
TAINT = {"key": "team", "value": "db", "effect": "NoSchedule"}
STRANGE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
"""A name that a terminal or a browser must not take for more than a name."""


@contextmanager
def asked(**options: Any) -> Iterator[tuple[World, Stubs]]:
    with world(*NODES, **options) as w, direct(w.backend) as stubs:
        yield w, stubs


def pod(name: str, cpu: str = "1", **fields: Any) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, metadata={"uid": f"u-{name}"}, **fields)


def using_claim(name: str) -> Pod:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    return pod(f"with-{name}", spec={"volumes": volumes})


def schedule(stubs: Stubs, *pods: Pod, **fields: Any) -> None:
    templates = [scheduling_pb.PodTemplate(pod=sent(each)) for each in pods]
    stubs.scheduling.Schedule(scheduling_pb.ScheduleRequest(templates=templates, **fields))


def listed(stubs: Stubs, **fields: Any) -> list[pb.Decision]:
    found = stubs.decisions.ListDecisions(pb.ListDecisionsRequest(**fields)).decisions
    return list(found)


def test_each_way_to_decide_is_noted() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("dry"))
        schedule(stubs, pod("kept"), commit_mode=scheduling_pb.COMMIT_MODE_RESERVE)
        schedule(stubs, pod("big", "64"))
        stubs.scheduling.Filter(scheduling_pb.FilterRequest(pod=sent(pod("asked"))))
        stubs.scheduling.Score(scheduling_pb.ScoreRequest(pod=sent(pod("asked"))))
        stubs.scheduling.Preempt(scheduling_pb.PreemptRequest(pod=sent(pod("big", "64"))))
        stubs.scheduling.Reserve(scheduling_pb.ReserveRequest(pod=sent(pod("there")), node="n2"))
        found = listed(stubs)
    assert [(each.pod.name, each.kind, each.result, each.node) for each in found] == [
        ("dry", pb.DECISION_KIND_DRY_RUN, pb.DECISION_RESULT_SCHEDULED, found[0].node),
        ("kept", pb.DECISION_KIND_SCHEDULE, pb.DECISION_RESULT_SCHEDULED, found[1].node),
        ("big", pb.DECISION_KIND_DRY_RUN, pb.DECISION_RESULT_UNSCHEDULABLE, ""),
        ("asked", pb.DECISION_KIND_FILTER, pb.DECISION_RESULT_SCHEDULED, ""),
        ("asked", pb.DECISION_KIND_SCORE, pb.DECISION_RESULT_SCHEDULED, ""),
        ("big", pb.DECISION_KIND_PREEMPT, pb.DECISION_RESULT_UNSCHEDULABLE, ""),
        ("there", pb.DECISION_KIND_BIND, pb.DECISION_RESULT_SCHEDULED, "n2"),
    ]
    assert [each.seq for each in found] == list(range(1, 8))
    assert all(found[at].node for at in (0, 1))
    big = found[2]
    assert big.verdict.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert list(big.rejecting_plugins) == ["NodeResourcesFit"]
    assert (big.dominant.plugin, big.dominant.reason, big.dominant.node_count) == (
        "NodeResourcesFit",
        "Insufficient cpu",
        2,
    )


def test_what_is_asked_about_a_session_is_not_noted() -> None:
    from mooring_client.v1 import simulation_service_pb2 as simulation_pb

    with asked() as (_, stubs):
        opened = stubs.simulation.OpenSession(simulation_pb.OpenSessionRequest())
        schedule(stubs, pod("a"), session=opened.session.id)
        assert listed(stubs) == []


def test_a_decision_is_explained_as_it_was_also_when_the_cluster_is_another_one() -> None:
    with asked() as (w, stubs):
        schedule(stubs, pod("a"))
        [before] = listed(stubs)
        w.put(make_node("other", allocatable=ROOM))
        answer = stubs.decisions.ExplainAt(pb.ExplainAtRequest(seq=1))
    assert (answer.agrees, list(answer.differences)) == (True, [])
    names = list(answer.explanation.nodes.names.names)
    assert sorted(names) == ["n1", "n2"]
    assert names[answer.explanation.selected_position] == before.node
    assert answer.explanation.provenance == before.provenance


def test_the_explanation_of_a_rejection_is_kept() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("big", "64"))
        until(lambda: listed(stubs)[0].explained)
        kept = stubs.decisions.GetDecision(pb.GetDecisionRequest(seq=1))
        again = stubs.decisions.ExplainAt(pb.ExplainAtRequest(seq=1))
    assert kept.explanation == again.explanation
    assert kept.decision.explained


@pytest.mark.parametrize(
    ("names", "repeated"),
    [
        pytest.param(["n1", "n2"], True, id="all nodes by name"),
        pytest.param(["n2", "n1", "gone"], True, id="and one that is not known"),
        pytest.param(["n1"], False, id="some"),
        pytest.param(["n1", "gone"], False, id="as many as there are"),
    ],
)
def test_an_extenders_question_about_all_nodes_explains_itself(names: list[str], repeated: bool) -> None:
    with asked() as (_, stubs):
        nodes = nodes_pb2.NodeSelection(names=nodes_pb2.NodeNames(names=names))
        stubs.scheduling.Filter(scheduling_pb.FilterRequest(pod=sent(pod("a")), nodes=nodes))
        explain = pb.ExplainAtRequest(seq=1)
        if repeated:
            assert stubs.decisions.ExplainAt(explain).agrees
            return
        end = rejected(lambda: stubs.decisions.ExplainAt(explain))
    assert "it answered a question about some nodes, as an extender's are" in end.text


def test_two_decisions_are_compared_node_by_node() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("a"))
        schedule(stubs, pod("a", "2"))
        schedule(stubs, pod("a", "64"))
        compare = stubs.decisions.CompareDecisions
        scores = compare(pb.CompareDecisionsRequest(first_seq=1, second_seq=2, limit=1))
        verdicts = compare(pb.CompareDecisionsRequest(first_seq=1, second_seq=3))
    assert "total" in scores.fields
    assert (scores.node_count, len(scores.nodes)) == (2, 1)
    assert scores.nodes[0].node in (scores.first.node, scores.second.node)
    assert {each.plugin for each in scores.nodes[0].scores} >= {"NodeResourcesFit"}
    assert all(list(node.second_verdict.reasons) == ["Insufficient cpu"] for node in verdicts.nodes)
    assert not verdicts.nodes[0].HasField("second_total")
    assert [list(each.inputs) for each in verdicts.moved_by] == [["pod"]]


def test_what_moved_the_outcome_is_named() -> None:
    with asked() as (w, stubs):
        schedule(stubs, pod("a", "3"))
        first = listed(stubs)[0].node
        second = "n1" if first == "n2" else "n2"
        w.put(*NODES, make_pod("x", node=first, requests={"cpu": "2"}), make_pod("y", node=second))
        schedule(stubs, pod("a", "3"))
        compared = stubs.decisions.CompareDecisions(pb.CompareDecisionsRequest(first_seq=1, second_seq=2))
    assert compared.first.node != compared.second.node
    assert [list(each.inputs) for each in compared.moved_by] == [["Pod default/x"]]


def test_the_life_of_a_pod_is_told_from_its_decisions_and_the_queue() -> None:
    wakes = {"NodeResourcesFit": ["Node/Add"]}
    waiting = ListedPod(pod("a", "64"), "unschedulable", 1, 1.0, 4e9, wakes=wakes, swept=4e9 + 300)
    with asked(queue=lambda: [waiting]) as (w, stubs):
        schedule(stubs, pod("a", "64"))
        w.put(*NODES, make_node("n3", allocatable=ROOM))
        found = stubs.decisions.GetPodHistory(pb.GetPodHistoryRequest(namespace="default", name="a"))
        nobody = stubs.decisions.GetPodHistory(pb.GetPodHistoryRequest(namespace="default", name="z"))
        end = rejected(lambda: stubs.decisions.GetPodHistory(pb.GetPodHistoryRequest()))
    told = [(pb.PodMomentKind.Name(each.kind)[16:], each.seq) for each in found.moments]
    assert told == [("REJECTED", 1), ("WAITS", 0)]
    assert found.moments[0].text.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert found.moments[1].text.startswith("for Node/Add (NodeResourcesFit), or the sweep at ")
    assert (list(found.since), list(nobody.moments)) == (["1 nodes added"], [])
    assert end.code is grpc.StatusCode.INVALID_ARGUMENT


def test_the_last_hour_is_told_in_spans() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("kept"), commit_mode=scheduling_pb.COMMIT_MODE_RESERVE)
        schedule(stubs, pod("big", "64"), commit_mode=scheduling_pb.COMMIT_MODE_RESERVE)
        # Dry runs place nothing; one that finds no node says why its pod is pending.
        schedule(stubs, pod("dry"))
        schedule(stubs, pod("large", "99"))
        line = stubs.decisions.GetTimeLine(pb.GetTimeLineRequest(span_count=4))
        elsewhere = stubs.decisions.GetTimeLine(pb.GetTimeLineRequest(namespace="other", span_count=1))
        end = rejected(
            lambda: stubs.decisions.GetTimeLine(pb.GetTimeLineRequest(window=Duration(seconds=-1)))
        )
    last = line.spans[-1]
    assert [each.decision_count for each in line.spans] == [0, 0, 0, 2]
    assert (last.placed_count, last.pending_count, elsewhere.spans[0].decision_count) == (1, 2, 0)
    assert [(each.plugin, each.reason, each.pod_count) for each in last.causes] == [
        ("NodeResourcesFit", "Insufficient cpu", 2)
    ]
    assert last.HasField("duration_p99")
    assert end.code is grpc.StatusCode.INVALID_ARGUMENT


def test_groups_of_reasons_come_with_advice() -> None:
    tainted = make_node("n3", allocatable={**ROOM, "cpu": "99"}, spec={"taints": [TAINT]})
    with asked() as (w, stubs):
        w.put(tainted, pod("big", "64"))
        schedule(stubs, pod("big", "64"))
        ask = pb.SummarizeReasonsRequest(ask_now=True)
        [plain] = stubs.decisions.SummarizeReasons(ask).groups
        ask.advise = True
        [advised] = stubs.decisions.SummarizeReasons(ask).groups
    assert not plain.HasField("advice")
    assert (advised.advice.text, advised.advice.node_count) == ("tolerate team=db:NoSchedule (n3)", 1)


def test_groups_of_reasons_say_if_there_was_no_time_for_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "FACTOR", 0.0)
    with asked() as (w, stubs):
        w.put(pod("big", "64"))
        schedule(stubs, pod("big", "64"))
        request = pb.SummarizeReasonsRequest(ask_now=True, advise=True)
        [group] = stubs.decisions.SummarizeReasons(request).groups
    assert (group.HasField("advice"), group.advice_partial) == (False, True)


def test_pods_without_a_node_are_grouped_by_owner_and_reason() -> None:
    owner = OwnerReference("apps/v1", "ReplicaSet", "web", "r", controller=True)
    pods = [
        Pod(ObjectMeta(f"web-{at}", "default", f"w{at}", owner_references=(owner,)), pod("x", "64").spec)
        for at in range(3)
    ]
    with asked() as (_, stubs):
        for each in (*pods, pods[0], pod("alone", "32"), pod("fits")):
            schedule(stubs, each)
        answer = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest())
        elsewhere = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest(namespace="other"))
    assert [(each.controller_kind, each.controller_name, each.pod_count) for each in answer.groups] == [
        ("ReplicaSet", "web", 3),
        ("", "", 1),
    ]
    web = answer.groups[0]
    assert (web.reason.reason, web.reason.node_count, web.last_seq) == ("Insufficient cpu", 2, 4)
    assert web.trend[-1] == 3
    assert list(web.trend) == sorted(web.trend)
    assert (answer.group_count, answer.pod_count, answer.decision_count) == (2, 4, 6)
    assert not elsewhere.groups


@pytest.mark.parametrize(
    ("pods", "reason", "code"),
    [
        pytest.param(
            [using_claim(f"data-{at}") for at in range(5)],
            'persistentvolumeclaim "data-0, data-1, data-2 and 2 more" not found',
            findings_pb2.REASON_CODE_CLAIM_NOT_FOUND,
            id="each lacks another claim",
        ),
        pytest.param(
            [pod("a", "64"), make_pod("b", requests={"memory": "640Gi"})],
            "Insufficient cpu, memory",
            findings_pb2.REASON_CODE_INSUFFICIENT_RESOURCE,
            id="resources",
        ),
    ],
)
def test_pods_with_one_reason_code_are_one_group(
    pods: Sequence[Pod], reason: str, code: findings_pb2.ReasonCode.ValueType
) -> None:
    with asked() as (_, stubs):
        for each in reversed(pods):
            schedule(stubs, each, commit_mode=scheduling_pb.COMMIT_MODE_RESERVE)
        [group] = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest()).groups
        [span] = stubs.decisions.GetTimeLine(pb.GetTimeLineRequest(span_count=1)).spans
        newest = listed(stubs)[-1]
    [cause] = span.causes
    assert (group.reason.reason, group.reason.code, group.pod_count) == (reason, code, len(pods))
    assert (cause.code, cause.pod_count, newest.dominant.code) == (code, len(pods), code)


def test_pods_without_a_node_are_grouped_by_labels_of_those_that_are_there() -> None:
    there = pod("there", "64", labels={"app": "web"})
    with asked() as (w, stubs):
        nodes = [make_node(name, allocatable=ROOM) for name in ("n1", "n2")]
        w.put(*nodes, there, pod("db", "64", labels={"app": "db"}))
        for each in (there, pod("db", "64"), pod("elsewhere", "64", labels={"app": "web"})):
            schedule(stubs, each)
        answer = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest(label_selector="app=web"))
        request = pb.SummarizeReasonsRequest(label_selector="=")
        end = rejected(lambda: stubs.decisions.SummarizeReasons(request))
    assert [each.name for group in answer.groups for each in group.examples] == ["there"]
    assert end.code is grpc.StatusCode.INVALID_ARGUMENT


def test_pods_that_nobody_decided_about_are_asked_about_now() -> None:
    waiting = [pod("big", "64"), pod("fits"), pod("known", "64")]
    with asked() as (w, stubs):
        w.put(*(make_node(name, allocatable=ROOM) for name in ("n1", "n2")), *waiting)
        schedule(stubs, waiting[2])
        before = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest())
        answer = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest(ask_now=True))
        elsewhere = stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest(ask_now=True, namespace="o"))
        assert len(listed(stubs)) == 1, "what is only asked is remembered nowhere"
    assert (before.pod_count, before.asked_count, before.unexplained_count) == (1, 0, 2)
    assert (answer.pod_count, answer.asked_count, answer.unexplained_count) == (3, 2, 0)
    groups = [
        (each.reason.reason, each.reason.node_count, {one.name for one in each.examples}, each.last_seq)
        for each in answer.groups
    ]
    assert groups == [
        ("Insufficient cpu", 2, {"big", "known"}, 1),
        ("fits now: its scheduler has not placed it", 2, {"fits"}, 0),
    ]
    assert [each.result for each in answer.groups] == [
        pb.DECISION_RESULT_UNSCHEDULABLE,
        pb.DECISION_RESULT_SCHEDULED,
    ]
    assert (elsewhere.pod_count, elsewhere.unexplained_count) == (0, 0)


def test_pods_are_asked_about_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn has a time limit, and the next one continues if the cluster hasn't changed."""
    moments = iter([0.0, 0.0, 9.0, 9.0, 9.0, 9.0])
    monkeypatch.setattr(
        asking, "time", SimpleNamespace(time=lambda: 0.0, monotonic=lambda: next(moments, 0.0))
    )
    with asked() as (w, stubs):
        w.put(make_node("n1", allocatable=ROOM), *(pod(name, "64") for name in "abc"))
        request = pb.SummarizeReasonsRequest(ask_now=True)
        answers = [stubs.decisions.SummarizeReasons(request) for _ in range(2)]
    assert [(each.asked_count, each.unexplained_count) for each in answers] == [(1, 2), (3, 0)]


def test_close_decisions_are_asked_for_by_the_margin() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("tied"), pod("none", "64"))
        close = listed(stubs, filter=pb.DecisionFilter(max_margin=0))
    assert [each.pod.name for each in close] == ["tied"]


def test_a_pod_that_got_its_node_is_no_longer_among_them() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod("a", "64"))
        schedule(stubs, pod("a"))
        assert not stubs.decisions.SummarizeReasons(pb.SummarizeReasonsRequest()).groups


def test_a_caller_that_waits_gets_the_next_decision() -> None:
    with world(make_node("n1", allocatable=ROOM)) as w, served(w.backend) as stubs:
        asking = stubs.decisions.ListDecisions.future(
            pb.ListDecisionsRequest(after_seq=0, wait=Duration(seconds=20))
        )
        sleep(0.2)
        schedule(stubs, pod("a"))
        answer = asking.result()
    assert [each.pod.name for each in answer.decisions] == ["a"]
    assert answer.next_after_seq == 1


def test_those_who_wait_never_keep_others_from_an_answer() -> None:
    with world(make_node("n1", allocatable=ROOM)) as w, served(w.backend) as stubs:
        wait = pb.ListDecisionsRequest(after_seq=0, wait=Duration(seconds=20))
        tails = [stubs.decisions.ListDecisions.future(wait) for _ in range(MOST_WAITING + 4)]
        until(lambda: sum(tail.done() for tail in tails) == 4)
        schedule(stubs, pod("a"))
        answers = [tail.result() for tail in tails]
    assert sum(answer.wait_refused for answer in answers) == 4
    assert all(answer.decisions for answer in answers if not answer.wait_refused)


def test_a_caller_that_goes_away_gives_its_turn_to_wait_back() -> None:
    before = threading.active_count()
    with world(make_node("n1", allocatable=ROOM)) as w, served(w.backend) as stubs:
        wait = pb.ListDecisionsRequest(after_seq=0, wait=Duration(seconds=20))
        for tail in [stubs.decisions.ListDecisions.future(wait) for _ in range(MOST_WAITING)]:
            sleep(0.02)
            tail.cancel()
        short = pb.ListDecisionsRequest(after_seq=0, wait=Duration(nanos=10_000_000))
        until(lambda: not stubs.decisions.ListDecisions(short).wait_refused)
    assert threading.active_count() < before + MOST_WAITING + 100


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        pytest.param(pb.ListDecisionsRequest(limit=1_001), "limit", id="limit"),
        pytest.param(pb.ListDecisionsRequest(wait=Duration(seconds=1)), "wait", id="wait without a number"),
        pytest.param(
            pb.ListDecisionsRequest(after_seq=0, wait=Duration(seconds=21)), "wait", id="wait for long"
        ),
        pytest.param(
            pb.ListDecisionsRequest(after_seq=0, wait=Duration(seconds=-1)), "wait", id="wait for less"
        ),
        pytest.param(
            pb.ListDecisionsRequest(filter=pb.DecisionFilter.FromString(b"\x32\x01\x63")),
            "filter.kinds",
            id="kind",
        ),
        pytest.param(
            pb.ListDecisionsRequest(filter=pb.DecisionFilter.FromString(b"\x3a\x01\x63")),
            "filter.results",
            id="result",
        ),
    ],
)
def test_a_malformed_question_names_its_field(request_: pb.ListDecisionsRequest, path: str) -> None:
    with asked() as (_, stubs):
        end = rejected(lambda: stubs.decisions.ListDecisions(request_))
    assert end.code is grpc.StatusCode.INVALID_ARGUMENT
    assert path in end.text


@pytest.mark.parametrize(
    ("options", "seq", "code", "reason"),
    [
        pytest.param(None, 9, "NOT_FOUND", "DECISION_NOT_FOUND", id="not made"),
        pytest.param(DecisionOptions(undo=0), 1, "UNIMPLEMENTED", "NOT_IMPLEMENTED", id="not made again"),
        pytest.param(DecisionOptions(journal=0), 1, "UNIMPLEMENTED", "NOT_IMPLEMENTED", id="no journal"),
        pytest.param(None, 2, "FAILED_PRECONDITION", "DECISION_NOT_REPEATABLE", id="about some of the nodes"),
    ],
)
def test_what_can_not_be_made_again_says_why(
    options: DecisionOptions | None, seq: int, code: str, reason: str
) -> None:
    with asked(remembering=options) as (_, stubs):
        schedule(stubs, pod("a"))
        schedule(stubs, pod("b"), nodes={"names": {"names": ["n1"]}})
        end = rejected(lambda: stubs.decisions.ExplainAt(pb.ExplainAtRequest(seq=seq)))
    assert (end.code.name, end.info.reason) == (code, reason)


def test_names_are_passed_on_as_they_are() -> None:
    with asked() as (_, stubs):
        schedule(stubs, pod(STRANGE))
        assert [each.pod.name for each in listed(stubs, filter={"pod": STRANGE})] == [STRANGE]


def test_the_queue_is_listed_by_place_up_to_a_limit() -> None:
    waiting = [
        ListedPod(pod("a"), "active", 0, 1.0, 1.0),
        ListedPod(pod("b"), "active", 1, 1.0, 2.0),
        ListedPod(pod("c"), "unschedulable", 2, 1.0, 3.0, wakes={"NodeResourcesFit": ["Node/Add"]}),
        ListedPod(pod("d", namespace="other"), "backoff", 3, 1.0, 4.0, ready=9.0),
    ]
    with asked(queue=lambda: waiting) as (_, stubs):
        schedule(stubs, pod("c"))
        everything = stubs.decisions.ListQueue(pb.ListQueueRequest(limit=1))
        other = stubs.decisions.ListQueue(pb.ListQueueRequest(namespace="other"))
    assert [each.pod.name for each in everything.pods] == ["a", "c", "d"]
    assert {pb.QueuePlace.Name(each.place)[12:]: each.pod_count for each in everything.counts} == {
        "ACTIVE": 2,
        "BACKOFF": 1,
        "UNSCHEDULABLE": 1,
        "GATED": 0,
        "IN_FLIGHT": 0,
    }
    assert [(wake.plugin, list(wake.events)) for wake in everything.pods[1].wakes] == [
        ("NodeResourcesFit", ["Node/Add"])
    ]
    assert everything.pods[1].last_seq == 1
    assert [(each.pod.name, each.ready_time.seconds) for each in other.pods] == [("d", 9)]


def test_a_process_without_a_queue_says_so() -> None:
    with asked(queue=None) as (_, stubs):
        end = rejected(lambda: stubs.decisions.ListQueue(pb.ListQueueRequest()))
    assert end.code is grpc.StatusCode.UNIMPLEMENTED


def test_a_client_that_does_not_keep_up_is_told_how_many_decisions_it_missed() -> None:
    """Ten thousand are made behind its back, by another client: none waits for it, and the oldest of that one
    are forgotten.
    """
    with asked(remembering=DecisionOptions(journal=1 << 20)) as (w, stubs):
        schedule(stubs, pod("a"))
        assert w.backend.decisions is not None
        journal = w.backend.decisions.journal
        first = journal.find(1)
        assert first is not None
        other = CurrentCall(Client(("cn:other",)))
        for _ in range(9_999):
            for_call(other, journal.add, first)
        answer = stubs.decisions.ListDecisions(pb.ListDecisionsRequest(after_seq=1, limit=5))
    oldest = answer.decisions[0].seq
    assert (answer.first_seq, answer.last_seq) == (1, 10_000)
    assert oldest > 8_000
    assert answer.missed_count == oldest - 2
    assert [each.seq for each in answer.decisions] == [oldest + at for at in range(5)]
    assert answer.dropped_count == 0
