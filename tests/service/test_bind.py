"""Bind: the table of the contract, with and without an API server."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import pytest

from mooring.framework import (
    SUCCESS,
    BindOutcome,
    CycleState,
    FilterPlugin,
    NodeView,
    Pod,
    PreBindPlugin,
    Status,
    Verdicts,
)
from mooring.framework.errors import PermissionDeniedError, UnavailableError
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import PodReference
from tests.process import until
from tests.service.backends import WAYS, direct, named, rejected, served, world
from tests.service.fakes import PodsOnly, RecordingBinder, gate
from tests.service.harness import LONG

PRECONDITION = "FAILED_PRECONDITION"
NODES = (make_node("a"), make_node("b"))


def order(name: str, node: str, uid: str | None = None) -> pb.BindRequest:
    reference = PodReference(
        namespace="default", name=name, uid=f"pod/default/{name}" if uid is None else uid
    )
    return pb.BindRequest(pod=reference, node=node)


@pytest.mark.parametrize("way", WAYS)
def test_without_an_api_server_a_bind_is_local_and_repeated_without_effect(way: Callable[..., Any]) -> None:
    with world(*NODES, make_pod("p", requests={"cpu": "1"})) as w, way(w.backend) as stubs:
        outcomes = [stubs.scheduling.Bind(order("p", "a")).outcome for _ in range(3)]
        table = w.state.snapshot.nodes
        assert table.requested[0, table.index["a"]] == 1000
    again = pb.COMMIT_OUTCOME_ALREADY_BOUND
    assert outcomes == [pb.COMMIT_OUTCOME_LOCAL, again, again]


class TwoReasons(FilterPlugin[None]):
    """Rejects every node for one reason; its table has another one, which is true of no node."""

    name = "TwoReasons"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        statuses = (
            SUCCESS,
            Status.unschedulable("node(s) were full"),
            Status.unresolvable("node(s) were old"),
        )
        return Verdicts(np.ones(len(nodes), np.int32), statuses)


def test_a_rejection_names_the_reasons_that_are_true_of_the_node() -> None:
    with world(*NODES, make_pod("p"), plugins=[TwoReasons]) as w, served(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Bind(order("p", "a")))
    assert failure.info.reason == "NODE_NO_LONGER_FITS"
    assert failure.text == ("pod default/p no longer fits on node a: node(s) were full; schedule it again")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(BindOutcome.BOUND, pb.COMMIT_OUTCOME_BOUND, id="bound"),
        pytest.param(BindOutcome.ALREADY_BOUND, pb.COMMIT_OUTCOME_ALREADY_BOUND, id="already"),
    ],
)
def test_with_an_api_server_its_word_counts(
    way: Callable[..., Any], told: BindOutcome, expected: int
) -> None:
    binder = RecordingBinder(told)
    with world(*NODES, make_pod("p"), binder=binder) as w, way(w.backend) as stubs:
        answer = stubs.scheduling.Bind(order("p", "a"))
        assert answer.provenance.state_version == w.state.version
        placed = w.state.find_pod("default", "p")
    assert answer.outcome == expected
    assert binder.bound == [("pod/default/p", "a")]
    assert placed is not None
    assert placed.spec.node_name == "a"


def test_a_pod_that_the_cluster_has_on_that_node_needs_no_binding() -> None:
    binder = RecordingBinder()
    with world(*NODES, make_pod("p", node="a"), binder=binder) as w, direct(w.backend) as stubs:
        assert stubs.scheduling.Bind(order("p", "a")).outcome == pb.COMMIT_OUTCOME_ALREADY_BOUND
    assert binder.bound == []


def test_the_api_server_may_know_a_pod_that_no_source_has_delivered() -> None:
    api = PodsOnly(make_pod("p"))
    with world(*NODES, binder=RecordingBinder(), api=api) as w, direct(w.backend) as stubs:
        assert stubs.scheduling.Bind(order("p", "a")).outcome == pb.COMMIT_OUTCOME_BOUND
        assert stubs.scheduling.Bind(order("p", "a")).outcome == pb.COMMIT_OUTCOME_ALREADY_BOUND
        elsewhere = rejected(lambda: stubs.scheduling.Bind(order("p", "b")))
    assert elsewhere.info.reason == "POD_BOUND_ELSEWHERE"


PODS = (
    make_pod("pending"),
    make_pod("bound", node="b"),
    make_pod("leaving", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    make_pod("gated", spec={"schedulingGates": [{"name": "quota"}]}),
    make_pod("remade", metadata={"uid": "new"}),
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("request_", "code", "reason", "metadata"),
    [
        pytest.param(
            order("gone", "a"), "NOT_FOUND", "POD_NOT_FOUND", {"pod": "default/gone"}, id="pod unknown"
        ),
        pytest.param(order("pending", "x"), "NOT_FOUND", "NODE_NOT_FOUND", {"node": "x"}, id="node unknown"),
        pytest.param(
            order("bound", "a"),
            PRECONDITION,
            "POD_BOUND_ELSEWHERE",
            {"pod": "default/bound", "node": "b"},
            id="elsewhere",
        ),
        pytest.param(
            order("leaving", "a"),
            PRECONDITION,
            "POD_DELETING",
            {"pod": "default/leaving"},
            id="deleting",
        ),
        pytest.param(order("gated", "a"), PRECONDITION, "POD_GATED", {"pod": "default/gated"}, id="gated"),
        pytest.param(
            order("remade", "a", "old"),
            "ABORTED",
            "POD_RECREATED",
            {"pod": "default/remade", "uid": "new"},
            id="another UID",
        ),
    ],
)
def test_what_is_not_bound_says_why_and_changes_nothing(
    way: Callable[..., Any], request_: pb.BindRequest, code: str, reason: str, metadata: dict[str, str]
) -> None:
    with world(*NODES, *PODS) as w, way(w.backend) as stubs:
        before = w.state.version
        failure = rejected(lambda: stubs.scheduling.Bind(request_))
        assert w.state.version == before
    assert (failure.code, failure.info.reason) == (grpc.StatusCode[code], reason)
    assert dict(failure.info.metadata) == metadata


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        pytest.param(pb.BindRequest(), ["pod.uid", "node"], id="empty"),
        pytest.param(order("p", "a", uid=""), ["pod.uid"], id="no UID"),
        pytest.param(order("p", ""), ["node"], id="no node"),
        pytest.param(order("p", "a" * 254), ["node"], id="long node"),
        pytest.param(order("", "a"), ["pod.name"], id="no name"),
        pytest.param(
            pb.BindRequest(pod=PodReference(name="p", uid="u"), node="a"),
            ["pod.namespace"],
            id="no namespace",
        ),
    ],
)
def test_a_request_without_its_fields_is_rejected_by_path(request_: pb.BindRequest, paths: list[str]) -> None:
    with world(*NODES, *PODS) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Bind(request_))
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert [field for field, _ in failure.violations] == paths


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("error", "code", "stays"),
    [
        pytest.param(PermissionDeniedError("no"), "PERMISSION_DENIED", False, id="rejected for sure"),
        pytest.param(
            UnavailableError("silent", reason="API_SERVER_UNAVAILABLE"),
            "UNAVAILABLE",
            True,
            id="nobody knows",
        ),
        pytest.param(OSError("cable"), "INTERNAL", False, id="defect"),
    ],
)
def test_what_is_known_to_have_failed_is_taken_back(
    way: Callable[..., Any], error: Exception, code: str, stays: bool
) -> None:
    with world(*NODES, make_pod("p"), binder=RecordingBinder(error=error)) as w, way(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.Bind(order("p", "a")))
        pod = w.state.find_pod("default", "p")
    assert failure.code is grpc.StatusCode[code]
    assert pod is not None
    assert bool(pod.spec.node_name) == stays


def test_a_later_bind_to_another_node_is_rejected() -> None:
    with world(*NODES, make_pod("p")) as w, direct(w.backend) as stubs:
        first = stubs.scheduling.Bind(order("p", "a"))
        second = rejected(lambda: stubs.scheduling.Bind(order("p", "b")))
    assert first.outcome == pb.COMMIT_OUTCOME_LOCAL
    assert second.info.reason == "POD_BOUND_ELSEWHERE"
    assert second.info.metadata["node"] == "a"


def test_bindings_that_take_their_time_keep_no_question_waiting_and_say_nothing_of_health() -> None:
    with gate() as event:

        class Waiting(PreBindPlugin[None]):
            name = "Waiting"

            def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
                event.wait(LONG)
                return SUCCESS

        pods = [make_pod(f"p{at}") for at in range(6)]
        with world(*NODES, *pods, plugins=[Waiting]) as w, served(w.backend) as stubs:

            def bind(at: int) -> grpc.StatusCode:
                return rejected(lambda: stubs.scheduling.Bind(order(f"p{at}", "a"), timeout=0.5)).code

            with ThreadPoolExecutor(6) as callers:
                codes = list(callers.map(bind, range(6)))
            assert codes == [grpc.StatusCode.DEADLINE_EXCEEDED] * 6
            assert w.slots.alive()
            assert w.slots.abandoned == 0
            assert stubs.scheduling.Filter(pb.FilterRequest(pod=named("p0"))).feasible_count == 2
            event.set()
            until(lambda: not len(w.backend.committer.reservations))
