"""Facts about a device for a choice before any device is taken, computed once for equal choices."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.constraints import is_kept_away

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
