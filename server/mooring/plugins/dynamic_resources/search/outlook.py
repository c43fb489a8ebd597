"""Tells early that a search can't succeed, so that hopeless claims don't take an exponential time.

kube-scheduler has no such step. It is taken only where it can change no answer: what comes after a request at
which the search may end with an error is not looked at before that request.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_

from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, CounterID
from mooring.plugins.dynamic_resources.pools.ledger import Ledger
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.search.constraints import (
    Alike,
    AllDifferent,
    ConstraintCheck,
    ConstraintChecks,
)

Place = tuple[int, int]
"""A claim's index, and a request's in it."""

_ONE = 1 << 128
"""What all that is left of a counter weighs where several are weighed together."""

_ROUNDS = 8
"""How often counters are weighed together."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request needs at least. Sets of devices are a bit each.

    Attributes:
        place: Where it is.
        request: Its name.
        count: How many devices; 0 = nothing is known.
        devices: Those that it could get.
        amounts: By capacity, the least that it takes of one of them, if all are shared; else None.
        may_fail: Whether the search may end there with an error.
    """

    place: Place
    request: str
    count: int
    devices: int
    amounts: Mapping[str, int] | None
    may_fail: bool


class Outlook:
    """What the requests of one search need, beside what there is.

    Args:
        pools: The pools whose devices are looked at.
        ledger: What is taken; nothing yet by this search.
    """

    def __init__(self, pools: Sequence[DevicePool], ledger: Ledger) -> None:
        self._pools, self._ledger = pools, ledger
        self._candidates = [candidate for pool in pools for candidate in pool.candidates]
        self._bits = {candidate.id: 1 << at for at, candidate in enumerate(self._candidates)}
        self._counting = [
            (pool, [(self._bits[each.id], each.counters) for each in pool.candidates if each.counters])
            # Without partitions a device that takes counters can't be had, and a pool has none.
            for pool in pools
            if ledger.rules.partitions
        ]
        self._demands: list[Demand] = []

    def demand(
        self,
        place: Place,
        choices: Sequence[DeviceChoice],
        least: int,
        could_get: Callable[[DeviceChoice, CandidateDevice], bool | None],
        *,
        may_fail: bool,
    ) -> None:
        """Add the next request, of which every choice takes at least ``least`` devices.

        ``could_get`` says None when a selector, or an amount, fails on the device.
        """
        pairs = [(choice, each, could_get(choice, each)) for choice in choices for each in self._candidates]
        found = [(choice, each) for choice, each, could in pairs if could]
        free = [(choice, each) for choice, each in found if not self._ledger.in_use(each.id)]
        may_fail = may_fail or any(could is None for _, _, could in pairs)
        known = not any(choice.admin or choice.everything for choice in choices)
        shares = {each.shared for _, each in free}
        amounts = self._amounts(free) if known and shares == {True} else None
        count = least if known and (shares <= {False} or amounts is not None) else 0
        devices = _union_of(self._bits[each.id] for _, each in free)
        self._demands.append(Demand(place, choices[0].request, count, devices, amounts, may_fail))

    def may_fail_in(self, claim: int) -> bool:
        """Return whether the search may end with an error in the claim of that index."""
        return any(demand.may_fail for demand in self._demands if demand.place[0] == claim)

    def is_hopeless(self, place: Place, checks: Sequence[ConstraintChecks]) -> bool:
        """Return whether the requests from ``place`` on need more than is left; ``checks`` are by claim."""
        rest = list(self._rest(place))
        taken = sum(self._bits.get(device, 0) for device in self._ledger.taken_now())
        free = [(each, each.devices & ~taken) for each in rest if each.amounts is None]
        if not _have_room(free):
            return True
        for pool, counting in self._counting:
            if not counting:
                continue
            left = self._ledger.counters_left(pool)
            out = _too_large(left, counting)
            free = [(each, some & ~out) for each, some in free]
            # Devices that take nothing can be had even where claims have more than there is.
            if _overdraw(free, counting, {counter: max(amount, 0) for counter, amount in left.items()}):
                return True
        return (
            not _have_enough(free)
            or any(
                self._lack_values([(each, some) for each, some in free if each.place[0] == claim], check)
                for claim, some in enumerate(checks)
                if claim >= place[0]
                for check in some
            )
            or self._lack_capacity([each for each in rest if each.amounts is not None])
        )

    def _rest(self, place: Place) -> Iterator[Demand]:
        """Yield what is known of the requests from ``place`` on, up to one that may fail."""
        for demand in self._demands:
            if demand.place >= place:
                if demand.may_fail:
                    return
                if demand.count:
                    yield demand

    def _lack_values(self, free: Free, check: ConstraintCheck) -> bool:
        """Return whether too few of the devices that are ``free`` differ, or are alike, as ``check`` says."""
        if not isinstance(check, Alike | AllDifferent):
            return False
        concerned = [(demand, some) for demand, some in free if check.concerns(demand.request)]
        union = _union(concerned)
        groups: dict[bytes, int] = {}
        for candidate in self._candidates:
            bit = self._bits[candidate.id]
            value = check.would_take(candidate) if bit & union else None
            if value is not None:
                groups[value] = groups.get(value, 0) | bit
        if isinstance(check, AllDifferent):
            return sum(demand.count for demand, _ in concerned) > len(groups)
        return bool(concerned) and not any(
            _have_room([(demand, some & group) for demand, some in concerned]) for group in groups.values()
        )

    def _lack_capacity(self, demands: Sequence[Demand]) -> bool:
        """Return whether shared devices have too little capacity: for the sum of what is asked for, or for
        the number of shares.
        """
        union = _union([(demand, demand.devices) for demand in demands])
        devices = [each for each in self._candidates if self._bits[each.id] & union]
        for name in {name for demand in demands for name in demand.amounts or ()}:
            needs = sorted(
                amount
                for demand in demands
                for amount in [(demand.amounts or {}).get(name, 0)] * demand.count
            )
            left = [self._ledger.capacity_left(each, name) for each in devices]
            known = [max(each, 0) for each in left if each is not None]
            if len(known) < len(left) or needs[0] < 0:
                continue
            sums = list(accumulate(needs))
            if sums[-1] > sum(known) or sum(bisect_right(sums, each) for each in known) < len(needs):
                return True
        return False

    def _amounts(self, found: Sequence[tuple[DeviceChoice, CandidateDevice]]) -> Mapping[str, int]:
        """Return, by capacity, the least that one of the choices takes of one of its devices."""
        taken = [self._ledger.consumed(each, choice) for choice, each in found]
        names = {name for some in taken for name in some}
        return {name: min(some.get(name, 0) for some in taken) for name in names}


Free = Sequence[tuple[Demand, int]]
"""Demands, each with the devices that it still could get."""

Counting = Sequence[tuple[int, Mapping[CounterID, int]]]
"""Devices with what they take of the counters of their pool."""


def _union(free: Free) -> int:
    return _union_of(devices for _, devices in free)


def _union_of(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _have_room(free: Free) -> bool:
    """Return whether there are as many devices as the demands need, each and all."""
    if any(devices.bit_count() < demand.count for demand, devices in free):
        return False
    return sum(demand.count for demand, _ in free) <= _union(free).bit_count()


def _too_large(left: Mapping[CounterID, int], counting: Counting) -> int:
    """Return the devices that take more of a counter than is left."""
    out = 0
    for device, amounts in counting:
        if any(amounts.get(counter, 0) > amount for counter, amount in left.items()):
            out |= device
    return out


def _overdraw(free: Free, counting: Counting, left: Mapping[CounterID, int]) -> bool:
    """Return whether demands take more of a pool's counters than is left, whatever they get.

    Counters are looked at one by one, and then several together: however they are weighed, no more can be
    taken than is left. Those of which the lightest devices take too much weigh more in the next round.
    """
    if any(_Weighed(counting, {counter: 1}).overdrawn(free, left) for counter in left):
        return True
    weights = {counter: _ONE // amount for counter, amount in left.items() if amount > 0}
    for _ in range(_ROUNDS if len(weights) > 1 else 0):
        weighed = _Weighed(counting, weights)
        if weighed.overdrawn(free, left):
            return True
        used = weighed.lightest(_union(free), sum(demand.count for demand, _ in free))
        taken = {counter: sum(amounts.get(counter, 0) for amounts in used) for counter in weights}
        if all(amount <= left[counter] for counter, amount in taken.items()):
            return False
        weights = {counter: weight * taken[counter] // left[counter] for counter, weight in weights.items()}
    return False


class _Weighed:
    """Devices that take counters, the lightest first."""

    def __init__(self, counting: Counting, weights: Mapping[CounterID, int]) -> None:
        self._weights = weights
        weighed = ((self._weigh(amounts), device, amounts) for device, amounts in counting)
        self._devices = sorted(weighed, key=lambda each: each[:2])
        self._others = ~_union_of(device for device, _ in counting)

    def overdrawn(self, free: Free, left: Mapping[CounterID, int]) -> bool:
        """Return whether demands take more than is ``left``, each by itself or all together."""
        each = Counter((devices, demand.count) for demand, devices in free)
        apart = sum(number * self._least(devices, count) for (devices, count), number in each.items())
        together = self._least(_union(free), sum(demand.count for demand, _ in free))
        return max(apart, together) > self._weigh(left)

    def lightest(self, devices: int, count: int) -> Sequence[Mapping[CounterID, int]]:
        """Return what the lightest of ``devices`` take, of which ``count`` are needed."""
        rest = max(count - (devices & self._others).bit_count(), 0)
        return [amounts for _, device, amounts in self._devices if device & devices][:rest]

    def _least(self, devices: int, count: int) -> int:
        return sum(map(self._weigh, self.lightest(devices, count)))

    def _weigh(self, amounts: Mapping[CounterID, int]) -> int:
        return sum(weight * amounts.get(counter, 0) for counter, weight in self._weights.items())


def _have_enough(free: Free) -> bool:
    """Return whether each demand can have devices of its own."""
    if not _have_room(free):
        return False
    if len({devices for _, devices in free}) < 2:
        return True
    owners: dict[int, int] = {}

    def gives(at: int, asked: list[int]) -> bool:
        """Find one more device for the demand, of those that were not ``asked`` for yet, a set of bits."""
        while rest := free[at][1] & ~asked[0]:
            device = rest & -rest
            asked[0] |= device
            owner = owners.get(device)
            if owner is None or gives(owner, asked):
                owners[device] = at
                return True
        return False

    return all(gives(at, [0]) for at, (demand, _) in enumerate(free) for _ in range(demand.count))
