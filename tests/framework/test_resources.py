"""Requests of pods: sums over containers, sidecars, init containers, resizes and pod level."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework import Gates, KubeVersion
from mooring.framework.host_ports import HostPort
from mooring.framework.pod_requests import ResourceRules, pod_usage
from mooring.framework.resources import ResourceError, allocatable, is_extended_resource, is_scalar_resource
from mooring.testing import make_pod

MIB = 2**20


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    """Return a container; ``cpu`` and ``memory`` are its requests."""
    names = {"cpu": "cpu", "memory": "memory", "gpu": "example.com/gpu"}
    requests = {names[key]: fields.pop(key) for key in names if key in fields}
    return {"name": name, "image": "x", "resources": {"requests": requests}, **fields}


def sidecar(name: str = "s", **fields: Any) -> dict[str, Any]:
    return container(name, restartPolicy="Always", **fields)


def resized(name: str, actuated: dict[str, str], allocated: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": actuated}, "allocatedResources": allocated}


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


@pytest.mark.parametrize(
    ("spec", "status", "requests", "non_zero"),
    [
        pytest.param({"containers": [container()]}, {}, {}, (100, 200 * MIB), id="nothing asked"),
        pytest.param(
            {"containers": [container(cpu="1"), container("d", memory="1Mi")]},
            {},
            {"cpu": 1000, "memory": MIB},
            (1100, 201 * MIB),
            id="each container without a request counts with the default",
        ),
        pytest.param(
            {"containers": [container(cpu="0", memory="0")]},
            {},
            {"cpu": 0, "memory": 0},
            (0, 0),
            id="explicit 0",
        ),
        pytest.param(
            {"containers": [container(cpu="0.1m"), container("d", cpu="0.1m")]},
            {},
            {"cpu": 1},
            (1, 400 * MIB),
            id="rounded once, at the end",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container("i", cpu="3")]},
            {},
            {"cpu": 3000},
            (3000, 200 * MIB),
            id="an init container is a peak",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [sidecar(cpu="2"), container("i", cpu="2")],
            },
            {},
            {"cpu": 4000},
            (4000, 400 * MIB),
            id="sidecars run beside later init containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}},
            {},
            {"cpu": 1250},
            (1250, 200 * MIB),
            id="overhead",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1", gpu=2)],
                "resources": {"requests": {"cpu": "3", "example.com/gpu": 9}},
            },
            {},
            {"cpu": 3000, "example.com/gpu": 2},
            (3000, 200 * MIB),
            id="pod level replaces cpu and memory alone",
        ),
        pytest.param(
            {"containers": [container(cpu="1")]},
            {"containerStatuses": [resized("c", {"cpu": "2"}, {"cpu": "3"})]},
            {"cpu": 3000},
            (3000, 200 * MIB),
            id="a resize counts the most",
        ),
        pytest.param(
            {"containers": [container(cpu="9")]},
            {"containerStatuses": [resized("c", {"cpu": "2"}, {"cpu": "3"})], "conditions": INFEASIBLE},
            {"cpu": 3000},
            (3000, 200 * MIB),
            id="an infeasible resize leaves out what is asked",
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {"unheard-of": "3"}}}]},
            {},
            {},
            (100, 200 * MIB),
            id="names that nobody counts",
        ),
    ],
)
def test_usage(
    spec: dict[str, Any], status: dict[str, Any], requests: dict[str, int], non_zero: tuple[int, int]
) -> None:
    usage = pod_usage(make_pod(spec=spec, status=status))
    assert dict(usage.requests) == requests
    assert (usage.non_zero_cpu, usage.non_zero_memory) == non_zero


@pytest.mark.parametrize(
    ("version", "gates", "cpu"),
    [
        pytest.param("1.34", {"PodLevelResources": False}, 1000, id="gate off: what the containers ask"),
        pytest.param("1.34", {}, 5000, id="1.34: what the pod asks"),
        pytest.param("1.34", {"InPlacePodLevelResourcesVerticalScaling": True}, 5000, id="a gate to come"),
        pytest.param("1.36", {}, 7000, id="1.36: what a resize gave"),
    ],
)
def test_releases_count_pod_level_requests_each_in_its_way(
    version: str, gates: dict[str, bool], cpu: int
) -> None:
    own = {"requests": {"cpu": "5"}}
    pod = make_pod(
        spec={"containers": [container(cpu="1")], "resources": own},
        status={"resources": {"requests": {"cpu": "7"}}},
    )
    rules = ResourceRules.of(Gates(KubeVersion.parse(version), gates))
    assert pod_usage(pod, rules).request("cpu") == cpu


@pytest.mark.parametrize(("resizing", "cpu"), [(True, 3000), (False, 1000)])
def test_a_resize_counts_unless_its_gate_is_off(resizing: bool, cpu: int) -> None:
    gates = Gates(KubeVersion.parse("1.34"), {"InPlacePodVerticalScaling": resizing})
    status = {"containerStatuses": [resized("c", {"cpu": "2"}, {"cpu": "3"})]}
    pod = make_pod(spec={"containers": [container(cpu="1")]}, status=status)
    assert pod_usage(pod, ResourceRules.of(gates)).request("cpu") == cpu


def test_equal_pods_take_equally() -> None:
    pods = [make_pod(name, requests={"cpu": "1", "memory": "1Gi"}) for name in ("a", "b")]
    assert pod_usage(pods[0]) == pod_usage(pods[1])
    assert hash(pod_usage(pods[0])) == hash(pod_usage(pods[1]))


def test_host_ports_of_containers_and_sidecars() -> None:
    spec = {
        "containers": [container(ports=[{"containerPort": 1, "hostPort": 80}, {"containerPort": 2}])],
        "initContainers": [
            sidecar(ports=[{"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]),
            container("i", ports=[{"hostPort": 9}]),
        ],
    }
    assert set(pod_usage(make_pod(spec=spec)).host_ports) == {
        HostPort("TCP", 80, "0.0.0.0"),
        HostPort("UDP", 53, "10.0.0.1"),
    }


@pytest.mark.parametrize(
    ("quantities", "path", "fault"),
    [
        pytest.param({"cpu": "-1"}, "status.allocatable[cpu]", "negative", id="negative"),
        pytest.param({"memory": "lots"}, "status.allocatable[memory]", "not a quantity", id="malformed"),
    ],
)
def test_bad_quantities_are_named(quantities: dict[str, str], path: str, fault: str) -> None:
    with pytest.raises(ResourceError, match=fault) as caught:
        allocatable(quantities)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("name", "scalar", "extended"),
    [
        pytest.param("cpu", False, False, id="native"),
        pytest.param("example.com/gpu", True, True, id="extended"),
        pytest.param("hugepages-2Mi", True, False, id="huge pages"),
        pytest.param("attachable-volumes-csi-x", True, False, id="volumes"),
        pytest.param("kubernetes.io/batch", True, False, id="Kubernetes' own"),
        pytest.param("requests.example.com/gpu", False, False, id="a quota's spelling"),
        pytest.param("example.com/-gpu", False, False, id="malformed"),
        pytest.param("pods", False, False, id="pods"),
    ],
)
def test_which_resources_are_counted(name: str, scalar: bool, extended: bool) -> None:
    assert (is_scalar_resource(name), is_extended_resource(name)) == (scalar, extended)
