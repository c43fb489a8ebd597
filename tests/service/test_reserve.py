"""Reserve and Unreserve: the tables of the contract, and what Bind and Schedule make of a reservation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.framework import SUCCESS, CycleState, Pod, ReservePlugin, Status
from mooring.framework.errors import UnavailableError
from mooring.serving.certificates import TlsFiles
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.certificates import Authority
from tests.runtime.test_placing import tracing
from tests.service.backends import (
    WAYS,
    direct,
    listening,
    named,
    rejected,
    sent,
    served,
    statuses_code,
    world,
)
from tests.service.fakes import PodsOnly, RecordingBinder
from tests.service.harness import LONG
from tests.service.test_access import as_client
from tests.service.test_schedule import batch, chosen, columns, verdicts

NODES = (make_node("a"), make_node("b"))
WHOLE = {"cpu": "4"}


def reserve(pod: Any, node: str = "a", **fields: Any) -> pb.ReserveRequest:
    return pb.ReserveRequest(pod=pod, node=node, **fields)


def reference(name: str, uid: str | None = None, namespace: str = "default") -> PodReference:
    return PodReference(namespace=namespace, name=name, uid=f"pod/default/{name}" if uid is None else uid)


def unreserve(name: str, **fields: Any) -> pb.UnreserveRequest:
    return pb.UnreserveRequest(pod=reference(name, **fields))


@pytest.mark.parametrize("way", WAYS)
def test_a_reserved_place_is_nobody_elses_until_it_is_released(way: Callable[..., Any]) -> None:
    pods = (make_pod("p", requests=WHOLE), make_pod("q", requests=WHOLE))
    with world(NODES[0], *pods) as w, way(w.backend) as stubs:
        value = w.backend.metrics.registry.get_sample_value
        for _ in range(2):
            assert statuses_code(stubs.scheduling.Reserve(reserve(named("p"))).verdict) == "SUCCESS"
        full = stubs.scheduling.Reserve(reserve(named("q"))).verdict
        assert (statuses_code(full), list(full.reasons)) == ("UNSCHEDULABLE", ["Insufficient cpu"])
        assert value("mooring_reservations", {"stage": "reserved"}) == 1
        assert stubs.scheduling.Unreserve(unreserve("p")).released
        assert not stubs.scheduling.Unreserve(unreserve("p")).released
        assert statuses_code(stubs.scheduling.Reserve(reserve(named("q"))).verdict) == "SUCCESS"


TO_THE_END = ["reserve", "permit", "pre_bind", "post_bind"]


@pytest.mark.parametrize(
    ("calls", "ran"),
    [
        pytest.param(["Schedule"], TO_THE_END, id="a committed Schedule"),
        pytest.param(["Bind"], TO_THE_END, id="Bind"),
        pytest.param(["Reserve", "Bind"], TO_THE_END, id="Reserve, then Bind"),
        pytest.param(["Reserve", "Unreserve"], ["reserve", "unreserve"], id="Reserve, then Unreserve"),
    ],
)
def test_the_points_run_in_the_frameworks_order(calls: list[str], ran: list[str]) -> None:
    said: list[str] = []
    requests = {
        "Schedule": batch(named("p"), commit_mode=pb.COMMIT_MODE_BIND),
        "Reserve": reserve(named("p")),
        "Unreserve": unreserve("p"),
        "Bind": pb.BindRequest(pod=reference("p"), node="a"),
    }
    plugins = [tracing(said, "One"), tracing(said, "Two")]
    with world(NODES[0], make_pod("p"), plugins=plugins) as w, served(w.backend) as stubs:
        for call in calls:
            getattr(stubs.scheduling, call)(requests[call], timeout=LONG)
    assert said == [
        f"{plugin}.{point}"
        for point in ran
        for plugin in (("Two", "One") if point == "unreserve" else ("One", "Two"))
    ]


def test_bind_turns_a_reservation_into_a_binding_and_a_late_unreserve_changes_nothing() -> None:
    binder = RecordingBinder()
    with world(*NODES, make_pod("p"), binder=binder) as w, direct(w.backend) as stubs:
        stubs.scheduling.Reserve(reserve(named("p")))
        bound = stubs.scheduling.Bind(pb.BindRequest(pod=reference("p"), node="a"))
        late = rejected(lambda: stubs.scheduling.Unreserve(unreserve("p")))
        elsewhere = rejected(lambda: stubs.scheduling.Reserve(reserve(named("p"), "b")))
        pod = w.state.find_pod("default", "p")
    assert bound.outcome == pb.COMMIT_OUTCOME_BOUND
    assert late.info.reason == elsewhere.info.reason == "POD_BOUND_ELSEWHERE"
    assert pod is not None
    assert pod.spec.node_name == "a"
    assert binder.bound == [("pod/default/p", "a")]


def test_schedule_reserves_where_that_is_asked_for() -> None:
    pod = sent(make_pod(requests={"cpu": "3"}))
    with world(*NODES) as w, direct(w.backend) as stubs:
        answer = stubs.scheduling.Schedule(batch(pod, pods=columns(3), commit_mode=pb.COMMIT_MODE_RESERVE))
        assert len(w.backend.committer.reservations) == 2
        assert stubs.scheduling.Unreserve(unreserve("pod", uid="p0")).released
        taken = stubs.scheduling.Bind(pb.BindRequest(pod=reference("pod", uid="p1"), node=chosen(answer)[1]))
    assert verdicts(answer) == ["SUCCESS", "SUCCESS", "UNSCHEDULABLE"]
    assert sorted(chosen(answer)) == ["", "a", "b"]
    reserved = pb.COMMIT_OUTCOME_RESERVED
    assert list(answer.outcomes) == [reserved, reserved, pb.COMMIT_OUTCOME_UNSPECIFIED]
    assert taken.outcome == pb.COMMIT_OUTCOME_LOCAL


def test_a_reserve_plugin_that_says_no_leaves_nothing_reserved() -> None:
    class Stubborn(ReservePlugin[None]):
        name = "Stubborn"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return Status.unschedulable("out of addresses") if node_name == "a" else SUCCESS

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            """Nothing was kept."""

    with world(*NODES, make_pod("p"), plugins=[Stubborn]) as w, direct(w.backend) as stubs:
        status = stubs.scheduling.Reserve(reserve(named("p"))).verdict
        assert (status.plugin, list(status.reasons)) == ("Stubborn", ["out of addresses"])
        assert len(w.backend.committer.reservations) == 0
        assert statuses_code(stubs.scheduling.Reserve(reserve(named("p"), "b")).verdict) == "SUCCESS"


PODS = (
    make_pod("pending"),
    make_pod("bound", node="b"),
    make_pod("leaving", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    make_pod("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    make_pod("remade", metadata={"uid": "new"}),
    make_pod("foreign", spec={"schedulerName": "another"}),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("request_", "code", "reason"),
    [
        pytest.param(reserve(named("gone")), "NOT_FOUND", "POD_NOT_FOUND", id="pod unknown"),
        pytest.param(reserve(named("pending"), "x"), "NOT_FOUND", "NODE_NOT_FOUND", id="node unknown"),
        pytest.param(reserve(named("bound")), "FAILED_PRECONDITION", "POD_BOUND_ELSEWHERE", id="bound"),
        pytest.param(reserve(named("leaving")), "FAILED_PRECONDITION", "POD_DELETING", id="deleting"),
        pytest.param(reserve(named("gated")), "FAILED_PRECONDITION", "POD_GATED", id="gated"),
        pytest.param(
            reserve(sent(make_pod("remade", metadata={"uid": "old"}))),
            "ABORTED",
            "POD_RECREATED",
            id="another UID",
        ),
        pytest.param(reserve(named("foreign")), "FAILED_PRECONDITION", "OTHER_SCHEDULER", id="not ours"),
        pytest.param(reserve(named("pending"), ""), "INVALID_ARGUMENT", "REQUEST_INVALID", id="no node"),
    ],
)
def test_what_can_not_be_reserved_says_why(
    way: Callable[..., Any], request_: pb.ReserveRequest, code: str, reason: str
) -> None:
    with world(*NODES, *PODS) as w, way(w.backend) as stubs:
        before = w.state.version
        failure = rejected(lambda: stubs.scheduling.Reserve(request_))
        assert w.state.version == before
    assert (failure.code, failure.info.reason) == (grpc.StatusCode[code], reason)


def test_who_names_a_profile_may_place_the_pod_of_another_scheduler() -> None:
    with world(*NODES, *PODS) as w, direct(w.backend) as stubs:
        status = stubs.scheduling.Reserve(reserve(named("foreign"), profile="default-scheduler")).verdict
        bind = pb.BindRequest(pod=reference("foreign"), node="a")
        foreign = rejected(lambda: stubs.scheduling.Bind(bind))
        bind.profile = "default-scheduler"
        assert stubs.scheduling.Bind(bind).outcome == pb.COMMIT_OUTCOME_LOCAL
    assert statuses_code(status) == "SUCCESS"
    assert foreign.info.reason == "OTHER_SCHEDULER"


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        pytest.param(unreserve("other", uid="pod/default/p"), "pod.uid", id="unreserve_forged: another name"),
        pytest.param(
            unreserve("p", namespace="kube-system"), "pod.uid", id="unreserve_forged: another namespace"
        ),
        pytest.param(unreserve("p", uid=""), "pod.uid", id="no UID"),
        pytest.param(unreserve(""), "pod.name", id="no name"),
    ],
)
def test_a_forged_unreserve_frees_nobodys_place(request_: pb.UnreserveRequest, path: str) -> None:
    with world(*NODES, make_pod("p")) as w, direct(w.backend) as stubs:
        stubs.scheduling.Reserve(reserve(named("p")))
        failure = rejected(lambda: stubs.scheduling.Unreserve(request_))
        assert len(w.backend.committer.reservations) == 1
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in failure.violations] == [path]


def test_who_reserved_a_place_is_read_from_the_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.issue("server")
    files = TlsFiles(shown.certificate, shown.key, authority=authority.certificate)
    names = ("owner", "other")
    with (
        world(*NODES) as w,
        listening(w.backend, tls=files, allow_clients=frozenset(names)) as address,
        as_client(address, authority, authority.issue("owner")) as owner,
        as_client(address, authority, authority.issue("other")) as other,
    ):
        owns, tries = SchedulingServiceStub(owner), SchedulingServiceStub(other)
        assert statuses_code(owns.Reserve(reserve(sent(make_pod("p"))), timeout=LONG).verdict) == "SUCCESS"
        failure = rejected(lambda: tries.Unreserve(unreserve("p"), timeout=LONG))
        assert failure.code is grpc.StatusCode.PERMISSION_DENIED
        assert "was reserved by another client" in failure.text
        assert len(w.backend.committer.reservations) == 1
        assert owns.Unreserve(unreserve("p"), timeout=LONG).released
        assert len(w.backend.committer.reservations) == 0


def test_a_place_whose_binding_may_have_happened_is_kept() -> None:
    silent = UnavailableError("silent", reason="API_SERVER_UNAVAILABLE")
    api = PodsOnly(make_pod("p"))
    with (
        world(
            *NODES, make_pod("p"), binder=RecordingBinder(error=silent), api=api, settling_seconds=60.0
        ) as w,
        direct(w.backend) as stubs,
    ):
        order = pb.BindRequest(pod=reference("p"), node="a")
        assert rejected(lambda: stubs.scheduling.Bind(order)).code is grpc.StatusCode.UNAVAILABLE
        kept = rejected(lambda: stubs.scheduling.Unreserve(unreserve("p")))
        assert w.backend.metrics.registry.get_sample_value("mooring_reservations", {"stage": "unknown"}) == 1
    assert (kept.code, kept.info.reason) == (grpc.StatusCode.UNAVAILABLE, "API_SERVER_UNAVAILABLE")
