"""ScheduleGroups: groups of pods, decided, reserved and bound as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.framework import BindOutcome, CycleState, Pod, ReservePlugin, Status
from mooring.framework.errors import NotFoundError
from mooring.testing.builders import make_node, make_pod
from mooring_client.v1 import decision_service_pb2 as decision_pb
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.runtime.test_group_cycle import GATES, IN_GROUP, group, member, node
from tests.service.backends import (
    WAYS,
    configuration,
    direct,
    named,
    rejected,
    sent,
    statuses_code,
    world,
)
from tests.service.fakes import Kind

RELEASE = "1.37"

RESERVE, BIND = pb.COMMIT_MODE_RESERVE, pb.COMMIT_MODE_BIND
MEMBERS = tuple(member(f"m{i}") for i in range(3))
ROOM = (node("a", 2), node("b", 1))


def ask(*pods: Any, mode: Any = 0, **fields: Any) -> pb.ScheduleGroupsRequest:
    one = pb.GroupToSchedule(namespace="default", name="g", pods=pods)
    return pb.ScheduleGroupsRequest(groups=[one], commit_mode=mode, **fields)


def schedule(*objects: Any, request: pb.ScheduleGroupsRequest | None = None, **how: Any) -> pb.ScheduledGroup:
    """Return the answer about the one group."""
    with world(*objects, gates=GATES, version=RELEASE, **how) as w, direct(w.backend) as stubs:
        answer: pb.ScheduledGroup
        (answer,) = stubs.scheduling.ScheduleGroups(request or ask()).groups
        return answer


def placed(state: Any) -> dict[str, str]:
    records = state.snapshot.pods.records.values()
    return {record.name: record.node_name for record in records if record.node_name}


@pytest.mark.parametrize("way", WAYS)
def test_a_dry_run_says_everything_and_changes_nothing(way: Callable[..., Any]) -> None:
    nodes = (node("a1", 2, "a"), node("b1", 1, "b"), node("b2", 2, "b"))
    with (
        world(group(2, "zone"), *MEMBERS, *nodes, gates=GATES, version=RELEASE) as w,
        way(w.backend) as stubs,
    ):
        (answer,) = stubs.scheduling.ScheduleGroups(ask()).groups
        assert placed(w.state) == {}
    assert statuses_code(answer.verdict) == "SUCCESS"
    assert [(one.name, one.node_count, len(one.pods)) for one in answer.placements] == [
        ("a", 1, 3),
        ("b", 2, 3),
    ]
    assert answer.placement == 1
    assert {one.pod.name: one.node[0] for one in answer.pods} == {"m0": "b", "m1": "b", "m2": "b"}
    count = {one.plugin: (one.raw, one.normalized) for one in answer.placements[0].scores}[
        "PodGroupPodsCount"
    ]
    assert count == (2, 66)
    assert answer.placements[1].total > answer.placements[0].total


COUNTS = ("2 scheduled, 0 remaining", "0 scheduled, 2 remaining")


def test_a_group_that_fits_nowhere_says_why_for_each_placement_and_pod() -> None:
    answer = schedule(group(3, "zone"), *MEMBERS, node("a1", 2, "a"), node("b1", 0, "b"))
    assert statuses_code(answer.verdict) == "UNSCHEDULABLE"
    assert "0/2 placements are available" in answer.verdict.message
    assert not answer.HasField("placement")
    said = [f"minCount (3) cannot be satisfied: {count}" for count in COUNTS]
    assert [one.verdict.message for one in answer.placements] == said
    assert (
        answer.placements[1]
        .pods[0]
        .verdict.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    )
    assert [one.node for one in answer.pods] == ["", "", ""]


def test_groups_of_one_call_see_each_other() -> None:
    other = make_pod("x", requests={"cpu": "2"}, spec={"schedulingGroup": {"podGroupName": "h"}})
    first_of = group(1)
    second = replace(first_of, metadata=replace(first_of.metadata, name="h", uid="h"))
    request = ask()
    request.groups.add(namespace="default", name="h")
    with (
        world(group(3), second, *MEMBERS, other, *ROOM, gates=GATES, version=RELEASE) as w,
        direct(w.backend) as stubs,
    ):
        first, late = stubs.scheduling.ScheduleGroups(request).groups
    assert statuses_code(first.verdict) == "SUCCESS"
    assert statuses_code(late.verdict) == "UNSCHEDULABLE"


@pytest.mark.parametrize(
    ("mode", "outcome", "repeated"),
    [
        pytest.param(RESERVE, pb.COMMIT_OUTCOME_RESERVED, pb.COMMIT_OUTCOME_ALREADY_RESERVED, id="reserve"),
        pytest.param(BIND, pb.COMMIT_OUTCOME_LOCAL, pb.COMMIT_OUTCOME_ALREADY_BOUND, id="bind"),
    ],
)
@pytest.mark.parametrize(
    ("key", "nodes", "found"),
    [
        pytest.param("", ROOM, ["a", "a", "b"], id="anywhere"),
        pytest.param("zone", (node("a", 2, "x"), node("b", 3, "y")), ["b", "b", "b"], id="in one zone"),
    ],
)
def test_a_group_that_fits_is_committed_as_a_whole(
    mode: Any, outcome: Any, repeated: Any, key: str, nodes: Any, found: list[str]
) -> None:
    with (
        world(group(3, key), *MEMBERS, *nodes, gates=GATES, version=RELEASE) as w,
        direct(w.backend) as stubs,
    ):
        (answer,) = stubs.scheduling.ScheduleGroups(ask(mode=mode)).groups
        assert sorted(placed(w.state).values()) == found
        again = stubs.scheduling.ScheduleGroups(ask(mode=mode)).groups[0]
    assert {one.outcome for one in answer.pods} == {outcome}
    assert statuses_code(again.verdict) == "SUCCESS"
    assert {one.outcome for one in again.pods} == {repeated}
    assert {one.pod.uid: one.node for one in again.pods} == {one.pod.uid: one.node for one in answer.pods}


def keeping(refuses: str) -> Kind:
    class Keeps(ReservePlugin[None]):
        name = "Keeps"

        def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            return Status.unschedulable("taken") if pod.metadata.name == refuses else Status()

        def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
            pass

    return Keeps


def test_if_one_pod_cannot_be_kept_none_is() -> None:
    document = configuration(
        {
            "schedulerName": "default-scheduler",
            "plugins": {"reserve": {"enabled": [{"name": "Keeps"}]}},
        }
    )
    how: dict[str, Any] = {
        "plugins": [keeping("m1")],
        "document": document,
        "gates": GATES,
        "version": RELEASE,
    }
    with world(group(3), *MEMBERS, *ROOM, **how) as w, direct(w.backend) as stubs:
        (answer,) = stubs.scheduling.ScheduleGroups(ask(mode=BIND)).groups
        assert placed(w.state) == {}
        assert not len(w.backend.committer.reservations)
    assert answer.verdict.message == "pod group is unschedulable, pod default/m1: taken"
    assert [one.verdict.message for one in answer.pods][1] == "taken"
    assert [one.node for one in answer.pods] == ["", "", ""]


class Failing:
    """Binds until it comes to the pod of this name, and none after it."""

    def __init__(self, name: str) -> None:
        self.bound: list[str] = []
        self._name = name

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        if pod.metadata.name == self._name:
            raise NotFoundError(f"pod {pod.key} is gone; forget it", reason="POD_NOT_FOUND", pod=pod.key)
        self.bound.append(pod.metadata.name)
        return BindOutcome.BOUND


@pytest.mark.parametrize(
    ("min_count", "gone", "bound", "succeeds"),
    [
        pytest.param(3, "m0", [], False, id="the first of a gang that needs all"),
        pytest.param(3, "m1", ["m0"], False, id="the second: the third is not bound"),
        pytest.param(2, "m1", ["m0", "m2"], True, id="one that the gang can do without"),
    ],
)
def test_a_pod_that_goes_in_the_middle_of_a_commit(
    min_count: int, gone: str, bound: list[str], succeeds: bool
) -> None:
    binder = Failing(gone)
    how: dict[str, Any] = {"binder": binder, "gates": GATES, "version": RELEASE}
    with world(group(min_count), *MEMBERS, *ROOM, **how) as w, direct(w.backend) as stubs:
        (answer,) = stubs.scheduling.ScheduleGroups(ask(mode=BIND)).groups
        assert binder.bound == bound
        assert sorted(placed(w.state)) == bound
        assert not len(w.backend.committer.reservations)
    assert (statuses_code(answer.verdict) == "SUCCESS") is succeeds
    if not succeeds:
        assert f"pod default/{gone}: " in answer.verdict.message


def test_pods_that_leave_or_are_gated_are_not_tried() -> None:
    gated = member("gated", spec={"schedulingGates": [{"name": "later"}]})
    leaves = member("leaves", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    answer = schedule(group(1), MEMBERS[0], gated, leaves, *ROOM)
    assert [one.pod.name for one in answer.pods] == ["m0", "gated"]
    assert "waiting for scheduling gates" in answer.pods[1].verdict.message


def test_pods_that_are_sent_count_although_nobody_knows_them() -> None:
    answer = schedule(group(2), *ROOM, request=ask(*map(sent, MEMBERS[:2])))
    assert statuses_code(answer.verdict) == "SUCCESS"
    assert [one.pod.name for one in answer.pods] == ["m0", "m1"]


OTHER = make_pod("other", spec={"schedulingGroup": {"podGroupName": "h"}})
ELSEWHERE = make_pod("far", namespace="team", spec=IN_GROUP)


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        pytest.param(pb.ScheduleGroupsRequest(), "INVALID_ARGUMENT", "send one or more", id="no group"),
        pytest.param(
            pb.ScheduleGroupsRequest(groups=[pb.GroupToSchedule(namespace="default")]),
            "INVALID_ARGUMENT",
            "is missing",
            id="no name",
        ),
        pytest.param(
            pb.ScheduleGroupsRequest(groups=[*ask().groups, *ask().groups]),
            "INVALID_ARGUMENT",
            "is group default/g again",
            id="a group twice",
        ),
        pytest.param(
            pb.ScheduleGroupsRequest(groups=[pb.GroupToSchedule(namespace="default", name="no")]),
            "NOT_FOUND",
            "PodGroup default/no is not known",
            id="unknown",
        ),
        pytest.param(
            ask(sent(OTHER)), "INVALID_ARGUMENT", "names group default/h, not default/g", id="another group"
        ),
        pytest.param(
            ask(sent(ELSEWHERE)),
            "INVALID_ARGUMENT",
            "names group team/g, not default/g",
            id="another namespace",
        ),
        pytest.param(ask(named("alone")), "INVALID_ARGUMENT", "names no group", id="in no group"),
        pytest.param(
            ask(sent(MEMBERS[0]), sent(MEMBERS[0])), "INVALID_ARGUMENT", "of another pod", id="a pod twice"
        ),
    ],
)
def test_wrong_requests(request_: pb.ScheduleGroupsRequest, code: str, said: str) -> None:
    with (
        world(group(1), make_pod("alone"), *ROOM, gates=GATES, version=RELEASE) as w,
        direct(w.backend) as stubs,
    ):
        failure = rejected(lambda: stubs.scheduling.ScheduleGroups(request_))
    assert failure.code.name == code
    assert said in str(failure)


def test_without_the_gate_a_group_is_nothing_to_decide_about() -> None:
    with world(group(1), *MEMBERS, make_node("a")) as w, direct(w.backend) as stubs:
        failure = rejected(lambda: stubs.scheduling.ScheduleGroups(ask()))
    assert (failure.code.name, failure.info.reason) == ("FAILED_PRECONDITION", "GROUPS_OFF")


@pytest.mark.parametrize(
    ("nodes", "mode", "results"),
    [
        pytest.param(ROOM, 0, {1}, id="a dry run that fits"),
        pytest.param(ROOM, RESERVE, {1}, id="reserved"),
        pytest.param((node("a", 2),), 0, {2}, id="not room for all"),
    ],
)
def test_what_is_decided_for_each_pod_of_a_group_is_remembered(
    nodes: tuple[Any, ...], mode: int, results: set[int]
) -> None:
    with world(*nodes, group(3), *MEMBERS, gates=GATES, version=RELEASE) as w, direct(w.backend) as stubs:
        (answer,) = stubs.scheduling.ScheduleGroups(ask(mode=mode)).groups
        noted = stubs.decisions.ListDecisions(decision_pb.ListDecisionsRequest()).decisions
        again = [stubs.decisions.ExplainAt(decision_pb.ExplainAtRequest(seq=one.seq)) for one in noted]
    assert [(each.pod.name, each.node) for each in noted] == [
        (each.pod.name, each.node) for each in answer.pods
    ]
    assert {each.result for each in noted} == results
    assert all(bool(each.verdict.message) == (results == {2}) for each in noted)
    assert all(one.agrees for one in again)
