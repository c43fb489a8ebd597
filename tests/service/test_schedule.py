"""Schedule: batches as columns, dry runs, ties and forms."""

import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from mooring.framework import Pod
from mooring.service.backend import Limits
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import nodes_pb2 as nodes_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodSource
from tests.service.backends import (
    WAYS,
    as_json,
    configuration,
    direct,
    named,
    profile,
    rejected,
    sent,
    statuses_code,
    world,
)
from tests.service.fakes import gate, scoring
from tests.service.harness import LONG, giving_up_after
from tests.service.test_filter import assumed, formed, indices, inline, joined, names

NODES = (make_node("a"), make_node("b"))
PREFER_A = scoring("PreferA", lambda name: 100 if name == "a" else 0)
HALF = make_pod("half", requests={"cpu": "2"})
FULL = make_pod("full", requests={"cpu": "4"})
TRIO = ["p0", "p1", "p2"]
BIND = pb.COMMIT_MODE_BIND
SECOND = make_pod("other", spec={"schedulerName": "two"})


def batch(*pods: PodSource | Pod, **fields: Any) -> pb.ScheduleRequest:
    templates = [pb.PodTemplate(pod=sent(pod) if isinstance(pod, Pod) else pod) for pod in pods]
    return pb.ScheduleRequest(templates=templates, **fields)


def columns(count: int, *, template: int = 0, uids: list[str] | None = None, **more: Any) -> pb.PodColumns:
    chosen = [f"p{number}" for number in range(count)] if uids is None else uids
    return pb.PodColumns(template_indices=[template] * count, uids=chosen, **more)


def chosen(answer: pb.ScheduleResponse) -> list[str]:
    return list(answer.nodes.names.names)


def verdicts(answer: pb.ScheduleResponse) -> list[str]:
    return [statuses_code(answer.verdicts[number]) for number in answer.pod_verdicts]


@pytest.mark.parametrize("way", WAYS)
def test_each_pod_sees_the_earlier_ones_in_a_dry_run_too(way: Callable[..., Any]) -> None:
    with world(*NODES) as w, way(w.backend) as stubs:
        version = w.state.version
        answer = stubs.scheduling.Schedule(batch(FULL, pods=columns(3)))
        assert w.state.version == version
    assert sorted(chosen(answer)) == ["", "a", "b"]
    assert verdicts(answer) == ["SUCCESS", "SUCCESS", "UNSCHEDULABLE"]
    assert answer.provenance.state_version == version
    assert list(answer.tie_counts) == [2, 1, 0]
    assert list(answer.evaluated_counts) == [2, 2, 2]
    assert list(answer.feasible_counts) == [2, 1, 0]
    assert (answer.totals[0] > 0, answer.totals[1], answer.totals[2]) == (True, 0, 0)
    assert answer.verdicts[0].code == 1
    assert answer.verdicts[answer.pod_verdicts[2]].message == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    assert not answer.outcomes
    assert not answer.ties


def test_the_same_seed_gives_the_same_node_and_seeds_differ() -> None:
    nodes = [make_node(f"n{number}") for number in range(8)]
    with world(*nodes, plugins=[scoring("Same", lambda _: 7)]) as w, direct(w.backend) as stubs:
        one, again = (stubs.scheduling.Schedule(batch(HALF, seed=4)) for _ in range(2))
        others = [stubs.scheduling.Schedule(batch(HALF, seed=seed)) for seed in range(20)]
    assert one == again
    assert list(one.tie_counts) == [8]
    assert len({chosen(other)[0] for other in others}) > 3


def test_ties_beyond_a_message_are_rejected_before_the_last_pod_is_decided() -> None:
    asked: list[str] = []

    def same(name: str) -> int:
        asked.append(name)
        return 1

    nodes = [make_node(f"node-{number}") for number in range(10)]
    limits = Limits(max_message_bytes=1_000)
    with world(*nodes, plugins=[scoring("Same", same)], limits=limits) as w, direct(w.backend) as stubs:
        few = batch(make_pod(), pods=columns(5), include_ties=True)
        assert len(stubs.scheduling.Schedule(few).ties) == 5
        asked.clear()
        many = batch(make_pod(), pods=columns(1_000), include_ties=True)
        failure = rejected(lambda: stubs.scheduling.Schedule(many))
    assert [field for field, _ in failure.violations] == ["include_ties"]
    assert len(asked) < 200


@pytest.mark.parametrize(
    "nodes", [pytest.param(nodes_pb.NodeSelection(), id="all"), pytest.param(joined(b"b\0a"), id="named")]
)
def test_ties_that_might_not_fit_are_rejected_before_anything_is_committed(
    nodes: nodes_pb.NodeSelection,
) -> None:
    limits = Limits(max_message_bytes=100)
    with world(*NODES, limits=limits) as w, direct(w.backend) as stubs:

        def reserve(count: int) -> Any:
            request = batch(make_pod(), pods=columns(count), nodes=nodes, include_ties=True)
            request.commit_mode = pb.COMMIT_MODE_RESERVE
            return stubs.scheduling.Schedule(request)

        version = w.state.version
        failure = rejected(lambda: reserve(50))
        assert w.state.version == version
        assert len(reserve(2).ties) == 2
    assert [field for field, _ in failure.violations] == ["include_ties"]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(nodes_pb.NodeSelection(), ["a", "b"], id="names"),
        pytest.param(formed(nodes_pb.NodeSelection(), nodes_pb.NODE_FORM_INDICES), [0, 1], id="indices"),
        pytest.param(joined(b"b\0a"), ["a", "b"], id="joined"),
    ],
)
def test_ties_in_the_callers_form(nodes: nodes_pb.NodeSelection, expected: list[Any]) -> None:
    plugins = [scoring("AB", lambda name: 5 if name in "ab" else 1)]
    with world(*NODES, make_node("c"), plugins=plugins) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(HALF, nodes=nodes, include_ties=True))
    kind = answer.nodes.WhichOneof("nodes")
    (tied,) = answer.ties
    assert tied.WhichOneof("nodes") == kind
    if kind == "joined_names":
        assert sorted(tied.joined_names.decode().split("\0")) == expected
        assert answer.nodes.joined_names.decode() in expected
    else:
        field = getattr(tied, kind)
        assert sorted(getattr(field, kind)) == expected
        assert getattr(getattr(answer.nodes, kind), kind)[0] in expected


def test_no_node_among_indices() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(
            batch(make_pod(requests={"cpu": "9"}), nodes=indices(1, epoch=1_002))
        )
    assert list(answer.nodes.indices.indices) == [2**32 - 1]
    assert answer.nodes.indices.node_epoch == answer.provenance.node_epoch == 1_002


def test_columns_are_spread_over_the_pods() -> None:
    other = make_pod("other", namespace="one", requests={"cpu": "1"})
    pods = pb.PodColumns(template_indices=[1, 0, 1], uids=TRIO, namespaces=["ns"], names=["x", "y", "z"])
    with world(*NODES) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(HALF, other, pods=pods, commit_mode=BIND))
        records = w.state.snapshot.pods.records
    assert {uid: record.pod.key for uid, record in records.items()} == {
        "p0": "ns/x",
        "p1": "ns/y",
        "p2": "ns/z",
    }
    assert [dict(records[uid].kind.usage.requests)["cpu"] for uid in TRIO] == [1000, 2000, 1000]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("request_", "path"),
    [
        pytest.param(batch(), "templates", id="no template"),
        pytest.param(pb.ScheduleRequest(templates=[pb.PodTemplate()]), "templates[0].pod", id="no pod"),
        pytest.param(
            batch(HALF, pods=columns(1, template=1)), "pods.template_indices[0]", id="no such template"
        ),
        pytest.param(batch(HALF, pods=columns(3, uids=["a", "b"])), "pods.uids", id="too few UIDs"),
        pytest.param(batch(HALF, pods=columns(2, names=["a"] * 3)), "pods.names", id="too many names"),
        pytest.param(batch(HALF, pods=columns(2, uids=["u", ""])), "pods.uids[1]", id="empty UID"),
        pytest.param(batch(HALF, pods=columns(2, uids=["u", "u"])), "pods.uids[1]", id="UID twice"),
        pytest.param(batch(HALF, pods=columns(2, uids=["u"])), "pods.uids[1]", id="one UID for two"),
        pytest.param(batch(HALF, pods=columns(2, uids=[])), "pods.uids[1]", id="template twice, no UIDs"),
        pytest.param(batch(HALF, HALF), "pods.uids[1]", id="two templates of one UID"),
        pytest.param(batch(HALF, pods=columns(5)), "pods", id="too many pods"),
        pytest.param(batch(HALF, nodes=inline("a"), commit_mode=BIND), "commit_mode", id="bind to inline"),
        pytest.param(batch(HALF, nodes=inline(), commit_mode=BIND), "commit_mode", id="bind to no inline"),
        pytest.param(
            batch(HALF, nodes=assumed(make_pod("p", node="a")), commit_mode=BIND),
            "commit_mode",
            id="bind assumed",
        ),
        pytest.param(
            batch(HALF, nodes=indices(9, epoch=1_002), commit_mode=BIND), "nodes.indices", id="unknown index"
        ),
    ],
)
def test_a_batch_that_makes_no_sense_is_rejected_by_its_path(
    way: Callable[..., Any], request_: pb.ScheduleRequest, path: str
) -> None:
    with world(*NODES, limits=Limits(max_batch_pods=4)) as w, way(w.backend) as stubs:
        before = w.state.version
        failure = rejected(lambda: stubs.scheduling.Schedule(request_))
        assert w.state.version == before
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in failure.violations] == [path]


def test_commit_modes_that_are_not_offered() -> None:
    unheard_of: Any = 9
    with world(*NODES) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Schedule(batch(HALF, commit_mode=unheard_of)))
    assert (failure.code, failure.info.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED")


def test_pods_that_are_placed_leave_their_node_in_a_dry_run() -> None:
    placed = [make_pod(name, node="a", requests={"cpu": "2"}) for name in ("p", "q")]
    with world(*NODES[:1], *placed) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(named("p"), named("q")))
        assert [pod.spec.node_name for pod in w.state.snapshot.pods.on_row(0)] == ["a", "a"]
    assert chosen(answer) == ["a", "a"]


@pytest.mark.parametrize(
    ("pods", "profiles", "expected"),
    [
        pytest.param([HALF], "", "one", id="one used"),
        pytest.param([HALF, SECOND], "", "", id="two used"),
        pytest.param([HALF, SECOND], "two", "two", id="one for all"),
    ],
)
def test_profiles_by_scheduler_name(pods: list[Pod], profiles: str, expected: str) -> None:
    document = configuration(profile("PreferA", name="one"), profile("PreferA", name="two"))
    templates = [
        pod if pod.spec.scheduler_name == "two" else make_pod(spec={"schedulerName": "one"}) for pod in pods
    ]
    with world(*NODES, plugins=[PREFER_A], document=document) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(*templates, profile=profiles))
        missing = rejected(lambda: stubs.scheduling.Schedule(batch(HALF)))
    assert answer.provenance.profile == expected
    assert (missing.info.reason, missing.info.metadata["known"]) == ("PROFILE_NOT_FOUND", "one, two")


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(pb.COMMIT_MODE_DRY_RUN, id="dry run"),
        pytest.param(pb.COMMIT_MODE_RESERVE, id="reserve"),
        pytest.param(pb.COMMIT_MODE_BIND, id="bind"),
    ],
)
@pytest.mark.parametrize("pods", [1, 3])
def test_only_what_commits_counts_as_an_attempt(mode: pb.CommitMode.ValueType, pods: int) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(FULL, pods=columns(pods), commit_mode=mode))
        value = w.backend.metrics.registry.get_sample_value

        def counts(name: str) -> dict[str, float]:
            by_result = {
                result: value(name, {"profile": "default-scheduler", "result": result})
                for result in ("scheduled", "unschedulable", "error")
            }
            return {result: count for result, count in by_result.items() if count}

        expected = {"scheduled": 1.0} if pods == 1 else {"scheduled": 2.0, "unschedulable": 1.0}
        commits = mode != pb.COMMIT_MODE_DRY_RUN
        assert counts("mooring_schedule_attempts_total") == (expected if commits else {})
        assert counts("mooring_scheduling_attempt_duration_seconds_count") == (expected if commits else {})
        assert counts("mooring_dry_runs_total") == ({} if commits else expected)
        assert value("mooring_scheduling_algorithm_duration_seconds_count") == pods
        assert value("mooring_cache_size", {"type": "nodes"}) == 2


def test_inline_nodes_can_be_chosen() -> None:
    nodes = nodes_pb.NodeSelection(
        inline=nodes_pb.InlineNodes(nodes=[as_json(make_node("z")), as_json(make_node("a"))])
    )
    small = make_node("a", allocatable={"cpu": "1"})
    with world(small) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(FULL, pods=columns(3), nodes=nodes))
    assert sorted(chosen(answer)) == ["", "a", "z"]


@pytest.mark.parametrize("count", [pytest.param(1, id="one pod"), pytest.param(2, id="a batch")])
def test_what_takes_no_plugin_waits_for_no_slot(count: int) -> None:
    request = batch(HALF, pods=columns(count))
    with gate() as event, world(*NODES) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(request)
        expected = stubs.scheduling.Schedule(request)
        workers = [
            threading.Thread(target=w.slots.run, args=(lambda _: event.wait(LONG), time.monotonic() + LONG))
            for _ in range(9)
        ]
        for worker in workers:
            worker.start()
        answers = [stubs.scheduling.Schedule(request, timeout=LONG) for _ in range(3)]
        with giving_up_after(0.2):
            late = rejected(lambda: stubs.scheduling.Schedule(batch(FULL)))
        event.set()
        for worker in workers:
            worker.join()
    assert answers == [expected] * 3
    assert late.code is grpc.StatusCode.DEADLINE_EXCEEDED


def test_nothing_in_nothing_out() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        empty = stubs.scheduling.Schedule(batch(HALF, pods=pb.PodColumns()))
        nowhere = stubs.scheduling.Schedule(batch(HALF, nodes=names("x")))
    assert (list(empty.pod_verdicts), chosen(empty)) == ([], [])
    assert verdicts(nowhere) == ["UNSCHEDULABLE_AND_UNRESOLVABLE"]
