"""The scheduler alone carries out PostFilter's proposals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.audit.trail import AuditTrail
from mooring.cluster.api import ApiServer
from mooring.cluster.cluster_api import KubernetesApi
from mooring.framework import ClusterApi, CycleState, Pod, PostFilterPlugin, Remedy, Status
from mooring.framework.errors import UnavailableError
from mooring.framework.preemption import RejectedNodes
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.scheduler.preemption import carry_out
from mooring.testing import make_node, make_pod
from tests.plugins.test_claim_reserving import FINALIZER, MADE, status_of, using, wanting
from tests.plugins.test_dynamic_resources import GPU, allocation, claim, device_class, slice_of
from tests.runtime.committing import World as Committing
from tests.runtime.committing import committing

from .world import World

OUT_OF_REACH = allocation("d0", node="gone")
REJECTED = "0/2 nodes are available: 2 resourceclaim not available on the node."
PROPOSED = f"{REJECTED} ResourceClaim default/c could be deallocated"

NO_ANSWER = UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")


def user(name: str) -> dict[str, str]:
    return {"resource": "pods", "name": name, "uid": f"uid-{name}"}


@contextmanager
def rejected(**status: Any) -> Iterator[tuple[Committing, Evaluation]]:
    """Yield a pod whose claim has its devices on another node."""
    with committing(DynamicResources) as world:
        held = claim("c", status={"allocation": OUT_OF_REACH, **status})
        world.add(GPU, slice_of("a", {}), held)
        (pod,) = world.add(using("p", "c"))
        placement = world.committer.place_pod(pod, world.engine.profile(), ALL_NODES)
        assert placement.choice.node_name is None
        yield world, placement.choice.evaluation


def api_of(world: Committing) -> ClusterApi:
    from kubernetes.client import Configuration

    configuration = Configuration()
    configuration.host = world.fake.url
    return KubernetesApi(ApiServer(lambda: configuration))


@pytest.mark.parametrize("users", [[], [user("p")]], ids=["nobody's", "its own"])
def test_a_claim_that_nobody_else_uses_gives_its_devices_back(users: list[dict[str, str]]) -> None:
    devices = [{"driver": "gpu.example.com", "pool": "a", "device": "d0"}]
    with rejected(reservedFor=users, devices=devices) as (world, evaluation):
        assert evaluation.message == PROPOSED
        assert status_of(world, "c")["allocation"] == OUT_OF_REACH, "a decision alone changes nothing"
        carry_out(evaluation, world.pod("p"), api_of(world), AuditTrail())
        assert evaluation.message == f"{REJECTED} deallocation of ResourceClaim completed"
        assert not status_of(world, "c").keys() & {"allocation", "reservedFor", "devices"}
        world.sync()
        placed = world.committer.place_pod(world.pod("p"), world.engine.profile(), ALL_NODES)
        assert placed.choice.node_name == "a"


@pytest.mark.parametrize("users", [[user("q")], [user("p"), user("q")]], ids=["another's", "shared"])
def test_a_claim_that_somebody_else_uses_is_left_alone(users: list[dict[str, str]]) -> None:
    with rejected(reservedFor=users) as (world, evaluation):
        carry_out(evaluation, world.pod("p"), api_of(world), AuditTrail())
        assert evaluation.message == REJECTED
        assert status_of(world, "c")["allocation"] == OUT_OF_REACH


def test_a_claim_that_changed_meanwhile_is_left_alone() -> None:
    with rejected() as (world, evaluation):
        found = world.fake.get("ResourceClaim", "c")
        assert found is not None
        found["status"]["reservedFor"] = [user("q")]
        world.fake.add(found)
        carry_out(evaluation, world.pod("p"), api_of(world), AuditTrail())
        assert "has been modified" in evaluation.message
        assert status_of(world, "c") == {"allocation": OUT_OF_REACH, "reservedFor": [user("q")]}


def test_a_claim_that_was_made_for_an_earlier_attempt_is_deleted() -> None:
    with committing(DynamicResources) as world:
        named = device_class("gpu", extendedResourceName="example.com/gpu")
        made = claim("made", status={"allocation": allocation("d0", node="a"), "reservedFor": [user("p")]})
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
        made["metadata"] |= {
            "annotations": {MADE: "true"},
            "ownerReferences": [owner],
            "finalizers": [FINALIZER],
        }
        world.add(named, slice_of("a", {}), made)
        (pod,) = world.add(wanting("p"))
        placement = world.committer.place_pod(pod, world.engine.profile(), ALL_NODES)
        evaluation = placement.choice.evaluation
        assert "2 cannot schedule extended resource claim" in evaluation.message
        assert evaluation.message.endswith("ResourceClaim default/made could be deleted")
        carry_out(evaluation, world.pod("p"), api_of(world), AuditTrail())
        assert evaluation.message.endswith("deletion of ResourceClaim completed")
        assert world.fake.all("ResourceClaim") == []
        world.sync()
        placed = world.committer.place_pod(world.pod("p"), world.engine.profile(), ALL_NODES)
        assert placed.choice.node_name == "a"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(None, "changed, more", id="done"),
        pytest.param(NO_ANSWER, "cpu. no answer", id="failed"),
    ],
)
def test_the_scheduler_carries_it_out_and_says_so(error: Exception | None, said: str) -> None:
    asked: list[ClusterApi] = []

    def change(cluster: ClusterApi) -> None:
        asked.append(cluster)
        if error is not None:
            raise error

    class Proposing(PostFilterPlugin[None]):
        name = "Proposing"

        def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
            state.write(Remedy, Remedy("may change", "changed", change))
            return Status.unschedulable("may change", "more")

    world = World(Proposing, nodes=[make_node("a", allocatable={"cpu": "1", "pods": 10})])
    world.add(make_pod("p", requests={"cpu": "2"}))
    assert asked == [world.cluster]
    (event,) = world.cluster.events
    assert event[2] == world.cluster.named("p").status.conditions[0].message
    assert said in event[2], event
