"""Facts about the devices of one search: what they are for a choice, and which of them are alike.

kube-scheduler has no such step. A choice that failed with one device is not tried with the next one that is
alike. That is done only if it can't change an answer: the order of a request's devices must not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mooring.framework import hashable
from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.constraints import ConstraintCheck, attribute_of, is_kept_away

MOST_FAILURES = 1 << 15
"""The dead ends that one search remembers."""

Said = tuple[bool, bool] | None
"""Whether the device fulfils the selectors, and whether it fits as long as it is not taken; None when a
selector, or an amount, fails on it."""


class DeviceFacts:
    """The facts about the devices of one search.

    Args:
        fulfils: Whether a device fulfils the selectors of a choice.
    """

    def __init__(
        self, fulfils: Callable[[DeviceChoice, CandidateDevice], bool], ledger: DeviceLedger, rules: Rules
    ) -> None:
        self._fulfils, self._ledger, self._rules = fulfils, ledger, rules
        self._kinds: dict[Hashable, int] = {}
        self._kind_of: dict[int, int] = {}
        self._said: dict[tuple[int, int], Said] = {}

    def of(self, choice: DeviceChoice, candidate: CandidateDevice) -> Said:
        """Return the facts about the device for ``choice``."""
        kind = self._kind_of.get(id(choice))
        if kind is None:
            amounts = None if choice.amounts is None else tuple(sorted(choice.amounts.items()))
            key = choice.expressions, choice.tolerations, amounts
            kind = self._kind_of[id(choice)] = self._kinds.setdefault(key, len(self._kinds))
        pair = kind, id(candidate)
        if pair not in self._said:
            self._said[pair] = self._find(choice, candidate)
        return self._said[pair]

    def could_get(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool | None:
        """Return whether the device fits as long as it is not taken; None as in ``Said``."""
        said = self.of(choice, candidate)
        return None if said is None else said[1]

    def _find(self, choice: DeviceChoice, candidate: CandidateDevice) -> Said:
        try:
            fulfils = self._fulfils(choice, candidate)
            has_room = fulfils and self._ledger.would_have_room(candidate, choice)
        except (CapacityError, EvaluationError, NodeSelectorError):
            return None
        away = self._rules.taints and is_kept_away(candidate.device, choice)
        return fulfils, has_room and not away


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
