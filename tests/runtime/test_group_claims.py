"""Claims of a group's pods: what the cycle reserves for one pod, those after it can't have."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework import PodGroupInfo
from mooring.framework.objects import PodGroupResourceClaim
from mooring.runtime.cycle.group_result import GroupDecision
from mooring.testing import make_node, make_pod
from mooring_client.v1 import scheduling_service_pb2 as pb
from tests.plugins.test_dynamic_resources import allocation, claim, device_class, slice_of
from tests.runtime.test_group_cycle import GATES, IN_GROUP, engine_of, group, member, node
from tests.service.backends import direct, statuses_code, world

VERSION, GPU = "1.37", "example.com/gpu"
GROUP_GATES = GATES
NODES = (node("a", 9), node("b", 9))


def devices(**counts: int) -> list[Any]:
    """Return a class, and on each node a number of devices."""
    slices = [
        slice_of(on, *({"name": f"d{at}"} for at in range(count)), pool={"name": on})
        for on, count in counts.items()
    ]
    return [from_manifest(each) for each in (device_class(), *slices)]


def claiming(name: str, claimed: str) -> Any:
    return member(name, spec={"resourceClaims": [{"name": "c", "resourceClaimName": claimed}]})


def claims(*names: str) -> list[Any]:
    return [from_manifest(claim(name)) for name in names]


def decide(pods: tuple[Any, ...], *objects: Any) -> GroupDecision:
    of = group(len(pods))
    engine = engine_of(of, *pods, *NODES, *objects, gates=GROUP_GATES, version=VERSION)
    return engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))


OWN = (claiming("m0", "first"), claiming("m1", "second"))
SHARED = (claiming("m0", "first"), claiming("m1", "first"))


@pytest.mark.parametrize(
    ("pods", "there", "nodes"),
    [
        pytest.param(OWN, {"a": 1, "b": 1}, ["a", "b"], id="one device a node"),
        pytest.param(OWN, {"a": 2}, ["a", "a"], id="two on one"),
        pytest.param(OWN, {"a": 1}, None, id="too few"),
        pytest.param(SHARED, {"b": 1}, ["b", "b"], id="one claim for both"),
    ],
)
def test_two_pods_never_count_on_one_device(
    pods: tuple[Any, ...], there: dict[str, int], nodes: list[str] | None
) -> None:
    decision = decide(pods, *devices(**there), *claims("first", "second"))
    assert decision.status.ok is (nodes is not None)
    if nodes is not None:
        assert sorted(each.node_name for each in decision.members) == nodes
    else:
        assert "cannot allocate all claims" in decision.members[1].message


def test_nor_do_they_where_a_class_comes_that_stands_for_what_they_ask_for() -> None:
    """The result for pods like them was found while a device plugin had it."""
    pods = tuple(make_pod(name, requests={GPU: "1"}, spec=IN_GROUP) for name in ("m0", "m1"))
    of, before = group(2), make_node("a", allocatable={"pods": 9, GPU: 4})
    engine = engine_of(of, *pods, before, gates=GROUP_GATES, version=VERSION)
    asked = PodGroupInfo(of, pods), engine.profile("default-scheduler")
    for _ in range(3):
        assert engine.decide_group(*asked).status.ok
    assert engine.cache_counts.hits
    after = make_node("a", allocatable={"pods": 9})
    known = from_manifest(device_class(extendedResourceName=GPU))
    assert isinstance(engine.state, State)
    engine.state.apply("test", [Put(item) for item in (after, known, *devices(a=1)[1:])])
    decision = engine.decide_group(*asked)
    assert not decision.status.ok
    assert "cannot allocate all claims" in decision.members[1].message


def test_a_claim_that_pods_share_is_committed_for_all_of_them() -> None:
    objects = (group(2), *SHARED, *NODES, *devices(b=1), *claims("first"))
    asked = pb.GroupToSchedule(namespace="default", name="g")
    request = pb.ScheduleGroupsRequest(groups=[asked], commit_mode=pb.COMMIT_MODE_BIND)
    with world(*objects, gates=GROUP_GATES, version=VERSION) as w, direct(w.backend) as stubs:
        (answer,) = stubs.scheduling.ScheduleGroups(request).groups
    assert statuses_code(answer.verdict) == "SUCCESS", answer
    assert {one.node for one in answer.pods} == {"b"}


CLAIMS_GATE = {**GROUP_GATES, "DRAWorkloadResourceClaims": True}
GONE = allocation("d0", node="gone")
ANYWHERE = allocation("d0")
OF_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}
OF_POD = {"resource": "pods", "name": "m0", "uid": claiming("m0", "").metadata.uid}
OTHERS = {"resource": "pods", "name": "x", "uid": "x"}


@pytest.mark.parametrize(
    ("gates", "held", "users", "there", "proposals"),
    [
        pytest.param(GROUP_GATES, GONE, [], (), ["default/first could be deallocated"], id="nobody uses it"),
        pytest.param(GROUP_GATES, GONE, [OF_POD], (), ["default/first could be deallocated"], id="its pod's"),
        pytest.param(GROUP_GATES, GONE, [OTHERS], (), [], id="another pod's"),
        pytest.param(GROUP_GATES, GONE, [OF_GROUP], (), [], id="the group's, without the gate"),
        pytest.param(
            CLAIMS_GATE,
            GONE,
            [OF_GROUP],
            (),
            ["default/first could be deallocated"],
            id="the group's",
        ),
        pytest.param(
            CLAIMS_GATE,
            ANYWHERE,
            [OF_GROUP],
            (),
            ["default/first could be unreserved"],
            id="the group's, which fits nowhere for another reason",
        ),
        pytest.param(
            CLAIMS_GATE, ANYWHERE, [OF_GROUP], (member("m9", spec={"nodeName": "a"}),), [], id="in use"
        ),
    ],
)
def test_what_is_proposed_for_the_claims_of_a_group_that_fits_nowhere(
    gates: dict[str, bool],
    held: dict[str, Any],
    users: list[dict[str, str]],
    there: tuple[Any, ...],
    proposals: list[str],
) -> None:
    entry = PodGroupResourceClaim(name="c", resource_claim_name="first")
    # With constraints nothing is proposed.
    of = group(3, resource_claims=(entry,))
    of = replace(of, spec=replace(of.spec, scheduling_constraints=None))
    pods = (
        claiming("m0", "first"),
        *(member(f"m{at}", spec={"nodeSelector": {"no": "where"}}) for at in (1, 2)),
    )
    taken = from_manifest(claim("first", status={"allocation": held, "reservedFor": users}))
    engine = engine_of(of, *pods, *there, *NODES, *devices(a=1), taken, gates=gates, version=VERSION)
    decision = engine.decide_group(PodGroupInfo(of, pods), engine.profile("default-scheduler"))
    assert decision.preemption is not None
    assert [one.proposal for one in decision.preemption.remedies] == [
        f"ResourceClaim {each}" for each in proposals
    ]
    freed = any("unreserved" in proposal for proposal in proposals)
    assert ("ResourceClaim unreserved for PodGroup" in decision.message) is freed


def test_a_claim_that_pods_share_is_freed_once() -> None:
    of = group(1)
    of = replace(of, spec=replace(of.spec, scheduling_constraints=None))
    gone = from_manifest(claim("first", status={"allocation": GONE}))
    engine = engine_of(of, *SHARED, *NODES, *devices(a=1), gone, gates=GROUP_GATES, version=VERSION)
    decision = engine.decide_group(PodGroupInfo(of, SHARED), engine.profile("default-scheduler"))
    assert decision.preemption is not None
    (remedy,) = decision.preemption.remedies
    assert remedy.proposal == "ResourceClaim default/first could be deallocated"
