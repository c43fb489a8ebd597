"""DynamicResources after the choice: devices are kept, written down, waited for, and given back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put
from mooring.framework import BindOutcome, Code, Pod
from mooring.framework.objects.claims import ResourceClaim
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing.builders import node_manifest
from tests.fake_api_server import Answer
from tests.plugins.test_dynamic_resources import (
    GPU,
    allocation,
    asking,
    claim,
    device_class,
    exactly,
    first_of,
    slice_of,
)
from tests.process import until
from tests.runtime.committing import ROOM, World, committing

FINALIZER = "resource.kubernetes.io/delete-protection"
ONE, TWO = slice_of("a", {}), slice_of("a", {}, {})


def using(name: str, *claims: str, **spec: Any) -> dict[str, Any]:
    entries = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": entries, **spec},
    }


@contextmanager
def devices_world(*objects: dict[str, Any]) -> Iterator[World]:
    with committing(DynamicResources) as world:
        world.add(GPU, *objects)
        yield world


def place(world: World, pod: Pod) -> str:
    """Return the node, or why there is none."""
    placement = world.committer.place_pod(pod, world.engine.profile(), ALL_NODES)
    if placement.status.ok:
        return placement.choice.node_name or ""
    return placement.status.message


def status_of(world: World, name: str) -> dict[str, Any]:
    found = world.fake.get("ResourceClaim", name)
    assert found is not None
    status: dict[str, Any] = found.get("status") or {}
    return status


def test_a_claim_is_written_down_before_the_pod_is_bound() -> None:
    with devices_world(ONE, claim("c")) as world:
        (pod,) = world.add(using("p", "c"))
        assert place(world, pod) == "a"
        found = world.fake.get("ResourceClaim", "c")
        assert found is not None
        assert found["metadata"]["finalizers"] == [FINALIZER]
        assert "annotations" not in found["metadata"]
        status = found["status"]
        assert status["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]
        assert status["allocation"].pop("allocationTimestamp").endswith("Z")
        assert status["allocation"] == allocation("d0", node="a")
        writes = [entry.call.path.rsplit("/", 1)[-1] for entry in world.fake.history.all() if entry.object]
        assert writes == ["c", "status", "binding"]
        world.settle()
        known = world.state.snapshot.objects.get(ResourceClaim, "c", "default")
        assert known is not None
        assert known.metadata.resource_version == found["metadata"]["resourceVersion"]


OPAQUE = {"opaque": {"driver": "gpu.example.com", "parameters": {"kind": "x"}}}
FOR_BOTH = {"requests": ["r0", "r1"], **OPAQUE}
OF_CLASS = {"source": "FromClass", "requests": ["r0", "r1/s1"], **OPAQUE}


@pytest.mark.parametrize(
    ("version", "config", "written"),
    [
        pytest.param(
            "1.36",
            [{"requests": ["r1/s1"], **OPAQUE}, {"requests": ["r1/s0"], **OPAQUE}, OPAQUE],
            [
                OF_CLASS,
                {"source": "FromClaim", "requests": ["r1/s1"], **OPAQUE},
                {"source": "FromClaim", **OPAQUE},
            ],
            id="of what was selected, and of all",
        ),
        pytest.param(
            "1.36",
            [FOR_BOTH],
            [OF_CLASS, {"source": "FromClaim", **FOR_BOTH}, {"source": "FromClaim", **FOR_BOTH}],
            id="1.36: once for each request",
        ),
        pytest.param(
            "1.37",
            [{"requests": ["r1/s1"], **OPAQUE}, FOR_BOTH],
            [
                {"source": "FromClass", **OPAQUE},
                {"source": "FromClaim", "requests": ["r1/s1"], **OPAQUE},
                {"source": "FromClaim", **OPAQUE},
            ],
            id="1.37: once, and none named where all are meant",
        ),
    ],
)
def test_the_configuration_of_classes_and_claims_goes_with_the_devices(
    version: str, config: list[dict[str, Any]], written: list[dict[str, Any]]
) -> None:
    configured = claim("c", exactly(), first_of(asking(deviceClassName="none"), asking()))
    configured["spec"]["devices"]["config"] = config
    with_config = {**GPU, "spec": {**GPU["spec"], "config": [OPAQUE]}}
    nothing = {**GPU, "metadata": {"name": "none"}, "spec": {"selectors": [{"cel": {"expression": "false"}}]}}
    with committing(DynamicResources, version=version) as world:
        world.add(with_config, nothing, TWO, configured)
        (pod,) = world.add(using("p", "c"))
        assert place(world, pod) == "a"
        assert status_of(world, "c")["allocation"]["devices"]["config"] == written


def test_a_claim_that_has_devices_is_only_reserved() -> None:
    allocated = claim("c", status={"allocation": allocation("d0", node="a")})
    with devices_world(ONE, allocated) as world:
        first, second = world.add(using("p", "c"), using("q", "c"))
        assert place(world, first) == "a"
        assert place(world, second) == "a"
        users = [user["uid"] for user in status_of(world, "c")["reservedFor"]]
        assert users == ["uid-p", "uid-q"]


def test_two_pods_never_share_a_device() -> None:
    names = [f"{at}" for at in range(12)]
    slices = [slice_of(node, *([{}] * 4)) for node in ("a", "b")]
    with devices_world(*slices, *(claim(f"c{name}") for name in names)) as world:
        pods = world.add(*(using(f"p{name}", f"c{name}") for name in names))
        with ThreadPoolExecutor(6) as callers:
            placed = list(callers.map(lambda pod: place(world, pod), pods))
        assert sum(node in ("a", "b") for node in placed) == 8
        devices = [
            (result["pool"], result["device"])
            for name in names
            for result in status_of(world, f"c{name}")
            .get("allocation", {})
            .get("devices", {})
            .get("results", [])
        ]
        assert len(set(devices)) == len(devices) == 8
        world.settle()
        world.check(room=10)


def test_what_one_decision_takes_the_next_one_sees() -> None:
    with devices_world(ONE, claim("c"), claim("d")) as world:
        first, second, third = world.add(using("p", "c"), using("q", "d"), using("r", "c"))
        profile = world.engine.profile()
        assert world.committer.reserve_pod(first, "a", profile).status.ok
        assert world.committer.reserve_pod(second, "a", profile).status.reasons == (
            "cannot allocate all claims",
        )
        in_flight = world.committer.reserve_pod(third, "a", profile)
        assert in_flight.status.reasons == ("resource claim default/c is in the process of being allocated",)
        assert in_flight.status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "nobody has to go for this pod"
        assert world.committer.unreserve_pod("default", "p", "uid-p")
        assert world.committer.reserve_pod(second, "a", profile).status.ok
        assert world.bind(second, "a").name == "BOUND"  # type: ignore[union-attr]


def test_a_failed_binding_takes_the_pod_out_of_its_claim() -> None:
    with devices_world(ONE, claim("c")) as world:
        (pod,) = world.add(using("p", "c"))
        world.fake.faults.on("POST", "/binding$", Answer(403), times=1)
        assert world.bind(pod, "a") == "FORBIDDEN"
        status = status_of(world, "c")
        assert "reservedFor" not in status
        assert status["allocation"]["devices"] == allocation("d0")["devices"]
        assert place(world, pod) == "a"


def test_a_claim_that_is_written_by_somebody_else_meanwhile_is_read_again() -> None:
    with devices_world(ONE, claim("c")) as world:
        (pod,) = world.add(using("p", "c"))
        world.fake.faults.on("PATCH", "/resourceclaims/c/status$", Answer(409), times=2)
        assert place(world, pod) == "a"


def test_a_claim_that_somebody_else_allocated_is_left_alone() -> None:
    with devices_world(ONE, claim("c")) as world:
        (pod,) = world.add(using("p", "c"))
        taken = world.fake.get("ResourceClaim", "c")
        assert taken is not None
        world.fake.add({**taken, "status": {"allocation": allocation("d0", node="b")}})
        assert "got allocated elsewhere" in place(world, pod)
        world.settle()
        assert status_of(world, "c")["allocation"] == allocation("d0", node="b")
        assert not world.pod("p").spec.node_name


def test_devices_are_waited_for_until_their_driver_says_that_they_are_ready() -> None:
    device = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"], "bindsToNode": True}
    with devices_world(slice_of("a", device), claim("c")) as world:
        (pod,) = world.add(using("p", "c"))
        caller = threading.Thread(target=world.bind, args=(pod, "a"))
        caller.start()
        until(lambda: bool(status_of(world, "c").get("reservedFor")))
        assert world.fake.history.bindings() == []
        found = world.fake.get("ResourceClaim", "c")
        assert found is not None
        condition = {"type": "attached", "status": "True"}
        said = {"driver": "gpu.example.com", "pool": "a", "device": "d0", "conditions": [condition]}
        found["status"]["devices"] = [said]
        world.fake.add(found)
        caller.join(20)
        assert world.pod("p").spec.node_name == "a"


GROUP_GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
OF_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"}


@contextmanager
def group_world(*objects: dict[str, Any], gates: dict[str, bool] = GROUP_GATES) -> Iterator[World]:
    """Yield a group that names two claims: one that is made from a template, and one that is there."""
    with committing(DynamicResources, gates=gates, without={"resource.k8s.io/v1beta2"}) as world:
        named = [
            {"name": "own", "resourceClaimTemplateName": "t"},
            {"name": "shared", "resourceClaimName": "shared"},
        ]
        group = {
            "kind": "PodGroup",
            "metadata": {"name": "g", "uid": "uid-g"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": named},
        }
        world.add(GPU, group, *objects)
        yield world


def in_group(name: str, *claims: str) -> dict[str, Any]:
    return using(name, *claims, schedulingGroup={"podGroupName": "g"})


def test_pods_that_share_a_claim_of_their_group_write_it_at_once() -> None:
    with group_world(ONE, claim("shared")) as world:
        names = ("p", "q", "r", "s")
        pods = world.add(*(in_group(name, "shared") for name in names))
        profile = world.engine.profile()
        assert all(world.committer.reserve_pod(pod, "a", profile).status.ok for pod in pods)
        with ThreadPoolExecutor(4) as callers:
            outcomes = list(callers.map(lambda pod: world.bind(pod, "a"), pods))
        assert outcomes == [BindOutcome.BOUND] * 4
        status = status_of(world, "shared")
        assert status["reservedFor"] == [OF_GROUP]
        assert [each["device"] for each in status["allocation"]["devices"]["results"]] == ["d0"]


def test_devices_stay_taken_until_no_pod_of_the_group_waits_for_them() -> None:
    with group_world(ONE, claim("shared"), claim("other")) as world:
        first, second, third = world.add(
            in_group("p", "shared"), in_group("q", "shared"), using("x", "other")
        )
        profile = world.engine.profile()
        assert world.committer.reserve_pod(first, "a", profile).status.ok
        assert world.committer.reserve_pod(second, "a", profile).status.ok
        assert world.committer.unreserve_pod("default", "p", "uid-p")
        assert world.committer.reserve_pod(third, "a", profile).status.reasons == (
            "cannot allocate all claims",
        )
        assert world.committer.unreserve_pod("default", "q", "uid-q")
        assert world.committer.reserve_pod(third, "a", profile).status.ok


def test_a_claim_keeps_the_group_where_a_pod_of_it_is_not_bound() -> None:
    with group_world(ONE, claim("shared")) as world:
        (pod,) = world.add(in_group("p", "shared"))
        world.fake.faults.on("POST", "/binding$", Answer(403), times=1)
        assert world.bind(pod, "a") == "FORBIDDEN"
        assert status_of(world, "shared")["reservedFor"] == [OF_GROUP]


@pytest.mark.parametrize(
    ("gates", "owner", "said"),
    [
        pytest.param(GROUP_GATES, {}, "a", id="its group's"),
        pytest.param(
            GROUP_GATES,
            {"name": "another"},
            "ResourceClaim default/c was not created for Pod default/p "
            "(neither Pod nor PodGroup g is the owner)",
            id="another group's",
        ),
        pytest.param(
            {},
            {},
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
            id="without the gate",
        ),
    ],
)
def test_a_claim_may_be_made_for_the_group(gates: dict[str, bool], owner: dict[str, str], said: str) -> None:
    made = claim("c")
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g", "uid": "uid-g"}
    made["metadata"]["ownerReferences"] = [{**group, "controller": True, **owner}]
    with group_world(ONE, made, gates=gates) as world:
        pod = in_group("p")
        pod["spec"]["resourceClaims"] = [{"name": "own", "resourceClaimTemplateName": "t"}]
        pod["status"] = {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": "c"}]}
        (placed,) = world.add(pod)
        assert said in place(world, placed)
        users = status_of(world, "c").get("reservedFor", [])
        assert users == ([OF_GROUP] if said == "a" else [])


CLASS = device_class("gpu", extendedResourceName="example.com/gpu")
MADE = "resource.kubernetes.io/extended-resource-claim"


def wanting(name: str, *init: int, gpus: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a pod that asks for devices by a resource's name, its init containers for as many as
    they say.
    """

    def container(name: str, count: int) -> dict[str, Any]:
        amounts = {"example.com/gpu": str(count)}
        return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": amounts}}

    before = [container(f"i{at}", count) for at, count in enumerate(init)]
    containers = [container("c", gpus)]
    return {**using(name), "spec": {"initContainers": before, "containers": containers, **spec}}


@contextmanager
def extended_world(*objects: dict[str, Any]) -> Iterator[World]:
    with committing(DynamicResources) as world:
        world.add(CLASS, *objects)
        yield world


def mapping(container: str, request: str) -> dict[str, str]:
    return {"containerName": container, "resourceName": "example.com/gpu", "requestName": request}


@pytest.mark.parametrize(
    ("pod", "requests", "mappings"),
    [
        pytest.param(
            wanting("p", gpus=2),
            {"container-0-request-0": 2},
            [mapping("c", "container-0-request-0")],
            id="a container",
        ),
        pytest.param(
            wanting("p", 1, 3, 2),
            {"container-1-request-0": 2, "container-3-request-0": 1},
            [
                mapping("c", "container-3-request-0"),
                mapping("i0", "container-3-request-0"),
                mapping("i1", "container-3-request-0"),
                mapping("i2", "container-3-request-0"),
                mapping("i1", "container-1-request-0"),
                mapping("i2", "container-1-request-0"),
            ],
            id="those before share what they need beside",
        ),
    ],
)
def test_a_claim_is_made_for_devices_that_stand_for_a_resource(
    pod: dict[str, Any], requests: dict[str, int], mappings: list[dict[str, str]]
) -> None:
    with extended_world(slice_of("a", {}, {}, {}, {})) as world:
        (asking_pod,) = world.add(pod)
        assert place(world, asking_pod) == "a"
        (made,) = world.fake.all("ResourceClaim")
        meta = made["metadata"]
        assert meta["name"].startswith("p-extended-resources-")
        assert (meta["annotations"], meta["finalizers"]) == ({MADE: "true"}, [FINALIZER])
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
        assert meta["ownerReferences"] == [owner]
        asked = made["spec"]["devices"]["requests"]
        assert {each["name"]: each["exactly"].pop("count") for each in asked} == requests
        assert all(
            each["exactly"] == {"deviceClassName": "gpu", "allocationMode": "ExactCount"} for each in asked
        )
        status = made["status"]
        assert status["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]
        assert len(status["allocation"]["devices"]["results"]) == sum(requests.values())
        told = world.fake.get("Pod", "p")
        assert told is not None
        assert told["status"]["extendedResourceClaimStatus"] == {
            "requestMappings": mappings,
            "resourceClaimName": meta["name"],
        }
        world.settle()
        known = world.state.snapshot.objects.all(ResourceClaim)
        assert [claim.metadata.name for claim in known] == [meta["name"]]


def test_pods_that_ask_for_as_much_by_other_containers_are_told_of_their_own() -> None:
    with extended_world(slice_of("a", {}, {})) as world:
        other = wanting("q", gpus=1)
        other["spec"]["containers"][0]["name"] = "d"
        for pod in world.add(wanting("p", gpus=1), other):
            assert place(world, pod) == "a"
        told = [world.fake.get("Pod", name) or {} for name in "pq"]
        assert [each["status"]["extendedResourceClaimStatus"]["requestMappings"] for each in told] == [
            [mapping("c", "container-0-request-0")],
            [mapping("d", "container-0-request-0")],
        ]


def test_nothing_is_made_where_a_device_plugin_has_the_resource() -> None:
    with extended_world(ONE) as world:
        offered = {"example.com/gpu": "2", ROOM: "9", "pods": "9"}
        node = node_manifest("a", status={"allocatable": offered, "capacity": offered})
        world.state.apply("test", [Put(from_manifest(node))])
        (pod,) = world.add(wanting("p"))
        assert place(world, pod) == "a"
        assert world.fake.all("ResourceClaim") == []


def test_devices_that_are_about_to_stand_for_a_resource_are_taken() -> None:
    with extended_world(ONE) as world:
        first, second = world.add(wanting("p"), wanting("q"))
        profile = world.engine.profile()
        assert world.committer.reserve_pod(first, "a", profile).status.ok
        assert world.committer.reserve_pod(second, "a", profile).status.reasons == (
            "cannot allocate all claims",
        )
        assert world.committer.unreserve_pod("default", "p", "uid-p")
        assert world.committer.reserve_pod(second, "a", profile).status.ok
        assert world.bind(second, "a") == BindOutcome.BOUND


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(("POST", "/binding$"), id="the binding"),
        pytest.param(("PATCH", "/pods/p/status$"), id="the pod's status"),
        pytest.param(("PATCH", "/resourceclaims/[^/]*/status$"), id="the devices"),
    ],
)
def test_the_claim_goes_where_the_pod_is_not_bound(fault: tuple[str, str]) -> None:
    with extended_world(ONE) as world:
        (pod,) = world.add(wanting("p"))
        world.fake.faults.on(*fault, Answer(403), times=1)
        assert world.bind(pod, "a") != BindOutcome.BOUND
        assert world.fake.all("ResourceClaim") == []
        world.settle()
        assert place(world, pod) == "a"
        assert len(world.fake.all("ResourceClaim")) == 1
