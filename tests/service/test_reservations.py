"""The list of reservations, and the end of many in one call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.serving.certificates import TlsFiles
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.errors_pb2 import ERROR_REASON_FORBIDDEN, ERROR_REASON_POD_BOUND_ELSEWHERE
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.certificates import Authority
from tests.service.backends import WAYS, direct, listening, named, rejected, sent, world
from tests.service.harness import LONG
from tests.service.test_access import as_client
from tests.service.test_schedule import HALF, NODES, batch, chosen, columns

RESERVE = pb.COMMIT_MODE_RESERVE
WIDE = [make_node(f"n{at}", allocatable={"cpu": "64", "memory": "64Gi", "pods": "110"}) for at in range(3)]


def listed(stubs: Any, **fields: Any) -> list[pb.Reservation]:
    """Return all pages, one after the other."""
    found: list[pb.Reservation] = []
    request = pb.ListReservationsRequest(**fields)
    while True:
        answer = stubs.scheduling.ListReservations(request)
        found += answer.reservations
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [pytest.param(0, id="one page"), pytest.param(3, id="pages of three")])
def test_reservations_are_listed_with_node_maker_and_time(way: Callable[..., Any], size: int) -> None:
    with world(*WIDE, make_pod("alone")) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(HALF, pods=columns(10), commit_mode=RESERVE))
        stubs.scheduling.Reserve(pb.ReserveRequest(pod=named("alone"), node="n1"))
        found = listed(stubs, page_size=size)
    uids = [f"p{at}" for at in range(10)]
    assert {each.pod.uid: each.node for each in found} == {
        **dict(zip(uids, chosen(answer), strict=True)),
        "pod/default/alone": "n1",
    }
    assert [each.pod.uid for each in found] == sorted(each.pod.uid for each in found)
    assert all(each.create_time.seconds and each.profile and not each.client for each in found)
    assert not any(each.binding for each in found)


def test_pages_of_a_list_show_what_was_there_when_it_began() -> None:
    with world(*WIDE) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(HALF, pods=columns(4), commit_mode=RESERVE))
        first = stubs.scheduling.ListReservations(pb.ListReservationsRequest(page_size=2))
        stubs.scheduling.UnreserveMany(pb.UnreserveManyRequest(uids=["p3"]))
        rest = listed(stubs, page_token=first.next_page_token)
        now = listed(stubs)
    assert [each.pod.uid for each in rest] == ["p2", "p3"]
    assert [each.pod.uid for each in now] == ["p0", "p1", "p2"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(pb.UnreserveManyRequest(all=True), id="all"),
        pytest.param(pb.UnreserveManyRequest(uids=[f"p{at}" for at in range(100)]), id="by UID"),
    ],
)
def test_many_reservations_end_in_one_call(
    way: Callable[..., Any], request_: pb.UnreserveManyRequest
) -> None:
    with world(*WIDE) as w, way(w.backend) as stubs:
        stubs.scheduling.Schedule(
            batch(sent(make_pod(requests={"cpu": "1"})), pods=columns(100), commit_mode=RESERVE)
        )
        first, again = (stubs.scheduling.UnreserveMany(request_) for _ in range(2))
        assert len(w.backend.committer.reservations) == 0
        assert not w.state.snapshot.nodes.requested.any()
    assert len(first.pods) == 100
    assert all(pod.released and not pod.HasField("error") for pod in first.pods)
    assert not any(pod.released for pod in again.pods)


def test_each_uid_has_an_answer_of_its_own() -> None:
    with world(*NODES, make_pod("bound", node="b")) as w, direct(w.backend) as stubs:
        stubs.scheduling.Schedule(batch(HALF, pods=columns(1), commit_mode=RESERVE))
        uids = ["pod/default/bound", "nobody", "p0"]
        answer = stubs.scheduling.UnreserveMany(pb.UnreserveManyRequest(uids=uids))
    assert [pod.uid for pod in answer.pods] == uids
    assert [pod.released for pod in answer.pods] == [False, False, True]
    assert [pod.error.reason for pod in answer.pods] == [ERROR_REASON_POD_BOUND_ELSEWHERE, 0, 0]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(pb.UnreserveManyRequest(), id="none"),
        pytest.param(pb.UnreserveManyRequest(uids=["a"], all=True), id="both"),
        pytest.param(pb.UnreserveManyRequest(uids=["a", "a"]), id="twice"),
    ],
)
def test_which_reservations_are_meant_has_to_be_clear(request_: pb.UnreserveManyRequest) -> None:
    with world(*NODES) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.UnreserveMany(request_))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in failure.violations] == ["uids"]


def test_a_client_sees_and_ends_its_own_reservations(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.issue("server")
    files = TlsFiles(shown.certificate, shown.key, authority=authority.certificate)
    names = frozenset(("owner", "other"))
    with (
        world(*NODES) as w,
        listening(w.backend, tls=files, allow_clients=names) as address,
        as_client(address, authority, authority.issue("owner")) as one,
        as_client(address, authority, authority.issue("other")) as two,
    ):
        owner, other = SchedulingServiceStub(one), SchedulingServiceStub(two)
        owner.Schedule(batch(HALF, pods=columns(2), commit_mode=RESERVE), timeout=LONG)
        mine = owner.ListReservations(pb.ListReservationsRequest(), timeout=LONG).reservations
        theirs = other.ListReservations(pb.ListReservationsRequest(), timeout=LONG).reservations
        forced = other.UnreserveMany(pb.UnreserveManyRequest(uids=["p0"]), timeout=LONG).pods
        empty = other.UnreserveMany(pb.UnreserveManyRequest(all=True), timeout=LONG).pods
        ended = owner.UnreserveMany(pb.UnreserveManyRequest(all=True), timeout=LONG).pods
    assert [(each.pod.uid, each.client) for each in mine] == [("p0", "cn:owner"), ("p1", "cn:owner")]
    assert list(theirs) == []
    assert [(pod.released, pod.error.reason) for pod in forced] == [(False, ERROR_REASON_FORBIDDEN)]
    assert list(empty) == []
    assert [pod.released for pod in ended] == [True, True]
