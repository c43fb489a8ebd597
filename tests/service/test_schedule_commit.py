"""Schedule that binds: what counts, what fails alone, and what happens when time runs out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from mooring.framework import SUCCESS, BindOutcome, Code, CycleState, PermitPlugin, Pod, Status
from mooring.framework.errors import UnavailableError
from mooring.testing.builders import make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodSource
from tests.process import until
from tests.service.backends import (
    WAYS,
    configuration,
    direct,
    named,
    profile,
    rejected,
    sent,
    served,
    statuses_code,
    world,
)
from tests.service.fakes import RecordingBinder, filtering, gate
from tests.service.harness import LONG, given_up, giving_up_after
from tests.service.test_filter import indices
from tests.service.test_schedule import BIND, FULL, HALF, NODES, PREFER_A, batch, chosen, columns, verdicts


@pytest.mark.parametrize("way", WAYS)
def test_binding_without_an_api_server_is_local(way: Callable[..., Any]) -> None:
    with world(*NODES) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(FULL, pods=columns(3), commit_mode=BIND))
        assert answer.provenance.state_version == w.state.version
        assert sum(record.assumed for record in w.state.snapshot.pods.records.values()) == 2
    assert sorted(chosen(answer)) == ["", "a", "b"]
    local, none = pb.COMMIT_OUTCOME_LOCAL, pb.COMMIT_OUTCOME_UNSPECIFIED
    assert list(answer.outcomes) == [local, local, none]


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(
            sent(make_pod("free", node="b")), "POD_BOUND_ELSEWHERE", id="bound, as the request alone says"
        ),
        pytest.param(named("leaving"), "POD_DELETING", id="deleting"),
        pytest.param(sent(make_pod("leaving")), "POD_DELETING", id="deleting, the request is older"),
        pytest.param(named("gated"), "POD_GATED", id="gated"),
        pytest.param(sent(make_pod("bound", metadata={"uid": "old"})), "POD_RECREATED", id="another UID"),
    ],
)
def test_a_pod_that_cannot_be_bound_does_not_stop_the_others(pod: PodSource, reason: str) -> None:
    known = (
        make_pod("bound", node="b"),
        make_pod("leaving", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        make_pod("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    )
    with world(*NODES, *known, plugins=[PREFER_A]) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(HALF, pod, FULL, commit_mode=BIND))
    assert verdicts(answer)[0::2] == ["SUCCESS", "SUCCESS"]
    rejection = answer.verdicts[answer.pod_verdicts[1]]
    assert (statuses_code(rejection), list(rejection.reasons)) == ("ERROR", [reason])
    assert rejection.message


def test_a_bind_that_fails_does_not_stop_the_others() -> None:
    class Picky(RecordingBinder):
        def bind(self, pod: Pod, node_name: str) -> BindOutcome:
            if pod.metadata.uid == "p1":
                raise UnavailableError("silent", reason="API_SERVER_UNAVAILABLE")
            return super().bind(pod, node_name)

    with world(*NODES, binder=Picky()) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(HALF, pods=columns(3), commit_mode=BIND))
    assert verdicts(answer) == ["SUCCESS", "ERROR", "SUCCESS"]
    assert all(node in ("a", "b") for node in chosen(answer))
    bound = pb.COMMIT_OUTCOME_BOUND
    assert list(answer.outcomes) == [bound, pb.COMMIT_OUTCOME_UNSPECIFIED, bound]


@pytest.mark.parametrize("way", WAYS)
def test_out_of_time_after_a_commit_the_rest_had_no_turn(way: Callable[..., Any]) -> None:
    with gate() as event:
        seen: list[str] = []

        def slow(node: str) -> Any:
            seen.append(node)
            if len(seen) > 2:
                event.wait(LONG)
            return SUCCESS

        with world(*NODES, plugins=[filtering("Slow", slow)]) as w, way(w.backend) as stubs:
            with giving_up_after(1.0):
                answer = stubs.scheduling.Schedule(batch(HALF, pods=columns(3), commit_mode=BIND))
            placed = [record.pod.metadata.uid for record in w.state.snapshot.pods.records.values()]
            event.set()
            assert stubs.scheduling.Schedule(batch(HALF)).pod_verdicts == [0]
    assert verdicts(answer) == ["SUCCESS", "PENDING", "PENDING"]
    assert placed == ["p0"]
    assert len(chosen(answer)) == len(answer.totals) == len(answer.outcomes) == 3


@pytest.mark.parametrize("mode", [pytest.param(BIND, id="bind"), pytest.param(0, id="dry run")])
def test_out_of_time_before_any_commit_the_call_fails(mode: Any) -> None:
    with gate() as event, world(*NODES, plugins=[filtering("Slow", lambda _: event.wait(LONG))]) as w:
        with direct(w.backend) as stubs:
            failure = given_up(lambda: stubs.scheduling.Schedule(batch(HALF, commit_mode=mode)))
        assert len(w.state.snapshot.pods) == 0
    assert (failure.code, failure.info.metadata["plugin"]) == (grpc.StatusCode.DEADLINE_EXCEEDED, "Slow")


def test_stale_indices_fail_the_call_before_anything_is_bound() -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        failure = rejected(
            lambda: stubs.scheduling.Schedule(batch(HALF, nodes=indices(0, epoch=5), commit_mode=BIND))
        )
        assert len(w.state.snapshot.pods) == 0
    assert (failure.info.reason, failure.info.metadata["node_epoch"]) == ("NODE_EPOCH_STALE", "1002")


def test_calls_at_once_never_give_the_same_room_twice() -> None:
    def ask(number: int) -> pb.ScheduleResponse:
        uids = [f"c{number}-{at}" for at in range(3)]
        request = batch(HALF, pods=columns(3, uids=uids), commit_mode=BIND)
        answer: pb.ScheduleResponse = stubs.scheduling.Schedule(request)
        return answer

    with world(*NODES) as w, served(w.backend) as stubs:
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(8)))
        table = w.state.snapshot.nodes
        assert table.requested[0, :2].tolist() == [4000, 4000]
    assert sum(verdicts(answer).count("SUCCESS") for answer in answers) == 4


class Together(PermitPlugin[None]):
    """Makes pods wait until three of them have a place."""

    name = "Together"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        others = list(self.handle.waiting)
        if len(others) < 2:
            return Status(Code.WAIT), 60.0
        for other in others:
            other.allow(self.name)
        return SUCCESS, 0.0


@pytest.mark.parametrize("way", WAYS)
def test_pods_that_wait_for_each_other_are_bound_by_one_call(way: Callable[..., Any]) -> None:
    document = configuration(profile("NodeResourcesFit", "Together"))
    with world(*NODES, plugins=[Together], document=document) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(HALF, pods=columns(3), commit_mode=BIND))
        assert len(w.backend.committer.reservations) == 0
    assert verdicts(answer) == ["SUCCESS"] * 3
    assert list(answer.outcomes) == [pb.COMMIT_OUTCOME_LOCAL] * 3


def test_pods_that_wait_in_vain_are_given_back() -> None:
    document = configuration(profile("NodeResourcesFit", "Together"))
    with world(*NODES, plugins=[Together], document=document) as w, served(w.backend) as stubs:
        with giving_up_after(0.5):
            failure = rejected(
                lambda: stubs.scheduling.Schedule(batch(HALF, pods=columns(2), commit_mode=BIND))
            )
        until(lambda: not len(w.backend.committer.reservations))
        assert not any(record.assumed for record in w.state.snapshot.pods.records.values())
    assert failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
