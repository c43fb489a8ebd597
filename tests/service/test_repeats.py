"""Calls that commit, sent again after their answer was lost: no pod moves or gets a second place."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from mooring.framework.errors import DeadlineExceededError
from mooring.framework.node_table import PODS_ROW
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodReference, PodSource
from tests.service.backends import WAYS, direct, named, rejected, sent, served, statuses_code, world
from tests.service.harness import LONG
from tests.service.test_schedule import BIND, HALF, NODES, PREFER_A, batch, chosen, columns, verdicts

RESERVE = pb.COMMIT_MODE_RESERVE
DONE = {RESERVE: pb.COMMIT_OUTCOME_RESERVED, BIND: pb.COMMIT_OUTCOME_LOCAL}
AGAIN = {RESERVE: pb.COMMIT_OUTCOME_ALREADY_RESERVED, BIND: pb.COMMIT_OUTCOME_ALREADY_BOUND}
MODES = [pytest.param(RESERVE, id="reserve"), pytest.param(BIND, id="bind")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [pytest.param(0, id="as asked"), pytest.param(3, id="indices")])
def test_a_repeated_schedule_answers_with_the_same_nodes(
    way: Callable[..., Any], mode: Any, form: Any
) -> None:
    with world(*NODES, plugins=[PREFER_A]) as w, way(w.backend) as stubs:
        request = batch(HALF, pods=columns(3), commit_mode=mode)
        request.nodes.answer_form = form
        first = stubs.scheduling.Schedule(request)
        before = w.state.version
        again = stubs.scheduling.Schedule(request)
        assert w.state.version == before
    assert verdicts(first) == verdicts(again) == ["SUCCESS"] * 3
    assert first.nodes == again.nodes
    assert list(first.outcomes) == [DONE[mode]] * 3
    assert list(again.outcomes) == [AGAIN[mode]] * 3


@pytest.mark.parametrize("mode", MODES)
def test_a_repeat_gives_places_to_those_alone_that_have_none(mode: Any) -> None:
    with world(*NODES, plugins=[PREFER_A]) as w, direct(w.backend) as stubs:
        some = stubs.scheduling.Schedule(batch(HALF, pods=columns(2, uids=["p0", "p2"]), commit_mode=mode))
        every = stubs.scheduling.Schedule(batch(HALF, pods=columns(4), commit_mode=mode))
    assert [chosen(every)[at] for at in (0, 2)] == chosen(some)
    assert list(every.outcomes) == [AGAIN[mode], DONE[mode], AGAIN[mode], DONE[mode]]


def test_to_bind_what_is_reserved_binds_it_where_it_is() -> None:
    with world(*NODES, plugins=[PREFER_A]) as w, direct(w.backend) as stubs:
        request = batch(HALF, pods=columns(2), commit_mode=RESERVE)
        reserved = stubs.scheduling.Schedule(request)
        request.commit_mode = BIND
        bound = stubs.scheduling.Schedule(request)
        assert len(w.backend.committer.reservations) == 0
        request.commit_mode = RESERVE
        late = stubs.scheduling.Schedule(request)
    assert chosen(reserved) == chosen(bound) == chosen(late)
    assert list(bound.outcomes) == [pb.COMMIT_OUTCOME_LOCAL] * 2
    assert list(late.outcomes) == [pb.COMMIT_OUTCOME_ALREADY_BOUND] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "pod", [pytest.param(named("p"), id="named"), pytest.param(sent(make_pod("p")), id="an older request")]
)
def test_a_pod_that_another_client_has_bound_stays_there(mode: Any, pod: PodSource) -> None:
    with world(*NODES, make_pod("p", node="b"), plugins=[PREFER_A]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(pod, commit_mode=mode))
    assert (verdicts(answer), chosen(answer)) == (["SUCCESS"], ["b"])
    assert list(answer.outcomes) == [pb.COMMIT_OUTCOME_ALREADY_BOUND]


def test_a_repeated_reserve_says_that_the_place_was_taken_before() -> None:
    request = pb.ReserveRequest(pod=named("p"), node="a")
    with world(*NODES, make_pod("p")) as w, direct(w.backend) as stubs:
        outcomes = [stubs.scheduling.Reserve(request).outcome for _ in range(2)]
        stubs.scheduling.Bind(pb.BindRequest(pod=named("p").reference, node="a"))
        outcomes.append(stubs.scheduling.Reserve(request).outcome)
    assert outcomes == [
        pb.COMMIT_OUTCOME_RESERVED,
        pb.COMMIT_OUTCOME_ALREADY_RESERVED,
        pb.COMMIT_OUTCOME_ALREADY_BOUND,
    ]


@pytest.mark.parametrize("mode", MODES)
def test_the_same_batch_from_many_at_once_has_one_place_per_pod(mode: Any) -> None:
    nodes = [make_node(f"n{at}", allocatable={"cpu": "4", "pods": "10"}) for at in range(10)]
    request = batch(HALF, pods=columns(20), commit_mode=mode)
    with world(*nodes) as w, served(w.backend) as stubs:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda _: stubs.scheduling.Schedule(request, timeout=LONG), range(6)))
        assert int(w.state.snapshot.nodes.requested[PODS_ROW].sum()) == 20
    assert len({tuple(chosen(answer)) for answer in answers}) == 1
    counted = [list(column).count(DONE[mode]) for column in zip(*(a.outcomes for a in answers), strict=True)]
    assert counted == [1] * 20


class Gone:
    """The part of a call's context that a commit reads; its client has gone."""

    def is_active(self) -> bool:
        return False


def test_a_call_that_its_client_has_given_up_takes_no_places_later() -> None:
    request = batch(HALF, pods=columns(3), commit_mode=RESERVE)
    with world(*NODES) as w:
        with pytest.raises(DeadlineExceededError):
            SchedulingServicer(w.backend).Schedule(request, Gone())  # type: ignore[arg-type]  # a part of one
        assert len(w.backend.committer.reservations) == 0


NO_UID = PodSource(object=KubernetesObject(json=b'{"metadata":{"name":"p"},"spec":{"containers":[{}]}}'))
NO_UID_PROTOBUF = PodSource(object=KubernetesObject(protobuf=b"\n\x03\n\x01p"))
UNSAID = PodSource(reference=PodReference(namespace="default", name="p"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("method", "request_", "path"),
    [
        pytest.param(
            "Schedule",
            batch(NO_UID, commit_mode=RESERVE),
            "templates[0].pod.object.json.metadata.uid",
            id="Schedule, reserve",
        ),
        pytest.param(
            "Schedule",
            batch(NO_UID, commit_mode=BIND),
            "templates[0].pod.object.json.metadata.uid",
            id="Schedule, bind",
        ),
        pytest.param(
            "Schedule",
            batch(NO_UID_PROTOBUF, commit_mode=BIND),
            "templates[0].pod.object.protobuf.metadata.uid",
            id="Schedule, protobuf",
        ),
        pytest.param(
            "Schedule",
            batch(UNSAID, commit_mode=BIND),
            "templates[0].pod.reference.uid",
            id="Schedule, reference",
        ),
        pytest.param(
            "Reserve", pb.ReserveRequest(pod=NO_UID, node="a"), "pod.object.json.metadata.uid", id="Reserve"
        ),
        pytest.param(
            "Reserve", pb.ReserveRequest(pod=UNSAID, node="a"), "pod.reference.uid", id="Reserve, reference"
        ),
        pytest.param("Bind", pb.BindRequest(pod=UNSAID.reference, node="a"), "pod.uid", id="Bind"),
    ],
)
def test_nothing_is_committed_without_a_uid(
    way: Callable[..., Any], method: str, request_: Any, path: str
) -> None:
    with world(*NODES, make_pod("p")) as w, way(w.backend) as stubs:
        failure = rejected(lambda: getattr(stubs.scheduling, method)(request_))
        assert not any(record.node_name for record in w.state.snapshot.pods.records.values())
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in failure.violations] == [path]


def test_a_dry_run_needs_no_uid_nor_does_a_template_whose_pods_have_some() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        assert verdicts(stubs.scheduling.Schedule(batch(NO_UID))) == ["SUCCESS"]
        many = stubs.scheduling.Schedule(batch(NO_UID, pods=columns(2), commit_mode=RESERVE))
    assert verdicts(many) == ["SUCCESS"] * 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("stated", "field", "word"),
    [
        pytest.param('"kind":"Deployment","apiVersion":"apps/v1"', "kind", "Deployment", id="a workload"),
        pytest.param('"kind":"Node","apiVersion":"v1"', "kind", "Node", id="a node"),
        pytest.param(
            '"kind":"Pod","apiVersion":"example.com/v1"', "apiVersion", "example.com/v1", id="another group's"
        ),
    ],
)
@pytest.mark.parametrize("method", ["Filter", "Score", "Explain", "Reserve", "Preempt"])
def test_an_object_of_another_kind_is_no_pod(
    way: Callable[..., Any], method: str, stated: str, field: str, word: str
) -> None:
    document = "{" + stated + ',"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{}]}}'
    pod = PodSource(object=KubernetesObject(json=document.encode()))
    more = {"node": "a"} if method == "Reserve" else {}
    request = getattr(pb, f"{method}Request")(pod=pod, **more)
    with world(*NODES) as w, way(w.backend) as stubs:
        failure = rejected(lambda: getattr(stubs.scheduling, method)(request))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [path for path, _ in failure.violations] == [f"pod.object.json.{field}"]
    assert word in failure.violations[0][1]


def test_a_pod_that_says_so_is_one() -> None:
    pod = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{}]}}'
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Filter(pb.FilterRequest(pod=PodSource(object=KubernetesObject(json=pod))))
    assert statuses_code(answer.verdict) == "SUCCESS"
