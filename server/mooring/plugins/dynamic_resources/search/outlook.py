"""Tells early that a search can't succeed, so that hopeless claims don't take an exponential time.

kube-scheduler has no such step: it is taken only where it can change no answer, because no selector and no
amount fails on any device and no claim can run into an error on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, CounterID, DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import Ledger
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError
from mooring.plugins.dynamic_resources.requests import DeviceChoice, DeviceChoices
from mooring.plugins.dynamic_resources.search.constraints import AllDifferent


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request needs at least.

    Attributes:
        place: Its claim's index and its own.
        request: Its name.
        count: How many devices.
        devices: Those that it could get.
    """

    place: tuple[int, int]
    request: str
    count: int
    devices: frozenset[DeviceID]


def demands_of(
    claims: Sequence[Sequence[DeviceChoices]],
    candidates: Sequence[CandidateDevice],
    could_get: Callable[[DeviceChoice, CandidateDevice], bool],
) -> list[Demand] | None:
    """Return the demands for unshared devices; None when a selector, or an amount, fails on a device."""
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
                demands.append(Demand(place, request.choices[0].request, count, frozenset(devices)))
    except (CapacityError, EvaluationError, NodeSelectorError):
        return None
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


def fall_short(
    demands: Sequence[Demand],
    place: tuple[int, int],
    ledger: Ledger,
    pools: Sequence[DevicePool],
    checks: Sequence[AllDifferent],
) -> bool:
    """Return whether the requests from ``place`` on need more than is left, counted device by device.

    ``checks`` are those of the claim of ``place``.
    """
    rest = [demand for demand in demands if demand.place >= place]
    free = [[each for each in demand.devices if not ledger.in_use(each)] for demand in rest]
    own = [(demand, some) for demand, some in zip(rest, free, strict=True) if demand.place[0] == place[0]]
    candidates = {each.id: each for pool in pools for each in pool.candidates}
    return (
        any(_take_too_much(rest, free, ledger.counters_left(pool), pool.candidates) for pool in pools)
        or not _have_enough(rest, free)
        or any(_lack_values(own, check, candidates) for check in checks)
    )


def _have_enough(demands: Sequence[Demand], free: Sequence[Sequence[DeviceID]]) -> bool:
    """Return whether each of ``demands`` can have devices of its own of those that are ``free`` for it."""
    owners: dict[DeviceID, int] = {}

    def gives(at: int, asked: set[DeviceID]) -> bool:
        for device in free[at]:
            if device in asked:
                continue
            asked.add(device)
            owner = owners.get(device)
            if owner is None or gives(owner, asked):
                owners[device] = at
                return True
        return False

    return all(gives(at, set()) for at, demand in enumerate(demands) for _ in range(demand.count))


def _take_too_much(
    demands: Sequence[Demand],
    free: Sequence[Sequence[DeviceID]],
    left: Mapping[CounterID, int],
    candidates: Sequence[CandidateDevice],
) -> bool:
    """Return whether ``demands`` take more of a pool's counters than is ``left``, whatever they get."""
    counting = {each.id: each.counters for each in candidates if each.device.consumes_counters}
    union = {device for devices in free for device in devices}
    needed = sum(demand.count for demand in demands)
    for counter, amount in left.items() if counting else ():

        def least(devices: Iterable[DeviceID], count: int, counter: CounterID = counter) -> int:
            return sum(sorted(counting.get(device, {}).get(counter, 0) for device in devices)[:count])

        apart = sum(least(devices, demand.count) for demand, devices in zip(demands, free, strict=True))
        if max(apart, least(union, needed)) > amount:
            return True
    return False


def _lack_values(
    demands: Sequence[tuple[Demand, Sequence[DeviceID]]],
    check: AllDifferent,
    candidates: Mapping[DeviceID, CandidateDevice],
) -> bool:
    """Return whether devices that must differ have too few values, of those that are free for ``demands``."""
    concerned = [(demand, free) for demand, free in demands if check.concerns(demand.request)]
    values = {check.is_new(candidates[device]) for _, free in concerned for device in free}
    return sum(demand.count for demand, _ in concerned) > len(values - {None})


def _placed(claims: Sequence[Sequence[DeviceChoices]]) -> list[tuple[tuple[int, int], DeviceChoices]]:
    return [
        ((at, number), request) for at, claim in enumerate(claims) for number, request in enumerate(claim)
    ]
