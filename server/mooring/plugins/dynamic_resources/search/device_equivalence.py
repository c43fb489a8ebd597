"""Which devices are alike for one search, so that what failed with one is not tried with the next.

kube-scheduler has no such step. It is taken only if it can't change an answer: if the order in which the
devices of a request are taken doesn't matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mooring.framework import hashable
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.search.constraints import ConstraintCheck, attribute_of

MOST_FAILURES = 1 << 15
"""The dead ends that one search remembers."""


class DeviceEquivalence:
    """The devices of one search, numbered so that those that are alike have one number.

    Args:
        claims: The claims of the search.
        candidates: The devices.
        said: The answer about a device for a choice, as long as it is not taken.
    """

    def __init__(
        self,
        claims: Sequence[ClaimToAllocate],
        candidates: Iterable[CandidateDevice],
        ledger: DeviceLedger,
        said: Callable[[DeviceChoice, CandidateDevice], Hashable],
    ) -> None:
        self._ledger = ledger
        choices = [choice for claim in claims for request in claim.requests for choice in request.choices]
        constraints = [constraint for claim in claims for constraint in claim.constraints]
        names = {each.match_attribute or each.distinct_attribute or "" for each in constraints}
        numbers: dict[Hashable, int] = {}
        self._numbers: dict[DeviceID, int] = {}
        for candidate in candidates:
            device = candidate.device
            values = [hashable(attribute_of(name, candidate)) for name in sorted(names)]
            key = (
                candidate.id.pool,
                candidate.id.driver,
                candidate.shared,
                tuple([said(choice, candidate) for choice in choices]),
                hashable(device.capacity, device.consumes_counters, device.allow_multiple_allocations),
                tuple(values),
                ledger.held_before(candidate.id),
            )
            self._numbers[candidate.id] = numbers.setdefault(key, len(numbers))
        self._failed: dict[Hashable, int] = {}

    def of(self, candidate: CandidateDevice) -> Hashable:
        """Return a value that is equal for devices that make no difference now."""
        return self._numbers[candidate.id], self._ledger.held_now(candidate.id)

    def state(self, place: Hashable, constraints: Iterable[ConstraintCheck]) -> Hashable:
        """Return a value that is equal where the requests from ``place`` on find as much."""
        taken = [(self._numbers[device], held) for device, held in self._ledger.all_held_now()]
        taken.sort()
        return place, tuple(taken), tuple([each.state() for each in constraints])

    def has_failed(self, state: Hashable, start: int = 0) -> bool:
        """Return whether nothing was found from ``state`` on before, of devices from ``start`` on."""
        failed = self._failed.get(state)
        return failed is not None and failed <= start

    def fails(self, state: Hashable, start: int = 0) -> None:
        """Note that nothing is found from ``state`` on, of devices from ``start`` on."""
        if len(self._failed) < MOST_FAILURES:
            self._failed[state] = min(start, self._failed.get(state, start))
