"""The cost of a decision depends on nodes and domains, not on the number of pods nor on their labels.

A cold decision is measured in the Python instructions that it takes, the same in every run, with few and with
many placed pods.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.objects import Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.builders import Manifest, make_node, make_pod, pod_manifest
from mooring.testing.question import NoBinder

NODES, SPARE, FEW, MANY = 60, 5, 300, 4800
MAX_RATIO = 1.5
"""The most instructions for MANY pods, relative to FEW: some columns are longer, and nodes differ more."""

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NAME = "statefulset.kubernetes.io/pod-name"
APP = {"matchLabels": {"app": "a"}}
"""A quarter of the placed pods."""


def _affinity(kind: str, key: str, *, preferred: bool = False) -> Manifest:
    term: Manifest = {"labelSelector": APP, "topologyKey": key}
    if preferred:
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
        return {"affinity": {kind: rule}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _spread(key: str, action: str) -> Manifest:
    constraint = {"maxSkew": 5, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": APP}
    return {"topologySpreadConstraints": [constraint]}


def _ports(port: int) -> Manifest:
    ports = [{"containerPort": port, "hostPort": port}]
    return {"containers": [{"name": "main", "image": "app", "ports": ports}]}


def _claiming(claim: str) -> Manifest:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def _claim(name: str, mode: str) -> list[Manifest]:
    size = {"storage": "1Gi"}
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    source = {"driver": "disk.example", "volumeHandle": name}
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {"accessModes": [mode], "capacity": size, "claimRef": reference, "csi": source},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "annotations": done},
            "spec": {"accessModes": [mode], "resources": {"requests": size}, "volumeName": name},
        },
    ]


def _cluster(
    pods: int, placed: Mapping[str, Any], objects: Sequence[Manifest], *, own_labels: bool = False
) -> Engine:
    """NODES nodes in three zones with ``pods`` pods of four kinds on them."""
    kinds = [make_pod(labels={"app": app}, spec=placed) for app in "abcd"]
    nodes = [
        make_node(f"n{at}", labels={ZONE: f"z{at % 3}"}, allocatable={"pods": 10_000}) for at in range(NODES)
    ]
    state = State()
    state.replace(
        "test",
        [
            *nodes,
            *map(from_manifest, objects),
            *(_placed(kinds[at % 4], at, own_labels=own_labels) for at in range(pods)),
        ],
    )
    registry = new_in_tree_registry()
    return build_engine(default(registry.catalog()), registry, state, NoBinder())


def _placed(kind: Pod, at: int, *, own_labels: bool) -> Pod:
    name = f"p{at}"
    own = {NAME: name} if own_labels else {}
    # Each kind is on every node but the spare ones, so that some node always does.
    return replace(
        kind,
        metadata=replace(kind.metadata, name=name, uid=f"u{at}", labels={**kind.metadata.labels, **own}),
        spec=replace(kind.spec, node_name=f"n{at // 4 % (NODES - SPARE)}"),
    )


def _instructions(engine: Engine, pod: Pod) -> int:
    """Return how many Python instructions the decision takes."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        engine.decide(pod, engine.profile(), ALL_NODES)
    finally:
        sys.settrace(before)
    return count


CLAIMS = [*_claim("once", "ReadWriteOncePod"), *_claim("shared", "ReadWriteMany")]
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"selector": {"app": "a"}},
}


@pytest.mark.parametrize(
    ("spec", "placed", "objects"),
    [
        pytest.param({}, {}, [], id="nothing special"),
        pytest.param(_spread(ZONE, "DoNotSchedule"), {}, [], id="hard spread over zones"),
        pytest.param(_spread(HOSTNAME, "DoNotSchedule"), {}, [], id="hard spread over hosts"),
        pytest.param(_spread(ZONE, "ScheduleAnyway"), {}, [], id="soft spread over zones"),
        pytest.param(_spread(HOSTNAME, "ScheduleAnyway"), {}, [], id="soft spread over hosts"),
        pytest.param({}, {}, [SERVICE], id="default spread of a service"),
        pytest.param(_affinity("podAffinity", ZONE), {}, [], id="affinity"),
        pytest.param(_affinity("podAntiAffinity", HOSTNAME), {}, [], id="anti-affinity"),
        pytest.param(_affinity("podAffinity", HOSTNAME, preferred=True), {}, [], id="preferred affinity"),
        pytest.param(
            _affinity("podAntiAffinity", ZONE, preferred=True), {}, [], id="preferred anti-affinity"
        ),
        pytest.param({}, _affinity("podAffinity", ZONE), [], id="others' affinity"),
        pytest.param({}, _affinity("podAntiAffinity", HOSTNAME), [], id="others' anti-affinity"),
        pytest.param({}, _affinity("podAffinity", HOSTNAME, preferred=True), [], id="others' preferences"),
        pytest.param(_ports(8080), _ports(9090), [], id="host ports"),
        pytest.param(_claiming("once"), {}, CLAIMS, id="a claim for one pod"),
        pytest.param(_claiming("once"), _claiming("shared"), CLAIMS, id="a claim for one pod, others claim"),
        pytest.param(_claiming("shared"), _claiming("shared"), CLAIMS, id="a shared claim"),
    ],
)
def test_more_pods_of_the_same_kinds_cost_nothing(
    spec: Manifest, placed: Manifest, objects: list[Manifest]
) -> None:
    pod = make_pod("pending", labels={"app": "a"}, spec=spec)
    few, many, first = (_cluster(count, placed, objects) for count in (FEW, MANY, FEW))
    _instructions(first, pod)  # Work that a process does only once doesn't count.
    assert _instructions(many, pod) <= MAX_RATIO * _instructions(few, pod)


@pytest.mark.parametrize(
    ("spec", "objects"),
    [
        pytest.param(_spread(ZONE, "DoNotSchedule"), [], id="hard spread"),
        pytest.param(_spread(HOSTNAME, "ScheduleAnyway"), [], id="soft spread"),
        pytest.param({}, [SERVICE], id="default spread of a service"),
        pytest.param(_affinity("podAffinity", ZONE), [], id="affinity"),
        pytest.param(_affinity("podAntiAffinity", HOSTNAME), [], id="anti-affinity"),
        pytest.param(_affinity("podAffinity", HOSTNAME, preferred=True), [], id="preferred affinity"),
    ],
)
def test_a_label_that_each_placed_pod_has_of_its_own_costs_nothing(
    spec: Manifest, objects: list[Manifest]
) -> None:
    asked = [make_pod(f"pending-{n}", labels={"app": "a", NAME: f"pending-{n}"}, spec=spec) for n in range(2)]
    costs = []
    for count in (FEW, FEW, MANY):  # The first run is for work that a process does only once.
        engine = _cluster(count, {}, objects, own_labels=True)
        # The first pod that names a label pays for its column.
        costs.append([_instructions(engine, pod) for pod in asked][1])
    assert costs[2] <= MAX_RATIO * costs[1]


def _with_attached(pods: int) -> Engine:
    """Return a cluster in which each pod has a volume of its own, of a driver that nodes have a limit for."""
    placed = [
        pod_manifest(f"p{at}", node=f"n{at % (NODES - SPARE)}", spec=_claiming(f"c{at}"))
        for at in range(pods)
    ]
    claims = [item for at in range(pods) for item in _claim(f"c{at}", "ReadWriteOnce")]
    return _cluster(0, {}, [*CLAIMS, *claims, *placed, *(_csi_node(f"n{at}") for at in range(NODES))])


def _csi_node(name: str) -> Manifest:
    driver = {"name": "disk.example", "nodeID": name, "allocatable": {"count": 10_000}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def test_volumes_that_were_counted_once_cost_nothing() -> None:
    pod = make_pod("pending", spec=_claiming("shared"))
    few, many = map(_with_attached, (FEW, MANY))
    for engine in (few, many):
        _instructions(engine, pod)
    assert _instructions(many, pod) <= MAX_RATIO * _instructions(few, pod)
