"""Claims with one plain request get the devices that a search finds, and the same status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mooring.framework import CycleState, NodeView, Status
from mooring.framework.errors import MooringError
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.plugin import DynamicResources
from mooring.plugins.dynamic_resources.search.first_free import FirstFree
from tests.plugins.harness import make
from tests.plugins.test_dynamic_resources import (
    DRIVER,
    GPU,
    IS_A,
    MODEL_A,
    MODEL_B,
    SHARED,
    TAINTED,
    TOLERANT,
    Manifest,
    allocation,
    claim,
    exactly,
    pod_with,
    slice_of,
    view,
    where,
)

LATE: Manifest = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
CAPACITY: Manifest = {"capacity": {"memory": {"value": "8Gi"}}}
SPOILT: Manifest = {"attributes": {"model": {"version": "not a version"}}}
FULL: Manifest = {
    "capacity": {
        "memory": {"value": "1Gi", "requestPolicy": {"default": "2Gi", "validRange": {"min": "2Gi"}}},
    }
}
PLAIN = st.sampled_from([{}, MODEL_A, MODEL_B, TAINTED, LATE, CAPACITY, MODEL_A | TAINTED, SPOILT, FULL])
DEVICES = st.one_of(st.lists(PLAIN, max_size=6), st.lists(st.sampled_from([{}, SHARED]), max_size=4))
IS_PLAIN = where(f'!("model" in device.attributes["{DRIVER}"])')
REQUESTS = st.builds(
    lambda asked, count: {"exactly": asked["exactly"] | {"count": count}},
    st.sampled_from([exactly(), exactly(selectors=IS_A), exactly(selectors=IS_PLAIN), TOLERANT]),
    st.integers(1, 4),
)
OTHER_POOLS = st.sampled_from([{"name": "b"}, {"name": "0"}, {"resourceSliceCount": 2}, {"generation": 2}])
GATES = ("DRAConsumableCapacity", "DRADeviceBindingConditions", "DRADeviceTaints")
KUBE = st.sampled_from(["1.34", "1.35", "1.36", "1.37", "1.37", "1.37"])
A_SHARE: Manifest = {"shareID": "some", "consumedCapacity": {"memory": "6Gi"}}
HELD = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([{}, A_SHARE])), max_size=3)


def said(plugin: DynamicResources, *claims: str, nodes: NodeView) -> list[tuple[Status | str, Any]]:
    """Return the status of each of the claims, one after the other, with its devices."""
    answers: list[tuple[Status | str, Any]] = []
    for name in claims:
        state, pod = CycleState(), pod_with(name)
        prepared = plugin.pre_filter(state, pod, nodes)
        if isinstance(prepared, Status):
            answers.append((prepared, None))
            continue
        try:
            status = plugin.filter_nodes(state, pod, nodes).status(0)
        except MooringError as failure:
            answers.append((str(failure), None))
            continue
        found = state.read(plugin.name, ClaimsState).found.of_claims
        ids = [[(choice.name, device.id) for choice, device in devices] for devices in found]
        answers.append((status, ids if status.ok else None))
    return answers


def in_full(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FirstFree, "find", lambda *_: None)


def alone(device: Manifest, *held: tuple[int, Manifest], on: bool = True) -> example:
    """Return a case with one device, and all gates on or off."""
    rest = {"late": [], "asked": [exactly()], "pool": {"name": "b"}, "kube": "1.37"}
    return example(devices=[device], held=[*held], switched=dict.fromkeys(GATES, on), **rest)


@alone(TAINTED)
@alone(LATE, on=False)
@alone(FULL)
@alone(CAPACITY, (0, A_SHARE))
@given(
    devices=DEVICES,
    late=DEVICES,
    asked=st.lists(REQUESTS, min_size=1, max_size=3),
    held=HELD,
    pool=OTHER_POOLS,
    kube=KUBE,
    switched=st.fixed_dictionaries({gate: st.booleans() for gate in GATES}),
)
def test_the_first_free_devices_are_those_that_a_search_finds(
    devices: list[Manifest],
    late: list[Manifest],
    asked: list[Manifest],
    held: list[tuple[int, Manifest]],
    pool: Manifest,
    kube: str,
    switched: dict[str, bool],
) -> None:
    holders = [
        claim(f"h{at}", status={"allocation": allocation(f"d{number}", node="a", **how)})
        for at, (number, how) in enumerate(held)
    ]
    size = {"resourceSliceCount": pool.get("resourceSliceCount", 1)}
    slices = [slice_of("a", *devices, pool=size), slice_of("a", *late, pool=pool, name="other")]
    claims = [claim(f"c{at}", request) for at, request in enumerate(asked)]
    nodes = view(GPU, *slices, *claims, *holders)
    gates = {} if kube < "1.36" else switched
    names = [item["metadata"]["name"] for item in claims]
    found = said(make(DynamicResources, kube=kube, gates=gates), *names, nodes=nodes)
    with pytest.MonkeyPatch.context() as patch:
        in_full(patch)
        assert found == said(make(DynamicResources, kube=kube, gates=gates), *names, nodes=nodes)
