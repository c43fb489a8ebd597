"""The search for devices on one node: depth first, the first complete set wins.

Mirrors ``structured/internal/incubating`` of ``k8s.io/dynamic-resource-allocation``
(allocator_incubating.go, with its ``taintPreventsAllocation``): which devices are selected, in which order
they are tried and what is an error are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from mooring.plugins.dynamic_resources.pools.gathering import DevicePool
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.pools.ledger import DeviceLedger
from mooring.plugins.dynamic_resources.requests import (
    ClaimToAllocate,
    DeviceChoice,
    DeviceChoices,
    asked_though_off,
)
from mooring.plugins.dynamic_resources.rules import (
    ALL_MEANS_ALL_SINCE,
    CHOICES_APART_SINCE,
    WHOLE_POOLS_SINCE,
    Rules,
)
from mooring.plugins.dynamic_resources.search.constraints import (
    ConstraintChecks,
    Different,
    constraint_of,
    is_kept_away,
)
from mooring.plugins.dynamic_resources.search.device_facts import DeviceEquivalence, DeviceFacts
from mooring.plugins.dynamic_resources.search.feasibility_bounds import FeasibilityBounds

MAX_DEVICES = 32
"""The most devices that a claim can get."""


_STEPS_WITHOUT_OUTLOOK = 64
"""Most searches succeed in fewer steps, and need not know beforehand whether they can."""


class AllocationError(Exception):
    """The claims can't be allocated anywhere, because something is wrong with them; the decision fails."""


class TooManyDevicesError(AllocationError):
    """A claim would get more devices than it can hold."""


class InvalidPoolsError(Exception):
    """Nothing was found, and some of the node's pools are invalid."""


class _ManyStepsError(Exception):
    """The search takes many steps, so it is restarted; it repeats the same steps."""


Found = tuple[CandidateDevice, DevicePool]


@dataclass
class DeviceSearch:
    """One search.

    Attributes:
        pools: The pools that the node reaches, in the order in which they are tried.
        reaches: Whether the node reaches a device of a slice that says so per device.
        check_time: Called now and then; raises when the search has taken too long.
    """

    pools: Sequence[DevicePool]
    claims: Sequence[ClaimToAllocate]
    ledger: DeviceLedger
    reaches: Callable[[CandidateDevice], bool]
    check_time: Callable[[], None]
    rules: Rules
    selected: list[list[tuple[DeviceChoice, CandidateDevice]]] = field(init=False)
    _constraints: list[ConstraintChecks] = field(init=False)
    _usable: list[Found] = field(init=False)
    _matches: dict[tuple[int, int], bool] = field(init=False, default_factory=dict)
    _all_devices: dict[int, list[Found]] = field(init=False, default_factory=dict)
    _steps: int = field(init=False, default=0)
    _foreseen: bool = field(init=False, default=False)
    _bounds: FeasibilityBounds | None = field(init=False, default=None)
    _least: list[list[int]] = field(init=False, default_factory=list)
    _equivalence: DeviceEquivalence | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.selected = [[] for _ in self.claims]
        self._constraints = [
            ConstraintChecks(constraint_of(each, self.rules) for each in claim.constraints)
            for claim in self.claims
        ]
        self._usable = [
            (candidate, pool) for pool in self.pools if self._offers(pool) for candidate in pool.candidates
        ]

    def run(self) -> bool:
        """Return whether devices for all claims were found; ``selected`` then has, per claim, each with its
        choice.

        Raises:
            AllocationError: Something is wrong with a claim.
            EvaluationError: A selector failed on a device.
            InvalidPoolsError: Nothing was found, and not all pools could be searched.
            NodeSelectorError: A device's node selector can't be used.
        """
        for claim in self.claims:
            missing = asked_though_off(claim, self.rules)
            if missing is not None:
                raise AllocationError(f"claim {claim.key} asks for {missing}, whose feature gate is off")
            least = sum(min(self._prepared(request)) for request in claim.requests)
            if least > MAX_DEVICES:
                raise TooManyDevicesError(
                    f"claim {claim.key} asks for {least} devices, more than {MAX_DEVICES}"
                )
        self._matches.clear()
        if self._found():
            return True
        if self.rules.version >= WHOLE_POOLS_SINCE and any(pool.invalid for pool in self.pools):
            raise InvalidPoolsError
        return False

    def _found(self) -> bool:
        """Search, and after many steps restart with the checks that detect failure early."""
        try:
            return self._claim(0)
        except _ManyStepsError:
            self._foresee()
            return self._claim(0)

    def _offers(self, pool: DevicePool) -> bool:
        """Return whether the pool's devices are searched. Before 1.35 the search ends at an invalid pool.

        It comes to pools whose devices are made ready late after all others; among equals, the best order is
        assumed.
        """
        if self.rules.version >= WHOLE_POOLS_SINCE:
            return pool.usable
        ended = pool.binds_late and any(other.invalid and not other.binds_late for other in self.pools)
        return not pool.invalid and not ended

    def _foresee(self) -> None:
        """Prepare the checks that detect failure early, if they can't change the answer."""
        self._foreseen = True
        if self.rules.version < WHOLE_POOLS_SINCE and any(pool.invalid for pool in self.pools):
            return
        said = DeviceFacts(self._fulfils, self.ledger, self.rules)
        bounds = FeasibilityBounds([pool for pool in self.pools if self._offers(pool)], self.ledger)
        counts = [[min(map(self._count, each.choices)) for each in claim.requests] for claim in self.claims]
        unsure = [[self._may_fail(claim, each) for each in claim.requests] for claim in self.claims]
        for at, claim in enumerate(self.claims):
            for number, request in enumerate(claim.requests):
                count, fails = counts[at][number], unsure[at][number]
                bounds.demand((at, number), request.choices, count, said.could_get, may_fail=fails)
            most = sum(max(map(self._count, request.choices)) for request in claim.requests)
            if most > MAX_DEVICES and bounds.may_fail_in(at):
                return
        self._bounds = bounds
        self._least = [[sum(some[at + 1 :]) for at in range(len(some))] for some in counts]
        in_any_order = not any(isinstance(each, Different) for some in self._constraints for each in some)
        in_any_order &= not any(map(any, unsure))
        if in_any_order and self.rules.version >= ALL_MEANS_ALL_SINCE:
            candidates = [candidate for candidate, _ in self._usable]
            self._equivalence = DeviceEquivalence(self.claims, candidates, self.ledger, said.of)

    def _may_fail(self, claim: ClaimToAllocate, request: DeviceChoices) -> bool:
        """Return whether the search may end at the request with an error, whatever selectors say."""
        everything = any(choice.everything for choice in request.choices)
        apart = self.rules.version >= CHOICES_APART_SINCE
        return everything and (bool(claim.constraints) or not apart)

    def _count(self, choice: DeviceChoice) -> int:
        """Return how many devices the choice takes."""
        return len(self._all_devices.get(id(choice), ())) if choice.everything else choice.count

    def _prepared(self, request: DeviceChoices) -> Iterator[int]:
        """How many devices each choice needs; what "all" means is settled here.

        Before 1.36 kube-scheduler notes here what it finds out about a choice under the one before it.
        """
        for rank, choice in enumerate(request.choices):
            noted = choice if self.rules.version >= CHOICES_APART_SINCE else request.choices[max(rank - 1, 0)]
            yield self._number(choice, noted)

    def _number(self, choice: DeviceChoice, noted: DeviceChoice) -> int:
        if not choice.everything:
            return choice.count
        for pool in self.pools:
            if not pool.usable:
                state = "invalid" if pool.invalid else "being updated"
                raise AllocationError(
                    f"request {choice.name} asks for all devices, but pool {'/'.join(pool.id)} is {state}"
                )
        found = [each for each in self._usable if self._fulfils(choice, each[0], noted)]
        room = self.ledger.has_room
        if self.rules.version >= ALL_MEANS_ALL_SINCE:
            room = self.ledger.would_have_room
        self._all_devices[id(choice)] = [each for each in found if room(each[0], choice)]
        return len(self._all_devices[id(choice)])

    def _claim(self, claim: int) -> bool:
        return claim == len(self.claims) or self._request(claim, 0)

    def _request(self, claim: int, number: int) -> bool:
        if number == len(self.claims[claim].requests):
            try:
                return self._claim(claim + 1)
            except TooManyDevicesError:
                return False
        if self._bounds is None:
            return self._choices(claim, number)
        equivalence, state = self._equivalence, None
        if equivalence is not None:
            state = equivalence.state((claim, number), self._constraints[claim])
            if equivalence.has_failed(state):
                return False
        hopeless = self._bounds.is_hopeless((claim, number), self._constraints)
        found = not hopeless and self._choices(claim, number)
        if not found and equivalence is not None:
            equivalence.fails(state)
        return found

    def _choices(self, claim: int, number: int) -> bool:
        """Find devices for one of the request's choices, and for all requests after it."""
        request = self.claims[claim].requests[number]
        if not request.listed:
            return self._devices(claim, number, request.choices[0], 0, 0)
        too_many: TooManyDevicesError | None = TooManyDevicesError("every alternative has too many devices")
        for choice in request.choices:
            if self._leaves_too_few(claim, number, choice):
                continue
            try:
                if self._devices(claim, number, choice, 0, 0):
                    return True
                too_many = None
            except TooManyDevicesError:
                continue
        if too_many is not None:
            raise too_many
        return False

    def _leaves_too_few(self, claim: int, number: int, choice: DeviceChoice) -> bool:
        """Return whether the claim could not hold what the requests after this one need at least.

        Then the choice leads nowhere. Another one takes less, and comes to an end that has devices enough, or
        to one that has not: never to more devices than a claim can hold.
        """
        if self._bounds is None:
            return False
        devices = len(self.selected[claim]) + self._count(choice) + self._least[claim][number]
        return devices > MAX_DEVICES

    def _devices(self, claim: int, number: int, choice: DeviceChoice, count: int, start: int) -> bool:
        """Find the rest of the devices of ``choice``, which has ``count``, from the position ``start`` on."""
        self.check_time()
        self._steps += 1
        if self._steps > _STEPS_WITHOUT_OUTLOOK and not self._foreseen:
            raise _ManyStepsError
        everything = self._all_devices.get(id(choice)) if choice.everything else None
        wanted = choice.count if everything is None else len(everything)
        if choice.everything and not wanted:
            return False
        if count >= wanted:
            return self._request(claim, number + 1)
        if len(self.selected[claim]) + wanted - count > MAX_DEVICES:
            raise TooManyDevicesError(
                f"claim {self.claims[claim].key} would get more than {MAX_DEVICES} devices"
            )
        if everything is not None:
            return self._try(claim, number, choice, count, everything[count], 0)
        if self._any_device(claim, number, choice, count, start):
            return True
        if self.rules.version < WHOLE_POOLS_SINCE and any(pool.invalid for pool in self.pools):
            raise AllocationError(f"request {choice.name}: a pool of devices is invalid")
        return False

    def _any_device(self, claim: int, number: int, choice: DeviceChoice, count: int, start: int) -> bool:
        """Take the first device from ``start`` on with which all the others are found, too."""
        equivalence, state = self._equivalence, None
        if equivalence is not None:
            state = equivalence.state((claim, number, choice.name, count), self._constraints[claim])
            if equivalence.has_failed(state, start):
                return False
        failed: set[Hashable] = set()
        for position in range(start, len(self._usable)):
            found = self._usable[position]
            if not (self._is_free(claim, choice, found[0]) and self._fulfils(choice, found[0])):
                continue
            if equivalence is not None and equivalence.of(found[0]) in failed:
                continue
            fits = self.ledger.has_room(found[0], choice)
            if fits and self._try(claim, number, choice, count, found, position + 1):
                return True
            if equivalence is not None:
                failed.add(equivalence.of(found[0]))
        if equivalence is not None:
            equivalence.fails(state, start)
        return False

    def _try(
        self, claim: int, number: int, choice: DeviceChoice, count: int, found: Found, rest: int
    ) -> bool:
        """Take the device, go on with the next one at ``rest``, and give it back if that leads nowhere."""
        if not self._take(claim, choice, found):
            return False
        done = False
        try:
            done = self._devices(claim, number, self._going_on(claim, number, choice), count + 1, rest)
        finally:
            if not done:
                self._give_back(claim, choice, found)
        return done

    def _going_on(self, claim: int, number: int, choice: DeviceChoice) -> DeviceChoice:
        """Return the choice to find a device for next: before 1.36, after one of "all", the first's."""
        if choice.everything and self.rules.version < CHOICES_APART_SINCE:
            return self.claims[claim].requests[number].choices[0]
        return choice

    def _is_free(self, claim: int, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        if choice.admin:
            return not self.ledger.held_by(candidate.id, claim)
        return not self.ledger.in_use(candidate.id)

    def _fulfils(
        self,
        choice: DeviceChoice,
        candidate: CandidateDevice,
        noted: DeviceChoice | None = None,
    ) -> bool:
        if candidate.device.binding_conditions and not self.rules.readiness:
            return False
        key = id(noted or choice), id(candidate)
        known = self._matches.get(key)
        if known is None:
            self.check_time()
            known = self._matches[key] = all(
                candidate.traits.fulfil(text, self.check_time) for text in choice.expressions
            ) and (not candidate.slice.spec.per_device_node_selection or self.reaches(candidate))
        return known

    def _take(self, claim: int, choice: DeviceChoice, found: Found) -> bool:
        candidate, pool = found
        if not self._is_free(claim, choice, candidate):
            return False
        if candidate.device.consumes_counters and not self.rules.partitions:
            return False
        counts = self._counts(candidate)
        if counts and not self.ledger.count(candidate, pool):
            return False
        if self._is_acceptable(claim, choice, candidate):
            self.ledger.take(candidate, choice, claim)
            self.selected[claim].append((choice, candidate))
            return True
        if counts:
            self.ledger.uncount(candidate, pool)
        return False

    def _is_acceptable(self, claim: int, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        """Return whether taints, constraints and capacity allow the device; if so the constraints have it."""
        if self.rules.taints and is_kept_away(candidate.device, choice):
            return False
        if not self._constraints[claim].add(choice, candidate):
            if choice.everything:
                raise AllocationError(
                    f"claim {self.claims[claim].key}: a constraint keeps {'/'.join(candidate.id)} out, "
                    f"but request {choice.name} asks for all devices"
                )
            return False
        if self.ledger.has_room(candidate, choice):
            return True
        self._constraints[claim].give_back(choice, candidate)
        return False

    def _give_back(self, claim: int, choice: DeviceChoice, found: Found) -> None:
        candidate, pool = found
        self.selected[claim].pop()
        self.ledger.give_back(candidate, choice, claim)
        self._constraints[claim].give_back(choice, candidate)
        if self._counts(candidate):
            self.ledger.uncount(candidate, pool)

    def _counts(self, candidate: CandidateDevice) -> bool:
        """Return whether taking the device takes counters: not for a further share of it."""
        if not candidate.device.consumes_counters:
            return False
        return not (candidate.shared and self.ledger.has_shares(candidate.id))
