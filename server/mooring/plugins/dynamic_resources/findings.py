"""Findings about the claims that can't get, or can't use, their devices on a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from mooring.framework import (
    Amounts,
    CycleState,
    Finding,
    Holder,
    HolderKind,
    NodeInfo,
    ReasonCode,
    Snapshot,
)
from mooring.framework.findings import shared
from mooring.framework.objects import ResourceClaim
from mooring.framework.quantity import NANO, parse_quantity
from mooring.framework.resources import amount
from mooring.plugins.dynamic_resources.cel.values import EvaluationError
from mooring.plugins.dynamic_resources.claims_state import ClaimsState
from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.constraints import is_kept_away

_NEAREST_FIRST = (
    ReasonCode.DEVICE_CAPACITY_SHORT,
    ReasonCode.DEVICE_COUNTERS_SHORT,
    ReasonCode.DEVICES_TAKEN,
    ReasonCode.DEVICES_TAINTED,
    ReasonCode.DEVICES_UNMATCHED,
)
"""Why a device can't be had, the one that needs the smallest change first."""

_CHANGES = {
    ReasonCode.DEVICES_TAINTED: "remove the taint from",
    ReasonCode.DEVICES_TAKEN: "free",
    ReasonCode.DEVICE_COUNTERS_SHORT: "free devices that share counters with",
    ReasonCode.DEVICE_CAPACITY_SHORT: "free capacity of",
}
"""The smallest change of the node that ends a fault, before the name of the device."""

Fault = tuple[ReasonCode, str, Amounts | None]
"""Why a device can't be had: the code, the sentence, and the numbers."""


Held = Mapping[tuple[str, str], Mapping[str, list[Holder]]]
"""By driver and pool, and by device, the claims that have it."""


def missing_devices(state: CycleState, note: ClaimsState, reach: Reach, node: NodeInfo) -> Iterator[Finding]:
    """Yield a finding for each request that gets too few devices on ``node``, the only one of ``reach``."""
    if note.pools is None or note.board is None:
        return
    pools = note.pools.reached(reach, 0, node.name)
    held = shared(state, _held, partial(_held, node.snapshot))
    searched = _Devices(pools, DeviceLedger(note.board.allocated, note.board, note.rules), note.rules, held)
    found = [
        finding
        for claim in note.to_allocate
        for request in claim.requests
        if (finding := searched.request(claim, request.choices[0])) is not None
    ]
    keys = ", ".join(claim.key for claim in note.to_allocate)
    together = f"each request of {keys} finds devices by itself, but no devices serve all of them"
    yield from found or [Finding(ReasonCode.DEVICES_NOT_ALLOCATED, keys, together)]


def bound_elsewhere(note: ClaimsState, reach: Reach) -> Iterator[Finding]:
    """Yield a finding for each claim whose devices the node can't use."""
    for index in sorted(note.unusable(reach, 0)):
        meta = note.claims[index].metadata
        key = f"{meta.namespace}/{meta.name}"
        said = f"claim {key} has devices that the node can't use"
        yield Finding(ReasonCode.DEVICES_ELSEWHERE, key, said, node_change=f"deallocate claim {key}")


class _Devices:
    """The devices that one node reaches."""

    def __init__(
        self,
        pools: list[DevicePool],
        ledger: DeviceLedger,
        rules: Rules,
        held: Held,
    ) -> None:
        self._pools, self._ledger, self._rules, self._held = pools, ledger, rules, held

    def request(self, claim: ClaimToAllocate, choice: DeviceChoice) -> Finding | None:
        """Return why ``choice`` gets too few devices; None if there are enough, each by itself."""
        faults: list[tuple[Fault, CandidateDevice]] = []
        fitting = count = 0
        for pool in self._pools:
            for candidate in pool.candidates:
                count += 1
                fault = self._fault(choice, candidate, pool)
                fitting += fault is None
                if fault is not None:
                    faults.append((fault, candidate))
        if fitting >= choice.count and count:
            return None
        what = f"claim {claim.key}, request {choice.name}"
        subject = f"{claim.key}/{choice.name}"
        if not faults:
            return Finding(
                ReasonCode.DEVICES_UNMATCHED,
                subject,
                f"{what}: needs {_devices(choice.count)}, but the node has {count or 'none'}",
                str(choice.count),
            )
        (code, said, amounts), nearest = min(faults, key=lambda each: _NEAREST_FIRST.index(each[0][0]))
        alike = [candidate for (each, _, _), candidate in faults if each is code]
        return Finding(
            code,
            subject,
            f"{what}: {said}{self._others(count, len(alike))}",
            asked=_devices(choice.count),
            present=f"{fitting} of {_devices(count)}",
            amounts=amounts,
            pod_change="tolerate the taint in the claim" if code is ReasonCode.DEVICES_TAINTED else "",
            node_change=f"{_CHANGES[code]} {'/'.join(nearest.id)}" if code in _CHANGES else "",
        ).held_by(self._holders(code, alike))

    @staticmethod
    def _others(count: int, alike: int) -> str:
        return f" ({alike} of {count} devices)" if count > 1 else ""

    def _fault(self, choice: DeviceChoice, candidate: CandidateDevice, pool: DevicePool) -> Fault | None:
        device, named = candidate.device, f"device {candidate.id.device}"
        for text in choice.expressions:
            try:
                fulfilled = candidate.traits.fulfil(text, lambda: None)
            except EvaluationError:
                fulfilled = False
            if not fulfilled:
                return ReasonCode.DEVICES_UNMATCHED, f"{named} does not match the selector {text}", None
        if self._rules.taints and is_kept_away(device, choice):
            taints = ", ".join(f"{each.key}:{each.effect}" for each in device.taints)
            return ReasonCode.DEVICES_TAINTED, f"{named} has the taint {taints}", None
        if self._ledger.in_use(candidate.id) and not choice.admin:
            return ReasonCode.DEVICES_TAKEN, f"{named} is in use", None
        if device.consumes_counters and not (candidate.shared and self._ledger.has_shares(candidate.id)):
            left = self._ledger.counters_left(pool)
            for (counters, name), needed in candidate.counters.items():
                have, limit = left.get((counters, name), 0), pool.counters.get((counters, name), 0)
                if have < needed:
                    amounts = Amounts(needed // NANO, (limit - have) // NANO, limit // NANO)
                    said = f"{named} needs {amounts.asked} of counter {counters}/{name}"
                    said += f", {amounts.free} of {amounts.limit} left"
                    return ReasonCode.DEVICE_COUNTERS_SHORT, said, amounts
        return None if self._ledger.has_room(candidate, choice) else self._short(choice, candidate)

    def _holders(self, code: ReasonCode, devices: list[CandidateDevice]) -> Iterator[Holder]:
        """Yield the claims that have one of ``devices``; for counters, also other devices of their pools."""
        if code in (ReasonCode.DEVICES_UNMATCHED, ReasonCode.DEVICES_TAINTED):
            return
        names: dict[tuple[str, str], set[str]] = {}
        for driver, pool, device in (each.id for each in devices):
            names.setdefault((driver, pool), set()).add(device)
        by_pool = code is ReasonCode.DEVICE_COUNTERS_SHORT
        for of_pool, wanted in names.items():
            for name, holders in self._held.get(of_pool, {}).items():
                if by_pool or name in wanted:
                    yield from holders

    def _short(self, choice: DeviceChoice, candidate: CandidateDevice) -> Fault:
        named = f"device {candidate.id.device}"
        for name, asked in (choice.amounts or {}).items():
            left = self._ledger.capacity_left(candidate, name)
            if left is None or left >= asked:
                continue
            limit = parse_quantity(candidate.device.capacity[name].value)
            amounts = Amounts(asked // NANO, (limit - left) // NANO, limit // NANO)
            free, whole = amount(name, amounts.free), amount(name, amounts.limit)
            said = f"{name} {amount(name, amounts.asked)} needed, {free} of {whole} left on "
            said += candidate.id.device
            return ReasonCode.DEVICE_CAPACITY_SHORT, said, amounts
        return ReasonCode.DEVICE_CAPACITY_SHORT, f"{named} lacks the capacity", None


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _held(snapshot: Snapshot) -> Held:
    found: dict[tuple[str, str], dict[str, list[Holder]]] = {}
    for claim in snapshot.objects.all(ResourceClaim):
        allocation, key = claim.status.allocation, claim.metadata.key
        users = ", ".join(each.name for each in claim.status.reserved_for)
        for result in allocation.devices.results if allocation is not None else ():
            note = f"has {result.device}{f', used by {users}' if users else ''}"
            by_device = found.setdefault((result.driver, result.pool), {})
            by_device.setdefault(result.device, []).append(Holder(HolderKind.RESOURCE_CLAIM, key, None, note))
    return found
