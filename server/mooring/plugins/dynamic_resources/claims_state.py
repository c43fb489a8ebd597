"""PreFilter's state for later points: the pod's claims, and how to find devices for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from mooring.framework import ObjectTable, Status, hashable
from mooring.framework.deadline import timely
from mooring.framework.objects import DeviceClass
from mooring.framework.objects.claims import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from mooring.plugins.dynamic_resources.claims.allocation import allocation_of
from mooring.plugins.dynamic_resources.claims.extended_claim import ExtendedClaim
from mooring.plugins.dynamic_resources.claims.reserving import ClaimUse, ReservedClaims, in_flight_for
from mooring.plugins.dynamic_resources.extended_resources.claim import DevicesAsked, ExtendedResources
from mooring.plugins.dynamic_resources.pools.gathering import NodePools
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.pools.ledger import CounterBoard, DeviceLedger
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate
from mooring.plugins.dynamic_resources.rules import POOLS_APART_SINCE, Rules
from mooring.plugins.dynamic_resources.search.allocator import DeviceSearch, InvalidPoolsError
from mooring.plugins.dynamic_resources.search.first_free import FirstFree, Selected
from mooring.plugins.dynamic_resources.search.known_nodes import (
    INVALID_POOLS,
    NOT_ALL,
    NOTHING_FOUND,
    FoundDevices,
    KnownNodes,
)

MADE_BEFORE = Status.unresolvable("cannot schedule extended resource claim")
_FIRST_CHOICE = 8
"""The score of the first of a request's alternatives; the next adds 1 less."""


@dataclass
class ClaimsState:
    """The notes of one decision.

    Attributes:
        claims: All claims of the pod.
        users: The user to reserve each for; None = it is already reserved for the pod.
        stuck: Indices of allocated claims whose devices don't become ready.
        to_allocate: Those without devices.
        pools: The devices that there are,
        first_free: and those that suit plain requests.
        board: The amounts left of counters.
        unavailable: Indices of allocated claims that some node can't use.
        found: The devices on the node that was searched last.
        by_node: The same by node.
        extended: The extended resources that devices may stand for; None = the pod asks for none.
        made: The claim that an earlier decision made for these; its devices may no longer be right.
        known: The results of earlier searches for claims like these; None = none can be used.
        as_of: ``state_of`` devices and nodes before anything was read.
    """

    rules: Rules = field(default_factory=Rules)
    claims: tuple[ResourceClaim, ...] = ()
    users: tuple[ResourceClaimConsumerReference | None, ...] = ()
    stuck: frozenset[int] = frozenset()
    to_allocate: tuple[ClaimToAllocate, ...] = ()
    pools: NodePools | None = None
    first_free: FirstFree | None = None
    board: CounterBoard | None = None
    unavailable: set[int] = field(default_factory=set)
    found: FoundDevices = NOTHING_FOUND
    by_node: dict[str, FoundDevices] = field(default_factory=dict)
    extended: ExtendedResources | None = None
    made: ResourceClaim | None = None
    known: KnownNodes | None = None
    as_of: Hashable = None

    def clone(self) -> ClaimsState:
        """Return a copy for a what-if evaluation."""
        twin = ClaimsState.__new__(ClaimsState)
        twin.__dict__.update(self.__dict__)
        twin.unavailable, twin.by_node = set(self.unavailable), dict(self.by_node)
        return twin

    def like(self, objects: ObjectTable) -> Hashable | None:
        """Return a value that is equal for claims that get the same on each node; None when it isn't known.

        Those that have devices differ by these. Before 1.37 the rest of a counter depends on which node
        was searched first.
        """
        asks = self.extended.asks if self.extended is not None else None
        if self.made is not None or len(self.to_allocate) < len(self.claims):
            return None
        if self.rules.version < POOLS_APART_SINCE and self.pools is not None and self.pools.inventory.counts:
            return None
        return objects.version(DeviceClass), asks, hashable(*[claim.spec for claim in self.claims])

    @property
    def has_alternatives(self) -> bool:
        """Whether a claim lists alternatives, which count in scores."""
        return any(request.listed for claim in self.to_allocate for request in claim.requests)

    def recall(self, row: int, as_of: Hashable) -> bool:
        """Take what Filter found on the node of ``row``, if that is known and still true ``as_of`` now."""
        found = self.known.found_on(row) if self.known is not None and as_of == self.as_of else None
        if found is None:
            return False
        self.found = found
        return True

    def unusable(self, reach: Reach, position: int) -> set[int]:
        """Return the indices of the allocated claims that the node can't use. Raises NodeSelectorError if an
        allocation's node selector can't be used.
        """
        unusable = set(self.stuck)
        for index, claim in enumerate(timely(self.claims)):
            selector = claim.status.allocation.node_selector if claim.status.allocation else None
            if selector is not None and not reach.selected(selector, position):
                unusable.add(index)
        return unusable

    def unavailable_claims(self) -> list[ResourceClaim]:
        """Return the allocated claims that some node can't use."""
        return [self.claims[index] for index in sorted(self.unavailable)]

    def extended_on(self, reach: Reach, position: int) -> DevicesAsked | Status | None:
        """Return what devices must provide on the node, None = nothing; or why it can't take the pod."""
        if self.extended is None:
            return None
        if self.made is not None:
            return MADE_BEFORE
        asked = self.extended.lacking_on(reach.nodes, position)
        return asked if isinstance(asked, Status) or asked.requests else None

    def allocate(
        self,
        reach: Reach,
        position: int,
        node_name: str,
        check_time: Callable[[], None],
        asked: DevicesAsked | None,
    ) -> Status | None:
        """Search devices on the node, including those ``asked`` for there; None when all were found.

        Raises:
            AllocationError: Something is wrong with a claim.
            EvaluationError: A selector failed on a device.
            NodeSelectorError: A node selector can't be used.
        """
        if self.board is None or self.pools is None or self.first_free is None:
            return None

        def reaches(candidate: CandidateDevice) -> bool:
            device = candidate.device
            return reach.matches(position, device.node_name, device.all_nodes, device.node_selector)

        claims = self.to_allocate if asked is None else (*self.to_allocate, asked.claim)
        taken = self.board.allocated
        found = self.first_free.find(claims, reach, position, node_name, taken, check_time)
        if found is None:
            pools = self.pools.reached(reach, position, node_name)
            ledger = DeviceLedger(taken, self.board, self.rules)
            search = DeviceSearch(pools, claims, ledger, reaches, check_time, self.rules)
            try:
                found = search.selected if search.run() else ()
            except InvalidPoolsError:
                return INVALID_POOLS
        if not found:
            return NOT_ALL
        score = self._score(found) if self.claims else 0
        self.found = self.by_node[node_name] = FoundDevices(found, asked, score)
        return None

    def reserved(self, node_name: str) -> ReservedClaims:
        """Return the claims with the devices that were found on the node, which was searched last."""
        asked = self.found.asked
        allocations = [allocation_of(found, node_name, self.rules) for found in self.found.of_claims]
        new = iter(allocations)
        uses = [
            ClaimUse(claim, user, _still_to_write(claim) if claim.status.allocation else next(new))
            # The claim for extended resources is only this pod's, and comes last.
            for claim, user in zip(self.claims, self.users, strict=False)
        ]
        if asked is None:
            return ReservedClaims(uses)
        return ReservedClaims(uses, ExtendedClaim(asked.requests, asked.mappings, allocations[-1]))

    def _score(self, found: Selected) -> int:
        """Early alternatives count more; of allocated claims, what they have counts."""
        score = 0
        selected = iter([{choice.name for choice, _ in devices} for devices in found])
        for claim in self.claims:
            allocation = claim.status.allocation
            names = (
                {result.request for result in allocation.devices.results} if allocation else next(selected)
            )
            for request in claim.spec.devices.requests:
                for rank, sub in enumerate(request.first_available):
                    if f"{request.name}/{sub.name}" in names:
                        score += _FIRST_CHOICE - rank
        return score


def _still_to_write(claim: ResourceClaim) -> AllocationResult | None:
    """Return the devices that were found for another pod of the group and are not written yet."""
    return claim.status.allocation if in_flight_for(claim) else None
