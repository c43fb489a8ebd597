"""Devices for a claim with one plain request: the first that are free, without a search.

If devices aren't shared and don't depend on one another, the search takes the first ones. Which
devices of a node suit the request stays the same for as long as they are announced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from mooring.plugins.dynamic_resources.cel import EvaluationError
from mooring.plugins.dynamic_resources.pools.capacity import CapacityError
from mooring.plugins.dynamic_resources.pools.gathering import DevicePool, NodePools
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import Allocated
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.rules import WHOLE_POOLS_SINCE, Rules
from mooring.plugins.dynamic_resources.search.allocator import MAX_DEVICES
from mooring.plugins.dynamic_resources.search.constraints import is_kept_away

_MAX_NODES = 1 << 17
"""At this many nodes, each counted once for each request, all results are forgotten."""

Selected = Sequence[Sequence[tuple[DeviceChoice, CandidateDevice]]]
"""The devices of each claim, each with the choice that it was found for."""


@dataclass(slots=True)
class _Suited:
    """The devices of a node that suit a request.

    Attributes:
        candidates: Those that the node reaches, in the order in which they are tried.
        known: How many of these were checked, and those of them that suit. Replaced in one step.
    """

    candidates: Sequence[CandidateDevice]
    known: tuple[int, Sequence[CandidateDevice]] = (0, ())


class FirstFree:
    """The devices of each node that suit plain requests, for one inventory. Safe from any thread."""

    def __init__(self, pools: NodePools, rules: Rules) -> None:
        self._pools = pools
        self._rules = rules
        self._applies = rules.version >= WHOLE_POOLS_SINCE and not pools.inventory.others
        self._nodes: dict[Hashable, _Suited | None] = {}

    def find(
        self,
        claims: Sequence[ClaimToAllocate],
        reach: Reach,
        position: int,
        node_name: str,
        allocated: Allocated,
        check_time: Callable[[], None],
    ) -> Selected | None:
        """Return the devices of ``claims`` on the node, nothing when too few are free; None if a search
        is needed.
        """
        choice = _plain_choice(claims) if self._applies else None
        suited = None if choice is None else self._suited(choice, reach, position, node_name)
        if choice is None or suited is None:
            return None
        if allocated.used and any(candidate.id in allocated.used for candidate in suited.candidates):
            return None
        try:
            found = self._first(suited, choice, allocated.dedicated, check_time)
        except (EvaluationError, CapacityError):
            # The search may end before it comes to that device.
            return None
        return [[(choice, candidate) for candidate in found]] if len(found) == choice.count else ()

    def _suited(self, choice: DeviceChoice, reach: Reach, position: int, node_name: str) -> _Suited | None:
        key = node_name, choice.expressions, choice.tolerations
        suited = self._nodes.get(key)
        if suited is None and key not in self._nodes:
            if len(self._nodes) >= _MAX_NODES:
                self._nodes.clear()
            suited = self._nodes[key] = _gathered(self._pools.reached(reach, position, node_name))
        return suited

    def _first(
        self, suited: _Suited, choice: DeviceChoice, taken: set[DeviceID], check_time: Callable[[], None]
    ) -> Sequence[CandidateDevice]:
        looked_at, known = suited.known
        free = [candidate for candidate in known if candidate.id not in taken]
        if len(free) < choice.count and looked_at < len(suited.candidates):
            check_time()
            known = [*known]
            while len(free) < choice.count and looked_at < len(suited.candidates):
                candidate = suited.candidates[looked_at]
                looked_at += 1
                if self._suits(candidate, choice, check_time):
                    known.append(candidate)
                    free += [candidate] * (candidate.id not in taken)
            suited.known = looked_at, known
        return free[: choice.count]

    def _suits(
        self, candidate: CandidateDevice, choice: DeviceChoice, check_time: Callable[[], None]
    ) -> bool:
        check_time()
        device, rules = candidate.device, self._rules
        if device.binding_conditions and not rules.readiness:
            return False
        for text in choice.expressions:
            if not candidate.traits.fulfil(text, check_time):
                return False
        if rules.shares and device.capacity and not candidate.traits.have_room:
            return False
        return not (rules.taints and device.taints and is_kept_away(device, choice))


def _plain_choice(claims: Sequence[ClaimToAllocate]) -> DeviceChoice | None:
    """Return the choice of the single request of ``claims``; None if there is more to them."""
    if len(claims) != 1 or claims[0].constraints or len(claims[0].requests) != 1:
        return None
    request = claims[0].requests[0]
    choice = request.choices[0]
    special = request.listed or choice.everything or choice.admin or choice.amounts is not None
    return choice if not special and 0 < choice.count <= MAX_DEVICES else None


def _gathered(pools: Sequence[DevicePool]) -> _Suited | None:
    """Return the devices of a node that reaches ``pools``; None if these may depend on one another."""
    candidates = [candidate for pool in pools if pool.usable for candidate in pool.candidates]
    if any(pool.invalid for pool in pools) or not all(map(_is_plain, candidates)):
        return None
    return _Suited(candidates)


def _is_plain(candidate: CandidateDevice) -> bool:
    """Return whether one claim has the device for itself, wherever its slice is reached, and no counters."""
    per_device = candidate.slice.spec.per_device_node_selection
    return not (candidate.shared or candidate.device.consumes_counters or per_device)
