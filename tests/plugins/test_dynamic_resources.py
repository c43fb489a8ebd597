from collections.abc import Mapping
from itertools import count, pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.framework import Code, CycleState, NodeView, Pod, PreFilterResult, Status
from mooring.framework.objects.devices import Device, DeviceAttribute, DeviceCapacity
from mooring.plugins.dynamic_resources.cel import (
    EvaluationError,
    UnsupportedExpressionError,
    compile_selector,
)
from mooring.plugins.dynamic_resources.cel.device import device_scope
from mooring.plugins.dynamic_resources.cel.values import Semver
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.testing.builders import make_pod, node_manifest
from tests.plugins.harness import make, verdicts

Manifest = dict[str, Any]
DRIVER = "gpu.example.com"
REJECTED = "plugin DynamicResources does not support {} yet"
NOT_ALL = Status.unresolvable("cannot allocate all claims")
NOT_HERE = Status.unresolvable("resourceclaim not available on the node")


def resource(kind: str, name: str, spec: Manifest, **fields: Any) -> Manifest:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec, **fields}


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Manifest:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return resource("DeviceClass", name, {"selectors": selectors, **spec})


def slice_of(node: str, *devices: Manifest, pool: Manifest | None = None, **spec: Any) -> Manifest:
    in_pool = {"name": node, "generation": 1, "resourceSliceCount": 1, **(pool or {})}
    reach = {} if spec.keys() & {"allNodes", "nodeSelector", "perDeviceNodeSelection"} else {"nodeName": node}
    named = [{"name": f"d{at}", **device} for at, device in enumerate(devices)]
    name = spec.pop("name", node)
    return resource(
        "ResourceSlice", name, {"driver": DRIVER, "pool": in_pool, "devices": named, **reach, **spec}
    )


def claim(name: str, *requests: Manifest, status: Manifest | None = None, **devices: Any) -> Manifest:
    asked = [{"name": f"r{at}", **request} for at, request in enumerate(requests or (exactly(),))]
    return resource(
        "ResourceClaim",
        name,
        {"devices": {"requests": asked, **devices}},
        metadata={"namespace": "default", "uid": f"uid-{name}"},
        **({"status": status} if status else {}),
    )


def asking(**fields: Any) -> Manifest:
    asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}
    if asked["allocationMode"] == "All":
        del asked["count"]
    return asked


def exactly(**fields: Any) -> Manifest:
    return {"exactly": asking(**fields)}


def first_of(*choices: Manifest) -> Manifest:
    return {"firstAvailable": [{"name": f"s{at}", **choice} for at, choice in enumerate(choices)]}


def where(expression: str) -> list[Manifest]:
    return [{"cel": {"expression": expression}}]


def allocation(*devices: str, node: str | None = None, **result: Any) -> Manifest:
    results = [
        {"request": "r0", "driver": DRIVER, "pool": "a", "device": device, **result} for device in devices
    ]
    found: Manifest = {"devices": {"results": results}}
    if node is not None:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        found["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return found


def view(*objects: Manifest, nodes: tuple[str, ...] = ("a",)) -> NodeView:
    state = State()
    manifests = (*(node_manifest(name) for name in nodes), *objects)
    state.replace("test", [from_manifest(manifest) for manifest in manifests])
    return NodeView(state.snapshot, state.snapshot.nodes.rows()[::-1].copy())


def pod_with(*claims: str, **spec: Any) -> Pod:
    entries = [{"name": name, "resourceClaimName": name} for name in claims]
    return make_pod(metadata={"uid": "uid-pod"}, spec={"resourceClaims": entries, **spec})


def status_on(node: str, *objects: Manifest, pod: Pod | None = None, **cluster: Any) -> Status:
    plugin = make(DynamicResources)
    return verdicts(plugin, pod or pod_with("c"), view(*objects, **cluster))[node]


GPU = device_class()
MODEL_A: Manifest = {"attributes": {"model": {"string": "a"}}}
MODEL_B: Manifest = {"attributes": {"model": {"string": "b"}}}
TAINTED: Manifest = {"taints": [{"key": "hot", "value": "yes", "effect": "NoSchedule"}]}
SHARED: Manifest = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
SAME: Manifest = {"constraints": [{"matchAttribute": f"{DRIVER}/model"}]}
DISTINCT: Manifest = {"constraints": [{"distinctAttribute": f"{DRIVER}/model"}]}
IS_A = where(f'device.attributes["{DRIVER}"].model == "a"')
EVERYTHING = exactly(allocationMode="All")
TOLERANT = exactly(tolerations=[{"key": "hot", "operator": "Exists"}])


@pytest.mark.parametrize(
    ("devices", "asked", "found"),
    [
        pytest.param([{}], claim("c"), True, id="one of one"),
        pytest.param([], claim("c"), False, id="none"),
        pytest.param([{}], claim("c", exactly(count=2)), False, id="two of one"),
        pytest.param([{}, {}], claim("c", exactly(), exactly()), True, id="two requests"),
        pytest.param([{}], claim("c", exactly(), exactly()), False, id="two requests, one device"),
        pytest.param([{}, {}], claim("c", EVERYTHING), True, id="all"),
        pytest.param([], claim("c", EVERYTHING), False, id="all of none"),
        pytest.param([MODEL_B, MODEL_A], claim("c", exactly(selectors=IS_A)), True, id="selected"),
        pytest.param([MODEL_B], claim("c", exactly(selectors=IS_A)), False, id="not selected"),
        pytest.param([MODEL_A, MODEL_B, MODEL_B], claim("c", exactly(count=2), **SAME), True, id="alike"),
        pytest.param([MODEL_A, MODEL_B], claim("c", exactly(count=2), **SAME), False, id="not alike"),
        pytest.param(
            [MODEL_A, MODEL_A], claim("c", exactly(), exactly(), **DISTINCT), False, id="not distinct"
        ),
        pytest.param([MODEL_A, MODEL_B], claim("c", exactly(), exactly(), **DISTINCT), True, id="distinct"),
        pytest.param([{}], claim("c", **SAME), False, id="the attribute is missing"),
        pytest.param([TAINTED], claim("c"), False, id="tainted"),
        pytest.param([TAINTED], claim("c", TOLERANT), True, id="tolerated"),
        pytest.param([{}], claim("c", first_of(asking(count=2), asking())), True, id="second choice"),
        pytest.param(
            [SHARED], claim("c", *[exactly(capacity={"requests": {"memory": "4Gi"}})] * 2), True, id="shares"
        ),
        pytest.param(
            [SHARED],
            claim("c", *[exactly(capacity={"requests": {"memory": "5Gi"}})] * 2),
            False,
            id="no room",
        ),
        pytest.param([SHARED], claim("c", exactly(), exactly()), False, id="a share is all by default"),
    ],
)
def test_devices_are_found(devices: list[Manifest], asked: Manifest, found: bool) -> None:
    assert status_on("a", GPU, asked, slice_of("a", *devices)) == (Status() if found else NOT_ALL)


def test_only_nodes_that_reach_a_device_are_left() -> None:
    cluster = view(GPU, claim("c"), slice_of("a", {}), slice_of("b"), nodes=("a", "b", "c"))
    said = verdicts(make(DynamicResources), pod_with("c"), cluster)
    assert said == {"a": Status(), "b": NOT_ALL, "c": NOT_ALL}


def test_a_device_in_use_is_gone() -> None:
    other = claim("other", status={"allocation": allocation("d0")})
    assert status_on("a", GPU, claim("c"), other, slice_of("a", {})) == NOT_ALL
    assert status_on("a", GPU, claim("c"), other, slice_of("a", {}, {})) == Status()


def test_a_device_for_administration_is_in_use_by_nobody() -> None:
    admin = claim("other", status={"allocation": allocation("d0", adminAccess=True)})
    assert status_on("a", GPU, claim("c"), admin, slice_of("a", {})) == Status()
    other = claim("other", status={"allocation": allocation("d0")})
    asked = claim("c", exactly(adminAccess=True))
    assert status_on("a", GPU, asked, other, slice_of("a", {})) == Status()


def test_devices_take_from_the_counters_of_their_pool() -> None:
    memory = {"counters": {"memory": {"value": "8Gi"}}}
    taken = {"consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "5Gi"}}}]}
    counters = slice_of(
        "a", name="counters", pool={"resourceSliceCount": 2}, sharedCounters=[{"name": "set", **memory}]
    )
    devices = slice_of("a", taken, taken, pool={"resourceSliceCount": 2})
    assert status_on("a", GPU, claim("c"), counters, devices) == Status()
    assert status_on("a", GPU, claim("c", exactly(count=2)), counters, devices) == NOT_ALL
    other = claim("other", status={"allocation": allocation("d1")})
    assert status_on("a", GPU, claim("c"), other, counters, devices) == NOT_ALL


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([slice_of("a", {}, pool={"resourceSliceCount": 2})], NOT_ALL, id="incomplete"),
        pytest.param(
            [slice_of("a", {"name": "x"}, {"name": "x"})],
            Status.unresolvable("invalid resource pools were encountered"),
            id="a name twice",
        ),
        pytest.param(
            [slice_of("a", {}, name="old"), slice_of("a", name="new", pool={"generation": 2})],
            NOT_ALL,
            id="a newer generation has no devices",
        ),
    ],
)
def test_pools_that_can_not_be_trusted_are_left_out(slices: list[Manifest], expected: Status) -> None:
    assert status_on("a", GPU, claim("c"), *slices) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"allocation": allocation("d0", node="a")}, {"a": Status(), "b": NOT_HERE}, id="pinned"),
        pytest.param({"allocation": allocation("d0")}, {"a": Status(), "b": Status()}, id="everywhere"),
        pytest.param(
            {
                "allocation": {
                    **allocation("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"]),
                    "allocationTimestamp": "1970-01-01T00:00:00Z",
                }
            },
            {"a": NOT_HERE, "b": NOT_HERE},
            id="not ready in time",
        ),
        pytest.param(
            {
                "allocation": {
                    **allocation("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"]),
                    "allocationTimestamp": "1970-01-01T00:10:00Z",
                }
            },
            {"a": Status(), "b": Status()},
            id="not ready yet",
        ),
    ],
)
def test_an_allocated_claim_stays_where_it_is(status: Manifest, expected: Mapping[str, Status]) -> None:
    cluster = view(claim("c", status=status), nodes=("a", "b"))
    assert verdicts(make(DynamicResources), pod_with("c"), cluster) == expected


@pytest.mark.parametrize(
    ("pod", "objects", "reason"),
    [
        pytest.param(pod_with("c"), [], 'could not find ResourceClaim "default/c"', id="missing"),
        pytest.param(
            make_pod(spec={"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "t"}]}),
            [],
            'pod "default/pod": ResourceClaim not created yet',
            id="not made yet",
        ),
        pytest.param(
            make_pod(
                spec={"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "t"}]},
                status={"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]},
            ),
            [GPU, claim("c")],
            "ResourceClaim default/c was not created for Pod default/pod (Pod is not owner)",
            id="somebody else's",
        ),
        pytest.param(
            pod_with("c"), [claim("c")], "request r0: device class gpu does not exist", id="no such class"
        ),
        pytest.param(
            pod_with("c"),
            [GPU, claim("c", exactly(selectors=where("device.driver.format(1)")))],
            REJECTED.format("the selector 'device.driver.format(1)' of request r0 (the function 'format')"),
            id="selector",
        ),
    ],
)
def test_pods_that_can_not_be_decided_are_rejected(pod: Pod, objects: list[Manifest], reason: str) -> None:
    assert status_on("a", *objects, pod=pod) == Status.unresolvable(reason)


@pytest.mark.parametrize(
    ("asked", "offered", "expected"),
    [
        pytest.param({"example.com/gpu": "1"}, {}, Status(), id="a device stands for it"),
        pytest.param({"deviceclass.resource.kubernetes.io/gpu": "1"}, {}, Status(), id="by the class's name"),
        pytest.param({"example.com/gpu": "2"}, {}, NOT_ALL, id="too few devices"),
        pytest.param({"example.com/gpu": "2"}, {"example.com/gpu": "0"}, NOT_ALL, id="none offered"),
        pytest.param({"example.com/gpu": "2"}, {"example.com/gpu": "1"}, Status(), id="a device plugin's"),
        pytest.param(
            {"example.com/gpu": "1", "example.com/x": "1"},
            {},
            Status.unresolvable("cannot fit resource"),
            id="another resource that nobody has",
        ),
    ],
)
def test_devices_stand_for_extended_resources(
    asked: dict[str, str], offered: dict[str, str], expected: Status
) -> None:
    known = device_class("gpu", extendedResourceName="example.com/gpu")
    offering = node_manifest("a", status={"allocatable": offered})
    found = status_on("a", known, slice_of("a", {}), offering, pod=make_pod(requests=asked), nodes=())
    assert found == expected


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param(
            {"controller": True}, Status.unresolvable("cannot schedule extended resource claim"), id="its own"
        ),
        pytest.param({"controller": True, "uid": "before"}, Status(), id="of a pod before"),
        pytest.param({}, Status(), id="not its controller"),
    ],
)
def test_a_claim_for_extended_resources_that_was_made_before(owner: Manifest, expected: Status) -> None:
    made = claim("c", status={"allocation": allocation("d0", node="a")})
    made["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid-pod", **owner}],
    }
    known = device_class("gpu", extendedResourceName="example.com/gpu")
    pod = make_pod(requests={"example.com/gpu": "1"}, metadata={"uid": "uid-pod"})
    assert status_on("a", known, slice_of("a", {}, {}), made, pod=pod) == expected


@pytest.mark.parametrize(
    ("kube", "gates", "named"),
    [
        pytest.param(
            "1.35", {"DRADeviceTaints": True}, "the feature gate DRADeviceTaints=true", id="before its time"
        ),
        pytest.param(
            "1.36", {"DRAListTypeAttributes": True}, "the feature gate DRAListTypeAttributes=true", id="alpha"
        ),
    ],
)
def test_settings_that_are_not_proven_are_rejected(kube: str, gates: dict[str, bool], named: str) -> None:
    plugin = make(DynamicResources, kube=kube, gates=gates)
    status = plugin.pre_filter(CycleState(), pod_with("c"), view(claim("c")))
    assert status == Status.unresolvable(REJECTED.format(named))


WITHOUT_LIMIT: Manifest = {"allowMultipleAllocations": True}
UNREADY: Manifest = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
HALF = {"resourceSliceCount": 2}


@pytest.mark.parametrize(
    ("gate", "asked", "announced", "when_off"),
    [
        pytest.param(
            "DRADeviceTaints", [exactly()], slice_of("a", TAINTED), Status(), id="taints are ignored"
        ),
        pytest.param(
            "DRADeviceBindingConditions",
            [exactly()],
            slice_of("a", UNREADY),
            NOT_ALL,
            id="nobody waits for devices",
        ),
        pytest.param(
            "DRAPartitionableDevices",
            [exactly()],
            slice_of("a", {"allNodes": True}, perDeviceNodeSelection=True),
            NOT_ALL,
            id="devices have no nodes of their own",
        ),
        pytest.param(
            "DRAConsumableCapacity",
            [exactly(), exactly()],
            slice_of("a", WITHOUT_LIMIT),
            NOT_ALL,
            id="devices aren't shared",
        ),
        pytest.param(
            "DRAPrioritizedList",
            [first_of(asking())],
            slice_of("a", {}),
            Status.unresolvable(
                "resource claim default/c, request r0: has subrequests, but the DRAPrioritizedList feature is"
                " disabled"
            ),
            id="no alternatives",
        ),
    ],
)
def test_a_gate_that_is_off(gate: str, asked: list[Manifest], announced: Manifest, when_off: Status) -> None:
    nodes = view(GPU, claim("c", *asked), announced)
    found = verdicts(make(DynamicResources, gates={gate: False}), pod_with("c"), nodes)["a"]
    assert found == when_off != verdicts(make(DynamicResources), pod_with("c"), nodes)["a"]


@pytest.mark.parametrize(
    ("kube", "announced", "expected"),
    [
        pytest.param("1.34", slice_of("a", {}, pool=HALF), Status(), id="1.34 uses a part of a pool"),
        pytest.param("1.35", slice_of("a", {}, pool=HALF), NOT_ALL, id="1.35 waits for the rest of it"),
        pytest.param("1.35", slice_of("a", TAINTED), Status(), id="1.35 has no taints"),
        pytest.param("1.36", slice_of("a", TAINTED), NOT_ALL, id="1.36 has taints"),
    ],
)
def test_a_release_has_its_own_search(kube: str, announced: Manifest, expected: Status) -> None:
    plugin = make(DynamicResources, kube=kube)
    assert verdicts(plugin, pod_with("c"), view(GPU, claim("c"), announced))["a"] == expected


def test_before_1_36_alternatives_after_all_devices_go_on_with_the_first() -> None:
    asked = claim("c", first_of(asking(count=3), asking(allocationMode="All")))
    nodes = view(GPU, asked, slice_of("a", {}, {}))
    assert verdicts(make(DynamicResources), pod_with("c"), nodes)["a"].ok
    assert verdicts(make(DynamicResources, kube="1.35"), pod_with("c"), nodes)["a"] == NOT_ALL


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(100, Status(), id="a hundred"),
        pytest.param(
            101,
            Status.unresolvable(
                REJECTED.format("claims of one pod that need a search more than 600 calls deep")
            ),
            id="too many",
        ),
    ],
)
def test_claims_of_one_pod(number: int, expected: Status) -> None:
    names = [f"c{at}" for at in range(number)]
    nodes = view(GPU, slice_of("a", *[{}] * number), *map(claim, names))
    assert verdicts(make(DynamicResources), pod_with(*names), nodes)["a"] == expected


def test_a_pod_without_claims_is_nothing_to_it() -> None:
    plugin, state, nodes = make(DynamicResources), CycleState(), view(GPU)
    assert plugin.pre_filter(state, make_pod(), nodes) == Status.skip()
    assert plugin.score_nodes(state, make_pod(), nodes).tolist() == [0]
    assert plugin.reserve(state, make_pod(), "a").ok
    pods = make_pod(), make_pod("other"), pod_with("c")
    one, other, claiming = (plugin.dependencies(pod).signature for pod in pods)
    assert one == other != claiming


def test_early_alternatives_score_more() -> None:
    asked = claim("c", first_of(asking(selectors=IS_A), asking()))
    objects = [GPU, asked, slice_of("a", MODEL_A), slice_of("b", MODEL_B)]
    plugin, state, nodes = make(DynamicResources), CycleState(), view(*objects, nodes=("a", "b"))
    assert isinstance(plugin.pre_filter(state, pod_with("c"), nodes), PreFilterResult)
    assert plugin.filter_nodes(state, pod_with("c"), nodes).codes.tolist() == [0, 0]
    scores = dict(zip(nodes.names, plugin.score_nodes(state, pod_with("c"), nodes).tolist(), strict=True))
    assert scores == {"a": 8, "b": 7}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(claim("c", exactly(selectors=IS_A)), id="an attribute is missing"),
        pytest.param(claim("c", exactly(count=33)), id="too many devices"),
        pytest.param(claim("c", EVERYTHING, **SAME), id="all devices, but a constraint"),
    ],
)
def test_what_is_wrong_everywhere_fails_the_decision(asked: Manifest) -> None:
    state, nodes = CycleState(), view(GPU, asked, slice_of("a", {}))
    plugin = make(DynamicResources)
    assert isinstance(plugin.pre_filter(state, pod_with("c"), nodes), PreFilterResult)
    assert plugin.filter_nodes(state, pod_with("c"), nodes).status(0).code is Code.ERROR


@given(
    numbers=st.lists(st.integers(0, 2), max_size=5),
    wanted=st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_a_set_of_devices_is_found_exactly_when_there_is_one(numbers: list[int], wanted: list[int]) -> None:
    """Each request wants a device with an index of at least so much."""
    devices = [{"attributes": {"index": {"int": number}}} for number in numbers]
    requests = [
        exactly(selectors=where(f'device.attributes["{DRIVER}"].index >= {least}')) for least in wanted
    ]
    possible = any(
        all(number >= least for number, least in zip(chosen, wanted, strict=True))
        for chosen in permutations(numbers, len(wanted))
    )
    status = status_on("a", GPU, claim("c", *requests), slice_of("a", *devices))
    assert status == (Status() if possible else NOT_ALL)


SCOPE = device_scope(
    DRIVER,
    Device(
        name="d",
        attributes={
            "model": DeviceAttribute(string="a100"),
            "index": DeviceAttribute(int=-7),
            "on": DeviceAttribute(bool=True),
            "example.com/version": DeviceAttribute(version="2.0.0-rc.1"),
        },
        capacity={"memory": DeviceCapacity(value="10Gi")},
    ),
)
OWN = f'device.attributes["{DRIVER}"]'
VERSION = 'device.attributes["example.com"].version'
MEMORY = f'device.capacity["{DRIVER}"].memory'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(f'device.driver == "{DRIVER}"', True, id="driver"),
        pytest.param("device.allowMultipleAllocations", False, id="shared"),
        pytest.param("[0, 1].exists(n, 1 / n == 1)", True, id="exists hides an error"),
        pytest.param("[0, 1].all(n, 1 / n == 2)", False, id="all hides an error"),
        pytest.param("'aZÄ[1'.lowerAscii() == 'azÄ[1'", True, id="lower case"),
        pytest.param("'Azä{1'.upperAscii() == 'AZä{1'", True, id="upper case"),
        pytest.param("device.attributes.exists_one(d, d.startsWith('example'))", True, id="one of the keys"),
        pytest.param(
            "[1, 2, 3].map(n, n > 1, n * n).filter(n, n != 4).size() == 1", True, id="map and filter"
        ),
        pytest.param(
            "[1].exists(n, cel.bind(m, n, [2].exists(n, m == 1)))", True, id="a bound value keeps its names"
        ),
        pytest.param(r"device.driver.split('.').join('-').matches(r'^\w+-\w+-com$')", True, id="texts"),
        pytest.param("'aXbX'.replace('X', '', 1).substring(1).indexOf('X') == 1", True, id="parts of texts"),
        pytest.param(
            "int('+7') + int(1) == 8 && string(true) + string(1) == 'true1'", True, id="conversions"
        ),
        pytest.param("'a.b'.split('.')[1] == 'b'", True, id="an item of a list"),
        pytest.param(f"{MEMORY}.sub(quantity('9Gi')).add(1) == quantity('1073741825')", True, id="sums"),
        pytest.param("' a\\t'.trim() + 'ab'.charAt(2) == 'a'", True, id="white space"),
        pytest.param("''.split('').size() == 0 && 'abc'.split('', 2).join('-') == 'a-bc'", True, id="split"),
        pytest.param(f"{OWN}.on", True, id="an attribute alone"),
        pytest.param(f"has({OWN}.gone)", False, id="has"),
        pytest.param('has(device.attributes["gone"].gone)', False, id="has in a domain that is missing"),
        pytest.param(f'"model" in {OWN}', True, id="in a map"),
        pytest.param('"gone" in device.attributes', False, id="in all domains"),
        pytest.param(f"{OWN}.index == 'x'", False, id="values of different types differ"),
        pytest.param(f"{OWN}.index in [1, -7]", True, id="in a list"),
        pytest.param(f"{OWN}.index in ['x']", False, id="in a list of another type"),
        pytest.param(f"{OWN}.index / 2 == -3", True, id="division rounds towards zero"),
        pytest.param(f"{OWN}.index % 4 == -3", True, id="the remainder has the sign of the dividend"),
        pytest.param(f"{OWN}.gone || {OWN}.on", True, id="or bears an error"),
        pytest.param(f"{OWN}.gone && !{OWN}.on", False, id="and bears an error"),
        pytest.param(f"{OWN}.on ? {OWN}.index < 0 : false", True, id="choice"),
        pytest.param(f"{OWN}.?gone.orValue(3) == 3", True, id="optional"),
        pytest.param(f"{OWN}[?'model'].hasValue()", True, id="optional by index"),
        pytest.param(f"cel.bind(d, {OWN}, d.model.startsWith('a') && size(d.model) == 4)", True, id="bind"),
        pytest.param(f"{VERSION}.isLessThan(semver('2.0.0'))", True, id="version"),
        pytest.param(f"{VERSION} in 'x'.split('')", False, id="a version in a list that is made"),
        pytest.param(f"{VERSION} != 'x'", True, id="a version differs from a string"),
        pytest.param(f"{MEMORY}.compareTo(quantity('10240Mi')) == 0", True, id="quantity"),
        pytest.param(f"{MEMORY} == quantity('10Gi')", True, id="equal quantities"),
    ],
)
def test_expressions(expression: str, expected: bool) -> None:
    assert compile_selector(expression).matches(SCOPE) is expected


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"{OWN}.gone == 1", id="missing"),
        pytest.param(f"{OWN}.model < 1", id="order of different types"),
        pytest.param(f"{OWN}.model", id="no bool"),
        pytest.param(f"{OWN}.model && true", id="a condition that is not a bool"),
        pytest.param(f"{OWN}.index / 0 == 1", id="division by zero"),
        pytest.param(f"{OWN}.index * 9223372036854775807 == 1", id="overflow"),
        pytest.param(f"{VERSION} == 'x'", id="a version beside a string"),
        pytest.param(f"{VERSION} in ['x']", id="a version in a list"),
        pytest.param(f"{VERSION} in ['x'] || true", id="a version in a list beside what would do"),
        pytest.param(f"[1, 2].exists(n, n > 1 || {VERSION} in ['x'])", id="nor does another item"),
        pytest.param("semver('1.0') == semver('1.0.0')", id="no version"),
        pytest.param("[0, 1].exists_one(n, 1 / n == 1)", id="exists_one hides no error"),
        pytest.param("[0, 1].filter(n, 1 / n == 1).size() == 1", id="filter hides no error"),
        pytest.param("'ab'.substring(1, 3) == 'b'", id="outside a text"),
        pytest.param("[1][1] == 1", id="outside a list"),
        pytest.param("int('1.5') == 1", id="no integer"),
        pytest.param(f"{OWN}.index.matches('7')", id="a pattern on a number"),
    ],
)
def test_expressions_that_fail_on_a_device(expression: str) -> None:
    with pytest.raises(EvaluationError):
        compile_selector(expression).matches(SCOPE)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "device",
        "device.driver",
        "device.name == 'x'",
        "device.driver == 1",
        "device.driver == 'x' &&",
        "device.driver.matches(device.driver)",
        "device.driver.matches('(x')",
        "device.driver.exists(d, true)",
        "[1].all(a, [1].all(b, [1].all(c, true)))",
        "device.driver in []",
        "device.driver in ['x', 1]",
        "1.5 > 1.0",
        "1u == 1u",
        "'''x''' == 'x'",
        "'\\u0041' == 'A'",
        "9223372036854775808 > 0",
        "size(null) == 0",
        "has(device.driver)",
        "cel.bind(d, 1)",
        "!!true",
        "(" * 100 + "true" + ")" * 100,
    ],
)
def test_expressions_outside_the_subset_are_rejected(expression: str) -> None:
    with pytest.raises(UnsupportedExpressionError):
        compile_selector(expression)


def test_versions_are_in_order() -> None:
    ordered = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-a",
        "1.0.0-a.1",
        "1.0.0-b",
        "1.0.0",
        "1.2.0",
        "1.10.0",
    ]
    versions = [Semver.parse(text) for text in ordered]
    for earlier, later in pairwise(versions):
        assert (earlier.compare(later), later.compare(earlier)) == (-1, 1)
    assert Semver.parse("1.0.0+a").compare(Semver.parse("1.0.0+b")) == 0


@pytest.mark.parametrize(
    ("kube", "expected"),
    [
        pytest.param("1.36", Status.error("node a: timed out trying to allocate devices"), id="the decision"),
        pytest.param(
            "1.35", Status.unresolvable("timed out trying to allocate devices"), id="1.35: the node"
        ),
    ],
)
def test_a_search_that_takes_too_long_fails(kube: str, expected: Status) -> None:
    class RunningClock:
        ticks = count()

        def now(self) -> float:
            return 0.0

        def monotonic(self) -> float:
            return 6.0 * next(self.ticks)

    state, nodes = CycleState(), view(GPU, claim("c"), slice_of("a", {}))
    plugin = make(DynamicResources, kube=kube, clock=RunningClock())  # type: ignore[arg-type] # any clock will do
    plugin.pre_filter(state, pod_with("c"), nodes)
    assert plugin.filter_nodes(state, pod_with("c"), nodes).status(0) == expected


def test_a_selector_that_takes_too_long_fails() -> None:
    """The clock advances by a second at each reading, which happens a few times in a search."""

    class SlowClock:
        ticks = count()

        def now(self) -> float:
            return 0.0

        def monotonic(self) -> float:
            return float(next(self.ticks))

    letters = f"'{'a' * 64}'.split('')"
    slow = where(f"{letters}.all(x, {letters}.all(y, true))")
    state, nodes = CycleState(), view(GPU, claim("c", exactly(selectors=slow)), slice_of("a", {}))
    plugin = make(DynamicResources, clock=SlowClock())  # type: ignore[arg-type] # any clock will do
    plugin.pre_filter(state, pod_with("c"), nodes)
    status = plugin.filter_nodes(state, pod_with("c"), nodes).status(0)
    assert status == Status.error("node a: timed out trying to allocate devices")
