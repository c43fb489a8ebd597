"""Gangs: waiting for enough pods, then for enough nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework import (
    Code,
    CycleState,
    Pod,
    PodsToActivate,
    Status,
)
from mooring.framework.objects import (
    GangSchedulingPolicy,
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from mooring.framework.releases import DEFAULT_KUBE_VERSION
from mooring.plugins.gang_scheduling.plugin import REASON_COMING, REASON_WAITING, GangScheduling
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import make

GROUP = {"schedulingGroup": {"podGroupName": "g"}}


def group(min_count: int | None, name: str = "g", namespace: str = "default") -> PodGroup:
    gang = GangSchedulingPolicy(min_count) if min_count is not None else None
    spec = PodGroupSpec(scheduling_policy=PodGroupSchedulingPolicy(gang=gang))
    return PodGroup(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


def member(name: str, **fields: Any) -> Pod:
    return make_pod(name, **{"spec": GROUP, **fields})


ONE = member("one")


@pytest.mark.parametrize(
    ("pod", "objects", "reason"),
    [
        pytest.param(make_pod(), [], None, id="in no group"),
        pytest.param(ONE, [], 'waiting for pods\'s pod group "g" to appear', id="no such group"),
        pytest.param(ONE, [group(1, namespace="other")], 'waiting for pods\'s pod group "g"', id="elsewhere"),
        pytest.param(ONE, [group(None)], None, id="one by one"),
        pytest.param(ONE, [group(1)], None, id="the pod is enough"),
        pytest.param(ONE, [group(2)], REASON_COMING, id="the pod is alone"),
        pytest.param(ONE, [group(2), ONE], REASON_COMING, id="it is counted once"),
        pytest.param(ONE, [group(2), member("two")], None, id="there is another"),
        pytest.param(ONE, [group(2), make_pod("two")], REASON_COMING, id="that isn't in the group"),
        pytest.param(
            ONE, [group(2), member("two", namespace="other")], REASON_COMING, id="that is in another group"
        ),
        pytest.param(
            ONE, [group(2), member("two", status={"phase": "Failed"})], REASON_COMING, id="that is finished"
        ),
        pytest.param(ONE, [group(2), member("two", node="n")], None, id="that has its node"),
    ],
)
def test_pods_wait_for_their_gang(pod: Pod, objects: list[Any], reason: str | None) -> None:
    state = State()
    state.replace("test", objects)
    said = make(GangScheduling, state=state).pre_enqueue(pod)
    if reason is None:
        assert said == Status()
    else:
        assert said.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert said.message.startswith(reason)


@dataclass
class Waiting:
    """Who waits, and who was allowed to go on."""

    uids: list[str]
    allowed: list[tuple[str, str]] = field(default_factory=list)

    def get(self, uid: str) -> Any:
        return _WaitingPod(self, uid) if uid in self.uids else None

    def __iter__(self) -> Iterator[Any]:
        return iter([_WaitingPod(self, uid) for uid in self.uids])


@dataclass
class _WaitingPod:
    room: Waiting
    uid: str

    def allow(self, plugin: str) -> None:
        self.room.allowed.append((self.uid, plugin))


def permit(
    pod: Pod, objects: list[Any], waiting: Waiting | None = None, version: str = DEFAULT_KUBE_VERSION
) -> tuple[Status, float, tuple[Pod, ...]]:
    state, notes = State(), CycleState()
    state.replace("test", [make_node("n"), *objects, pod])
    state.assume(pod, "n")
    plugin = make(GangScheduling, kube=version, state=state, waiting=waiting)
    status, seconds = plugin.permit(notes, pod, "n")
    activated = notes.get(PodsToActivate, PodsToActivate) or PodsToActivate()
    return status, seconds, activated.pods


@pytest.mark.parametrize(
    ("pod", "objects"),
    [
        pytest.param(make_pod(), [], id="in no group"),
        pytest.param(ONE, [group(None), member("two")], id="one by one"),
        pytest.param(ONE, [group(1), member("two")], id="it is enough"),
        pytest.param(ONE, [group(2), member("two", node="n")], id="another has its node"),
        pytest.param(ONE, [group(2), member("two", node="gone")], id="on a node that nobody knows"),
    ],
)
def test_with_enough_nodes_a_pod_goes_on(pod: Pod, objects: list[Any]) -> None:
    assert permit(pod, objects) == (Status(), 0.0, ())


def test_without_enough_nodes_it_waits_and_the_others_are_tried() -> None:
    two, three = member("two"), member("three", node="n")
    status, seconds, activated = permit(ONE, [group(3), two, three])
    assert (status.code, status.reasons, seconds) == (Code.WAIT, (REASON_WAITING,), 300.0)
    assert activated == (two,)


def test_the_last_one_lets_the_others_go_on() -> None:
    two, alone = member("two", node="n"), make_pod("alone", node="n")
    waiting = Waiting([two.metadata.uid, alone.metadata.uid])
    assert permit(ONE, [group(2), two, alone], waiting)[0] == Status()
    assert waiting.allowed == [(two.metadata.uid, "GangScheduling")]


def test_a_group_that_is_gone_fails_the_pod() -> None:
    status, _, _ = permit(ONE, [])
    missing = "pod group object not found for pod group podgroup/default/g"
    assert (status.code, status.message) == (Code.ERROR, f"failed to get podGroup default/g: {missing}")
