"""What PreFilter works out for the points after it: the pod's claims, and how to find devices for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field

from mooring.framework import NodeView, ObjectTable, Status, hashable
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
from mooring.plugins.dynamic_resources.pools.ledger import CounterBoard, Ledger
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.rules import POOLS_APART_SINCE, Rules
from mooring.plugins.dynamic_resources.search.allocator import DeviceSearch, InvalidPoolsError
from mooring.plugins.dynamic_resources.search.known_nodes import (
    FOUND,
    INVALID_POOLS,
    NOT_ALL,
    Devices,
    KnownNodes,
)

MADE_BEFORE = Status.unresolvable("cannot schedule extended resource claim")
_FIRST_CHOICE = 8
"""What the first of a request's alternatives adds to a score; the next adds 1 less."""


@dataclass
class ClaimsNote:
    """The notes of one decision.

    Attributes:
        rules: What is on.
        claims: All claims of the pod.
        users: Who is to stand in the status of each; None = somebody stands there for the pod.
        stuck: Indices of allocated claims whose devices don't become ready.
        to_allocate: Those without devices.
        pools: The devices that there are.
        board: What is left of counters.
        unavailable: Indices of allocated claims that some node can't use.
        scores: By node, the score of the devices that were found.
        found: Per claim to allocate, what was found on the node that was looked at last.
        devices: The same by node.
        asked: What devices must provide there in place of extended resources.
        extended: The extended resources that devices may stand for; None = the pod asks for none.
        made: The claim that an earlier decision made for these; its devices may no longer be right.
        known: What earlier searches for claims like these found on nodes; None = nothing that can be used.
        as_of: ``state_of`` devices and nodes before anything was read.
    """

    rules: Rules = field(default_factory=Rules)
    claims: tuple[ResourceClaim, ...] = ()
    users: tuple[ResourceClaimConsumerReference | None, ...] = ()
    stuck: frozenset[int] = frozenset()
    to_allocate: tuple[ClaimToAllocate, ...] = ()
    pools: NodePools | None = None
    board: CounterBoard | None = None
    unavailable: set[int] = field(default_factory=set)
    scores: dict[str, int] = field(default_factory=dict)
    found: list[list[tuple[DeviceChoice, CandidateDevice]]] = field(default_factory=list)
    devices: dict[str, Devices] = field(default_factory=dict)
    asked: DevicesAsked | None = None
    extended: ExtendedResources | None = None
    made: ResourceClaim | None = None
    known: KnownNodes | None = None
    as_of: Hashable = None

    def clone(self) -> ClaimsNote:
        """Return a copy for a what-if evaluation."""
        twin = copy(self)
        twin.unavailable, twin.scores = set(self.unavailable), dict(self.scores)
        return twin

    def like(self, objects: ObjectTable) -> Hashable | None:
        """Return a value that is equal for claims that get the same on each node; None when it isn't known.

        Those that have devices differ by these. Before 1.37 what is left of a counter depends on which node
        was looked at first.
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
        known = self.known
        if known is None or as_of != self.as_of or known.codes.item(row) != FOUND:
            return False
        devices = known.devices.get(row) or known.earlier.get(row)
        if devices is None:
            return False
        self.found = [list(found) for found in devices]
        return True

    def unusable(self, reach: Reach, position: int) -> set[int]:
        """Return the indices of the allocated claims that the node can't use.

        Raises:
            SelectorError: An allocation's node selector can't be used.
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

    def extended_on(self, reach: Reach, position: int) -> Sequence[ClaimToAllocate] | Status:
        """Return the claim for what devices must provide on the node; or why it can't take the pod."""
        if self.extended is None:
            return ()
        if self.made is not None:
            return MADE_BEFORE
        asked = self.extended.lacking_on(reach.nodes, position)
        if isinstance(asked, Status):
            return asked
        self.asked = asked
        return (asked.claim,) if asked.requests else ()

    def allocate(
        self,
        reach: Reach,
        position: int,
        node_name: str,
        check_time: Callable[[], None],
        extended: Sequence[ClaimToAllocate],
    ) -> Status | None:
        """Look for devices on the node and keep its score; None when they were found.

        Raises:
            AllocationError: Something is wrong with a claim.
            EvaluationError: A selector failed on a device.
            SelectorError: A node selector can't be used.
        """
        if self.board is None or self.pools is None:
            return None

        def reaches(candidate: CandidateDevice) -> bool:
            device = candidate.device
            return reach.matches(position, device.node_name, device.all_nodes, device.node_selector)

        pools = self.pools.reached(reach, position, node_name)
        ledger = Ledger(self.board.allocated, self.board, self.rules)
        claims = (*self.to_allocate, *extended)
        search = DeviceSearch(pools, claims, ledger, reaches, check_time, self.rules)
        try:
            found = search.run()
        except InvalidPoolsError:
            return INVALID_POOLS
        if not found:
            return NOT_ALL
        self.found = search.selected
        self.devices[node_name] = search.selected
        self.scores[node_name] = self._score(
            [{choice.name for choice, _ in selected} for selected in search.selected]
        )
        return None

    def reserved(self, node: NodeView) -> ReservedClaims:
        """Return the claims with the devices that were found on the one node of the view."""
        (name,) = node.names
        allocations = [allocation_of(found, name, self.rules) for found in self.found]
        new = iter(allocations)
        uses = [
            ClaimUse(claim, user, _still_to_write(claim) if claim.status.allocation else next(new))
            # What is assumed for extended resources is nobody's but this pod's, and comes last.
            for claim, user in zip(self.claims, self.users, strict=False)
        ]
        if self.asked is None or next(new, None) is None:
            return ReservedClaims(uses)
        return ReservedClaims(uses, ExtendedClaim(self.asked.requests, self.asked.mappings, allocations[-1]))

    def _score(self, found: list[set[str]]) -> int:
        """Early alternatives count more; of allocated claims, what they have counts."""
        score = 0
        selected = iter(found)
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
