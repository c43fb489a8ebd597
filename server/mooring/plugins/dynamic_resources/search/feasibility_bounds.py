"""Finds out early that a search can't succeed, so that hopeless claims don't take an exponential time.

kube-scheduler has no such step. It is taken only if it can't change an answer: requests after one at
which the search may end with an error are not checked before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import gt, le, mul, or_

from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, CounterID
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
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
"""The weight of all that is left of a counter when several are weighed together."""

_ROUNDS = 8
"""How often counters are weighed together."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The least that a request needs. A set of devices has a bit for each.

    Attributes:
        place: Its position.
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


class FeasibilityBounds:
    """The needs of one search's requests, compared with the available devices.

    Args:
        pools: The pools whose devices are searched.
        ledger: The devices and amounts that are taken; none yet by this search.
    """

    def __init__(self, pools: Sequence[DevicePool], ledger: DeviceLedger) -> None:
        self._pools, self._ledger = pools, ledger
        self._candidates = [candidate for pool in pools for candidate in pool.candidates]
        self._bits = {candidate.id: 1 << at for at, candidate in enumerate(self._candidates)}
        # Without partitions a device that takes counters can't be had, and a pool has none.
        partitioned = pools if ledger.rules.partitions else ()
        self._counting = [(pool, found) for pool in partitioned if (found := self._counting_of(pool))]
        self._demands: list[Demand] = []

    def _counting_of(self, pool: DevicePool) -> _Counting | None:
        devices = [(self._bits[each.id], each.counters) for each in pool.candidates if each.counters]
        return _Counting(devices, tuple(self._ledger.counters_left(pool))) if devices else None

    def demand(
        self,
        place: Place,
        choices: Sequence[DeviceChoice],
        least: int,
        could_get: Callable[[DeviceChoice, CandidateDevice], bool | None],
        *,
        may_fail: bool,
    ) -> None:
        """Add the next request, each of whose choices takes at least ``least`` devices.

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
            left = tuple(self._ledger.counters_left(pool).values())
            out = counting.too_large(left)
            free = [(each, some & ~out) for each, some in free]
            # Devices that take nothing are available even if claims hold more than there is.
            if counting.overdrawn(free, tuple([max(amount, 0) for amount in left])):
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
        """Yield the demands of the requests from ``place`` on, up to one that may fail."""
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
        """Return whether shared devices have too little capacity: for the sum of the requests, or for
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

Amounts = tuple[int, ...]
"""The devices' use of each counter of a pool."""

Need = tuple[int, int]
"""Devices, and how many of them are needed."""

Needs = tuple[Mapping[Need, int], Need]
"""How often each is needed by itself, unless all are the same, and what they come to together."""


def _union(free: Free) -> int:
    return _union_of(devices for _, devices in free)


def _union_of(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _have_room(free: Free) -> bool:
    """Return whether there are as many devices as the demands need, each and all."""
    if any(devices.bit_count() < demand.count for demand, devices in free):
        return False
    return sum(demand.count for demand, _ in free) <= _union(free).bit_count()


class _Counting:
    """The devices of a pool that take counters.

    Args:
        devices: The devices, each with its amounts.
        counters: The pool's counters, in the order of ``left``.
    """

    def __init__(
        self, devices: Sequence[tuple[int, Mapping[CounterID, int]]], counters: Sequence[CounterID]
    ) -> None:
        self._devices = [
            (device, tuple([amounts.get(counter, 0) for counter in counters])) for device, amounts in devices
        ]
        alone = [tuple([int(at == other) for other in range(len(counters))]) for at in range(len(counters))]
        self._by_counter = [_Weighed(self._devices, weights) for weights in alone]

    def too_large(self, left: Amounts) -> int:
        """Return the devices that take more of a counter than is ``left``."""
        return _union_of(device for device, amounts in self._devices if any(map(gt, amounts, left)))

    def overdrawn(self, free: Free, left: Amounts) -> bool:
        """Return whether demands take more counters than is ``left``, whatever they get.

        Counters are checked one by one, and then several together: whatever their weights, no more can be
        taken than is left. Those that the lightest devices overdraw weigh more in the next round.
        """
        apart = Counter([(devices, demand.count) for demand, devices in free])
        union, count = _union(free), sum([demand.count for demand, _ in free])
        needs = (apart if len(apart) > 1 else {}), (union, count)
        if any(weighed.overdrawn(needs, left) for weighed in self._by_counter):
            return True
        weights = tuple([_ONE // amount if amount else 0 for amount in left])
        for _ in range(_ROUNDS if sum(map(bool, weights)) > 1 else 0):
            weighed = _Weighed(self._devices, weights)
            if weighed.overdrawn(needs, left):
                return True
            used = [amounts for _, _, amounts in weighed.lightest(union, count)]
            taken = [sum(amounts) for amounts in zip(*used, strict=True)]
            if all(map(le, taken, left)):
                return False
            shares = zip(weights, taken, left, strict=True)
            # An empty counter weighs nothing.
            weights = tuple([weight * some // (most or 1) for weight, some, most in shares])
        return False


class _Weighed:
    """Devices that take counters, the lightest first, by a weight of each counter."""

    def __init__(self, devices: Sequence[tuple[int, Amounts]], weights: Amounts) -> None:
        self._weights = weights
        self._devices = sorted([(_weigh(weights, amounts), device, amounts) for device, amounts in devices])
        self._others = ~_union_of(device for device, _ in devices)

    def overdrawn(self, needs: Needs, left: Amounts) -> bool:
        """Return whether what is needed takes more than is ``left``, each by itself or all together."""
        apart, together = needs
        least = sum([number * self._least(*need) for need, number in apart.items()])
        return max(least, self._least(*together)) > _weigh(self._weights, left)

    def lightest(self, devices: int, count: int) -> Sequence[tuple[int, int, Amounts]]:
        """Return the ``count`` lightest of ``devices``: weight, device and amounts."""
        rest = max(count - (devices & self._others).bit_count(), 0)
        return [each for each in self._devices if each[1] & devices][:rest]

    def _least(self, devices: int, count: int) -> int:
        return sum([weight for weight, _, _ in self.lightest(devices, count)])


def _weigh(weights: Amounts, amounts: Amounts) -> int:
    return sum(map(mul, weights, amounts))


def _have_enough(free: Free) -> bool:
    """Return whether each demand can have devices of its own."""
    if not _have_room(free):
        return False
    if len({devices for _, devices in free}) < 2:
        return True
    owners: dict[int, int] = {}

    def gives(at: int, asked: list[int]) -> bool:
        """Find one more device for the demand among those that were not ``asked`` for yet, a set of bits."""
        while rest := free[at][1] & ~asked[0]:
            device = rest & -rest
            asked[0] |= device
            owner = owners.get(device)
            if owner is None or gives(owner, asked):
                owners[device] = at
                return True
        return False

    return all(gives(at, [0]) for at, (demand, _) in enumerate(free) for _ in range(demand.count))
