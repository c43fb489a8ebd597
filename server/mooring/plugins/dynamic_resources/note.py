"""What PreFilter works out for the points after it: the pod's claims, and how to find devices for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mooring.framework import Status
from mooring.framework.deadline import timely
from mooring.framework.objects.claims import ResourceClaim
from mooring.plugins.dynamic_resources.extended_resources.claim import ExtendedResources
from mooring.plugins.dynamic_resources.pools.gathering import gather_pools
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice, Inventory
from mooring.plugins.dynamic_resources.pools.ledger import CounterBoard, Ledger
from mooring.plugins.dynamic_resources.pools.reach import Reach
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.dynamic_resources.search.allocator import DeviceSearch, InvalidPoolsError

NOT_ALL = Status.unresolvable("cannot allocate all claims")
INVALID_POOLS = Status.unresolvable("invalid resource pools were encountered")
_FIRST_CHOICE = 8
"""What the first of a request's alternatives adds to a score; the next adds 1 less."""


@dataclass
class ClaimsNote:
    """The notes of one decision.

    Attributes:
        rules: What is on.
        claims: All claims of the pod.
        stuck: Indices of allocated claims whose devices don't become ready.
        to_allocate: Those without devices.
        inventory: The devices that there are.
        board: What is left of counters.
        unavailable: Indices of allocated claims that some node can't use.
        scores: By node, the score of the devices that were found.
        found: Per claim to allocate, what was found on the node that was looked at last.
        extended: The extended resources that devices may stand for; None = the pod asks for none.
    """

    rules: Rules = field(default_factory=Rules)
    claims: tuple[ResourceClaim, ...] = ()
    stuck: frozenset[int] = frozenset()
    to_allocate: tuple[ClaimToAllocate, ...] = ()
    inventory: Inventory = field(default_factory=Inventory)
    board: CounterBoard | None = None
    unavailable: set[int] = field(default_factory=set)
    scores: dict[str, int] = field(default_factory=dict)
    found: list[list[tuple[DeviceChoice, CandidateDevice]]] = field(default_factory=list)
    extended: ExtendedResources | None = None

    def clone(self) -> ClaimsNote:
        """Return a copy for a what-if evaluation."""
        return replace(self, unavailable=set(self.unavailable), scores=dict(self.scores))

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

    def extended_on(self, reach: Reach, position: int) -> Sequence[ClaimToAllocate] | Status:
        """Return the claim for what devices must provide on the node; or why it can't take the pod."""
        if self.extended is None:
            return ()
        claim = self.extended.claim_on(reach.nodes, position)
        if isinstance(claim, Status):
            return claim
        return (claim,) if claim.requests else ()

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
        if self.board is None:
            return None

        def reaches(candidate: CandidateDevice) -> bool:
            device = candidate.device
            return reach.matches(position, device.node_name, device.all_nodes, device.node_selector)

        pools = gather_pools(self.inventory, reach, position, node_name, self.rules)
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
        self.scores[node_name] = self._score(
            [{choice.name for choice, _ in selected} for selected in search.selected]
        )
        return None

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
