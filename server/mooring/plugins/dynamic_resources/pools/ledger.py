"""Allocations of devices: by allocated claims, and by the claims that are being allocated.

Mirrors ``AllocatedState`` of ``k8s.io/dynamic-resource-allocation/structured`` and ``allocateddevices.go``.
Amounts are in billionths of a unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mooring.framework import KubeVersion
from mooring.framework.object_table import ObjectKey, ObjectTable
from mooring.framework.objects.claims import DeviceRequestAllocationResult, ResourceClaim
from mooring.framework.quantity import exact_quantity
from mooring.plugins.dynamic_resources.pools import capacity
from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, CounterID, DeviceID, PoolID
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import POOLS_APART_SINCE, Rules

_NOTHING: Counter[str] = Counter()
_EVERY_SHARE_COUNTS_SINCE = KubeVersion(1, 37)

PoolKey = PoolID | str

HeldNow = tuple[tuple[tuple[int, int], ...], int, tuple[tuple[str, int], ...]]
"""A device's use: its exclusive uses by claim, the shares, and the capacity that these take."""


@dataclass(frozen=True)
class Allocated:
    """The devices and capacities of allocated claims.

    Attributes:
        dedicated: The devices that one claim has for itself.
        shared: The devices that claims share.
        used: How much of each capacity the shares take.
    """

    dedicated: set[DeviceID] = field(default_factory=set)
    shared: set[DeviceID] = field(default_factory=set)
    used: dict[DeviceID, Counter[str]] = field(default_factory=dict)


def allocated_by(claims: Iterable[ResourceClaim], rules: Rules) -> Allocated:
    """Return what ``claims`` hold; devices for admin access are not counted."""
    held = Allocated()
    for claim in claims:
        for device, result in _held_by(claim):
            _hold(held, device, result, rules)
    return held


class HeldDevices:
    """The devices of one state's allocated claims, updated claim by claim. Callers hold the state's lock.

    Attributes:
        allocated: All of it. It changes in place with ``follow``.
        version: The version of the claims that it is true for; -1 at first.
    """

    def __init__(self, rules: Rules) -> None:
        self.allocated = Allocated()
        self.version = -1
        self._rules = rules
        self._of_claim: dict[ObjectKey, Holding] = {}
        self._claims: dict[DeviceID, dict[ObjectKey, None]] = {}
        self._owners: dict[ObjectKey, str] = {}
        self._of_owner: dict[tuple[str, str], dict[str, None]] = {}

    def controlled_by(self, namespace: str, uid: str) -> Iterable[str]:
        """Return the names of the claims that the pod with ``uid`` controls, in the order of their coming."""
        return self._of_owner.get((namespace, uid), ())

    def follow(self, objects: ObjectTable) -> set[DeviceID] | None:
        """Bring it up to date, and return the devices that changed hands; None = it may be any."""
        version = objects.version(ResourceClaim)
        if version == self.version:
            return set()
        keys = objects.changes_since(ResourceClaim, self.version) if self.version >= 0 else None
        self.version = version
        if keys is None:
            self.allocated, self._of_claim, self._claims, self._of_owner = Allocated(), {}, {}, {}
            self._owners = {}
            keys = [(claim.metadata.namespace, claim.metadata.name) for claim in objects.all(ResourceClaim)]
            self._take_in(keys, objects)
            return None
        return self._take_in(keys, objects)

    def _take_in(self, keys: Iterable[ObjectKey], objects: ObjectTable) -> set[DeviceID]:
        """Count the claims with ``keys`` again."""
        changed: set[DeviceID] = set()
        for key in dict.fromkeys(keys):
            claim = objects.get(ResourceClaim, key[1], key[0])
            self._note_owner(key, claim)
            before, now = self._of_claim.pop(key, ()), _held_by(claim) if claim is not None else ()
            if now:
                self._of_claim[key] = now
            if before == now:
                continue
            for device, _ in before:
                self._claims.get(device, {}).pop(key, None)
                changed.add(device)
            for device, _ in now:
                self._claims.setdefault(device, {})[key] = None
                changed.add(device)
        for device in changed:
            self._hold_again(device)
        return changed

    def _note_owner(self, key: ObjectKey, claim: ResourceClaim | None) -> None:
        owner = claim.metadata.controller if claim is not None else None
        now = owner.uid if owner is not None else ""
        before, (namespace, name) = self._owners.pop(key, ""), key
        if before and before != now:
            of_owner = self._of_owner[namespace, before]
            del of_owner[name]
            if not of_owner:
                del self._of_owner[namespace, before]
        if now:
            self._owners[key] = now
            self._of_owner.setdefault((namespace, now), {})[name] = None

    def _hold_again(self, device: DeviceID) -> None:
        held = self.allocated
        held.dedicated.discard(device)
        held.shared.discard(device)
        held.used.pop(device, None)
        for key in self._claims[device]:
            for other, result in self._of_claim[key]:
                if other == device:
                    _hold(held, device, result, self._rules)
        if not self._claims[device]:
            del self._claims[device]


Holding = tuple[tuple[DeviceID, DeviceRequestAllocationResult], ...]
"""The devices that a claim holds."""


def _held_by(claim: ResourceClaim) -> Holding:
    allocation = claim.status.allocation
    if allocation is None:
        return ()
    return tuple(
        [
            (DeviceID(result.driver, result.pool, result.device), result)
            for result in allocation.devices.results
            if not result.admin_access
        ]
    )


def _hold(held: Allocated, device: DeviceID, result: DeviceRequestAllocationResult, rules: Rules) -> None:
    if result.share_id is None or not rules.shares:
        held.dedicated.add(device)
        return
    held.shared.add(device)
    if result.consumed_capacity:
        amounts = {name: exact_quantity(text) for name, text in result.consumed_capacity.items()}
        held.used.setdefault(device, Counter()).update(amounts)


@dataclass
class CounterBoard:
    """The rest of the counters of pools, computed when a pool is first needed.

    As in kube-scheduler before 1.37, pools of the same name share an entry, whatever their drivers.
    """

    allocated: Allocated
    rules: Rules
    _left: dict[PoolKey, dict[CounterID, int]] = field(default_factory=dict)

    def left(self, pool: DevicePool) -> dict[CounterID, int]:
        """By counter, what allocated devices leave."""
        key = self.key(pool)
        if key not in self._left:
            left = dict(pool.counters)
            for candidate in (*pool.candidates, *pool.out_of_reach):
                if candidate.id in self.allocated.dedicated or candidate.id in self.allocated.shared:
                    for counter, amount in candidate.counters.items():
                        left[counter] -= amount
            self._left[key] = left
        return self._left[key]

    def key(self, pool: DevicePool) -> PoolKey:
        """Under what the counters of a pool are known."""
        return pool.id if self.rules.version >= POOLS_APART_SINCE else pool.id.pool


@dataclass
class DeviceLedger:
    """The takings of one search on one node."""

    allocated: Allocated
    board: CounterBoard
    rules: Rules
    _holders: dict[DeviceID, Counter[int]] = field(default_factory=dict)
    _shares: Counter[DeviceID] = field(default_factory=Counter)
    _used: dict[DeviceID, Counter[str]] = field(default_factory=dict)
    _counted: dict[PoolKey, Counter[CounterID]] = field(default_factory=dict)

    def in_use(self, device: DeviceID) -> bool:
        """Return whether some claim has the device for itself."""
        return device in self.allocated.dedicated or bool(self._holders.get(device))

    def held_by(self, device: DeviceID, claim: int) -> bool:
        """Return whether the claim at that index has got the device in this search."""
        return claim in self._holders.get(device, ())

    def held_before(self, device: DeviceID) -> Hashable:
        """Return a value that is equal for devices with equal use by allocated claims."""
        used = self.allocated.used.get(device)
        amounts = None if used is None else tuple(sorted(used.items()))
        return device in self.allocated.dedicated, device in self.allocated.shared, amounts

    def held_now(self, device: DeviceID) -> HeldNow:
        """Return the same for this search's own use."""
        holders, used = self._holders.get(device), self._used.get(device)
        return (
            tuple(sorted(holders.items())) if holders else (),
            self._shares[device],
            tuple(sorted(used.items())) if used and self._shares[device] else (),
        )

    def all_held_now(self) -> Iterator[tuple[DeviceID, HeldNow]]:
        """Yield each device that this search uses, with ``held_now``."""
        for device in {*self._holders, *self._shares}:
            if self._holders.get(device) or self._shares[device]:
                yield device, self.held_now(device)

    def taken_now(self) -> Iterator[DeviceID]:
        """Yield each device that a claim of this search has for itself."""
        return (device for device, holders in self._holders.items() if holders)

    def has_shares(self, device: DeviceID) -> bool:
        """Return whether some claim has a share of the device: before 1.37, one that takes capacity."""
        if device in self.allocated.used or self._shares[device] > 0:
            return True
        return self.rules.version >= _EVERY_SHARE_COUNTS_SINCE and device in self.allocated.shared

    def has_room(self, candidate: CandidateDevice, choice: DeviceChoice) -> bool:
        """Return whether the device has the capacity that ``choice`` asks for."""
        device = candidate.id
        if not self.rules.shares:
            return True
        if not candidate.device.capacity:
            return not choice.amounts
        used = self.allocated.used.get(device, _NOTHING)
        if taken := self._used.get(device):
            # The operator + leaves out an amount below 0, which one that wrapped around is.
            used = used.copy()
            used.update(taken)
        if not used and choice.amounts is None:
            return candidate.traits.have_room
        return capacity.fits(candidate.device, choice.amounts, used, self.rules)

    def would_have_room(self, candidate: CandidateDevice, choice: DeviceChoice) -> bool:
        """Whether the device would have the capacity if no claim had a share of it. Raises CapacityError if
        the amount can't be reckoned with.
        """
        if not self.rules.shares:
            return True
        return capacity.fits(candidate.device, choice.amounts, _NOTHING, self.rules)

    def consumed(self, candidate: CandidateDevice, choice: DeviceChoice) -> Mapping[str, int]:
        """Return what ``choice`` takes of each capacity of the device. Raises CapacityError if the amount
        can't be reckoned with.
        """
        return capacity.consumed(candidate.device, choice.amounts, self.rules)

    def capacity_left(self, candidate: CandidateDevice, name: str) -> int | None:
        """Return the amount left of a capacity of a device that is shared; None when it has none."""
        held = candidate.device.capacity.get(name)
        if held is None or not self.rules.shares:
            return None
        before, now = (some.get(candidate.id, _NOTHING) for some in (self.allocated.used, self._used))
        return exact_quantity(held.value) - before[name] - now[name]

    def take(self, candidate: CandidateDevice, choice: DeviceChoice, claim: int) -> None:
        """Give the device, or a share of it, to the claim."""
        device = candidate.id
        if not candidate.shared:
            self._holders.setdefault(device, Counter())[claim] += 1
            return
        self._shares[device] += 1
        self._used.setdefault(device, Counter()).update(self.consumed(candidate, choice))

    def give_back(self, candidate: CandidateDevice, choice: DeviceChoice, claim: int) -> None:
        """Undo ``take``."""
        device = candidate.id
        if not candidate.shared:
            del self._holders[device][claim]
            return
        self._shares[device] -= 1
        self._used[device].subtract(self.consumed(candidate, choice))

    def counters_left(self, pool: DevicePool) -> dict[CounterID, int]:
        """Return the amount left of each of the pool's counters."""
        counted = self._counted.get(self.board.key(pool), Counter[CounterID]())
        return {counter: amount - counted[counter] for counter, amount in self.board.left(pool).items()}

    def count(self, candidate: CandidateDevice, pool: DevicePool) -> bool:
        """Take the device's counters; False, with nothing taken, when a counter of the pool falls short."""
        left = self.board.left(pool)
        counted = self._counted.setdefault(self.board.key(pool), Counter())
        counted.update(candidate.counters)
        if all(amount >= counted[counter] for counter, amount in left.items()):
            return True
        counted.subtract(candidate.counters)
        return False

    def uncount(self, candidate: CandidateDevice, pool: DevicePool) -> None:
        """Undo ``count``."""
        self._counted[self.board.key(pool)].subtract(candidate.counters)
