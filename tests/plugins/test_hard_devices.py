"""Checks that end a search for devices early: hard inputs end in few steps, and no answer changes."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import SUCCESS, Status
from mooring.plugins.dynamic_resources.search import allocator
from mooring.plugins.dynamic_resources.search.allocator import DeviceSearch
from tests.examples import examples
from tests.plugins.hard_devices import DRIVER, KINDS, Draft, answer, answer_to, asking, one_of

NOT_ALL = Status.unresolvable("cannot allocate all claims")
MOST_STEPS = 2000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_hard_inputs_end_in_few_steps(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    devices = DeviceSearch._devices

    def counting(self: DeviceSearch, *args: object) -> bool:
        nonlocal steps
        steps += 1
        assert steps < MOST_STEPS
        return devices(self, *args)  # type: ignore[arg-type] # passed on as they come

    monkeypatch.setattr(DeviceSearch, "_devices", counting)
    assert answer(kind, seed)[0] == NOT_ALL


def small(seed: int) -> Draft:
    """Return a few devices of few kinds, and requests that can have them, or just can't."""
    draft, pick = Draft(random.Random(seed)), random.Random(seed)
    counted, taint = pick.random() < 0.4, [{"key": "hot", "effect": "NoSchedule"}]
    if counted:
        counters = {name: {"value": f"{pick.randint(1, 9)}Gi"} for name in ("memory", "cores")}
        draft.counters.append({"name": "gpu", "counters": counters})
    for number in range(pick.randint(1, 6)):
        fields: dict[str, object] = {"taints": taint} if pick.random() < 0.2 else {}
        if counted and pick.random() < 0.7:
            amount = {name: {"value": f"{pick.randint(0, 3)}Gi"} for name in ("memory", "cores")}
            fields["consumesCounters"] = [{"counterSet": "gpu", "counters": amount}]
        if pick.random() < 0.2:
            fields |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
        values = {"number": {"int": number}, "group": {"int": pick.randint(0, 2)}}
        if pick.random() < 0.7:
            values["rare"] = {"int": 1}
        draft.device(attributes=values, **fields)
    for _ in range(pick.randint(1, 2)):
        requests = [request(pick) for _ in range(pick.randint(1, 3))]
        kind = pick.choice((None, "matchAttribute", "distinctAttribute"))
        draft.claim(*requests, **({"constraints": [{kind: f"{DRIVER}/group"}]} if kind else {}))
    return draft


def request(pick: random.Random) -> dict[str, object]:
    asked: dict[str, object] = {"count": pick.randint(1, 3)}
    if pick.random() < 0.5:
        asked["selectors"] = one_of(set(pick.sample(range(6), 4)))
    elif pick.random() < 0.2:
        asked["selectors"] = [{"cel": {"expression": f'device.attributes["{DRIVER}"].rare == 1'}}]
    if pick.random() < 0.1:
        del asked["count"]
        asked["allocationMode"] = "All"
    if pick.random() < 0.2:
        asked["tolerations"] = [{"operator": "Exists"}]
    if pick.random() < 0.2:
        asked["capacity"] = {"requests": {"memory": f"{pick.randint(2, 5)}Gi"}}
    if pick.random() < 0.3:
        choices = [asking(**asked)["exactly"], asking()["exactly"]]
        return {"firstAvailable": [{"name": f"s{at}", **each} for at, each in enumerate(choices)]}
    return asking(**asked)


@examples(400)
@given(st.integers(0, 1 << 40), st.sampled_from((3, 4, 5, 32)))
def test_the_same_devices_are_found_as_by_trying_all(seed: int, most: int) -> None:
    with patch.object(allocator, "MAX_DEVICES", most):
        with patch.object(allocator, "_STEPS_WITHOUT_OUTLOOK", 1 << 40):
            tried = answer_to(small(seed))
        with patch.object(allocator, "_STEPS_WITHOUT_OUTLOOK", 0):
            foreseen = answer_to(small(seed))
    assert foreseen == tried


@pytest.mark.parametrize("partitions", [True, False])
def test_what_takes_no_counter_can_be_had_where_claims_have_more_of_it_than_there_is(
    partitions: bool,
) -> None:
    draft = Draft(random.Random(0))
    draft.counters.append({"name": "gpu", "counters": {"memory": {"value": "1Gi"}}})
    taken = [{"counterSet": "gpu", "counters": {"memory": {"value": "2Gi"}}}]
    draft.device(consumesCounters=taken)
    draft.device()
    draft.claim(asking())
    held = {"request": "r0", "driver": DRIVER, "pool": "a", "device": "d0"}
    draft.claims[0]["status"] = {"allocation": {"devices": {"results": [held]}}}
    draft.claim(asking())
    with patch.object(allocator, "_STEPS_WITHOUT_OUTLOOK", 0):
        found = answer_to(draft, gates={"DRAPartitionableDevices": partitions})
    assert found == (SUCCESS, [[("r0", "d1")]])
