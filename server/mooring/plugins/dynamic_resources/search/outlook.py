"""Tells early that a search can't succeed, so that hopeless claims don't take an exponential time.

kube-scheduler has no such step: it is taken only where it can change no answer, because no selector and no
amount fails on any device and no claim can run into an error on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, DeviceID
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError
from mooring.plugins.dynamic_resources.requests import DeviceChoice, DeviceChoices


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request needs at least.

    Attributes:
        place: Its claim's index and its own.
        count: How many devices.
        devices: Those that it could get.
    """

    place: tuple[int, int]
    count: int
    devices: frozenset[DeviceID]


def demands_of(
    claims: Sequence[Sequence[DeviceChoices]],
    candidates: Sequence[CandidateDevice],
    could_get: Callable[[DeviceChoice, CandidateDevice], bool],
) -> list[Demand]:
    """Return the demands for unshared devices; none when a selector, or an amount, fails on a device."""
    demands: list[Demand] = []
    shared = {candidate.id for candidate in candidates if candidate.shared}
    try:
        for place, request in _placed(claims):
            # Every pair is looked at: what fails is found, whichever choice has it.
            devices = {
                candidate.id
                for choice in request.choices
                for candidate in candidates
                if could_get(choice, candidate)
            }
            bounded = not any(choice.admin or choice.everything for choice in request.choices)
            if bounded and devices.isdisjoint(shared):
                count = min(choice.count for choice in request.choices)
                demands.append(Demand(place, count, frozenset(devices)))
    except (CapacityError, EvaluationError, NodeSelectorError):
        return []
    return demands


def is_hopeless(
    demands: Sequence[Demand], place: tuple[int, int], in_use: Callable[[DeviceID], bool]
) -> bool:
    """Return whether the requests from ``place`` on need more devices than are left for them."""
    left: set[DeviceID] = set()
    needed = 0
    for demand in demands:
        if demand.place < place:
            continue
        free = [device for device in demand.devices if not in_use(device)]
        if len(free) < demand.count:
            return True
        needed += demand.count
        left.update(free)
    return needed > len(left)


def _placed(claims: Sequence[Sequence[DeviceChoices]]) -> list[tuple[tuple[int, int], DeviceChoices]]:
    return [
        ((at, number), request) for at, claim in enumerate(claims) for number, request in enumerate(claim)
    ]
