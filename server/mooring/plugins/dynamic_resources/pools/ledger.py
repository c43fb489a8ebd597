"""What is taken of devices: by allocated claims, and by the claims that are being allocated.

Mirrors ``AllocatedState`` of ``k8s.io/dynamic-resource-allocation/structured`` and ``allocateddevices.go``.
Amounts are in billionths of a unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mooring.framework import KubeVersion
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.quantity import parse_quantity
from mooring.plugins.dynamic_resources.pools import capacity
from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, CounterID, DeviceID, PoolID
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import POOLS_APART_SINCE, Rules

_NOTHING: Counter[str] = Counter()
_EVERY_SHARE_COUNTS_SINCE = KubeVersion(1, 37)

PoolKey = PoolID | str


@dataclass(frozen=True)
class Allocated:
    """What allocated claims hold.

    Attributes:
        dedicated: The devices that one claim has for itself.
        shared: The devices of which claims have a share.
        used: How much of each capacity the shares take.
    """

    dedicated: set[DeviceID] = field(default_factory=set)
    shared: set[DeviceID] = field(default_factory=set)
    used: dict[DeviceID, Counter[str]] = field(default_factory=dict)


def allocated_by(claims: Iterable[ResourceClaim], rules: Rules) -> Allocated:
    """Return what ``claims`` hold; devices for admin access are not counted."""
    held = Allocated()
    for claim in claims:
        if claim.status.allocation is None:
            continue
        for result in claim.status.allocation.devices.results:
            device = DeviceID(result.driver, result.pool, result.device)
            if result.admin_access:
                continue
            if result.share_id is None or not rules.shares:
                held.dedicated.add(device)
                continue
            held.shared.add(device)
            if result.consumed_capacity:
                amounts = {name: parse_quantity(text) for name, text in result.consumed_capacity.items()}
                held.used.setdefault(device, Counter()).update(amounts)
    return held


@dataclass
class CounterBoard:
    """What is left of the counters of pools, worked out when a pool is first needed.

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
class Ledger:
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
            used = used + taken
        return capacity.fits(candidate.device, choice.amounts, used, self.rules)

    def would_have_room(self, candidate: CandidateDevice, choice: DeviceChoice) -> bool:
        """Whether the device would have the capacity if no claim had a share of it.

        Raises:
            CapacityError: The amount can't be reckoned with.
        """
        if not self.rules.shares:
            return True
        return capacity.fits(candidate.device, choice.amounts, _NOTHING, self.rules)

    def take(self, candidate: CandidateDevice, choice: DeviceChoice, claim: int) -> None:
        """Give the device, or a share of it, to the claim."""
        device = candidate.id
        if not candidate.shared:
            self._holders.setdefault(device, Counter())[claim] += 1
            return
        self._shares[device] += 1
        self._used.setdefault(device, Counter()).update(
            capacity.consumed(candidate.device, choice.amounts, self.rules)
        )

    def give_back(self, candidate: CandidateDevice, choice: DeviceChoice, claim: int) -> None:
        """Undo ``take``."""
        device = candidate.id
        if not candidate.shared:
            del self._holders[device][claim]
            return
        self._shares[device] -= 1
        self._used[device].subtract(capacity.consumed(candidate.device, choice.amounts, self.rules))

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
