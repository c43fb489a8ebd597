"""Looks for the fewest changes with which a pod that no node takes would fit.

The shortages of each node show which sets of changes may do, and what they cost. They are tried in a session,
the cheapest first. There, pod and nodes have the changes, and the filters decide whether the node takes it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from msgspec.structs import replace as replace_struct

from mooring.framework import Code, Pod, Status
from mooring.framework.pod_table import PodRecord
from mooring.framework.resources import PODS
from mooring.framework.taints import is_of_condition
from mooring.runtime.answers import (
    ALL_NODES,
    Candidates,
    CycleOptions,
    Evaluation,
    Progress,
    candidates_of,
    evaluate,
)
from mooring.runtime.commit.asked_group import enqueued
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.profiles import left_alone
from mooring.sessions.change.labels import MOST_WAYS
from mooring.sessions.change.needs import Needs, NodesRead, by_taints, freed, frees, most_freed, requests_on
from mooring.sessions.change.plans import ChangePlan, MovingPlans, Plan
from mooring.sessions.change.steps import (
    ChangeOption,
    Cost,
    Kind,
    LowerRequest,
    NeededChanges,
    Step,
    Tolerate,
    changed_pod,
    most_drastic,
)
from mooring.sessions.change.time_limit import TimeIsUpError, TimeLimit
from mooring.sessions.change.trial import ChangeTrial
from mooring.sessions.pending import ProfileOf
from mooring.sessions.work_trees import Work

MOST_MOVES = 3
"""Pods that are moved at most."""

MOST_TRIED = 64
"""Sets of changes that are tried at most for one option, and as many again of those that are doubtful;"""
MOST_COMBINED = 10_000
"""and sets of pods that are considered,"""
COSTS_OF_OTHERS = 16
"""as many more for each node that pods of others may keep the pod off, and for each of those."""

MOST_TAINTED = 64
"""Different lists of taints that are considered, those with the fewest first."""

ALL_KINDS = frozenset(Kind)

_Item = tuple[Cost, bool, int, int, Plan]
"""A plan after its cost, whether it is doubtful, its node's place by name, and when it was thought of."""


class ChangeSearch:
    """Looks for changes that make one pod fit. For one thread; the tree is in the end what it was.

    Args:
        pod: The pod, without a node. The answer names its gates, and then ignores them.
        profile_of: The profile of a pod that is moved; raises NotFoundError for one of another scheduler.
        only: The names of the candidate nodes, without new ones; none = any.
        seconds: Processor time that it takes at most, about; the answer is then not complete.
        seed: Decides between nodes of equal totals where moved pods go.
    """

    def __init__(
        self,
        work: Work,
        pod: Pod,
        profile: Profile,
        profile_of: ProfileOf,
        *,
        only: Sequence[str] = (),
        seconds: float = math.inf,
        seed: int = 0,
        progress: Progress,
    ) -> None:
        self._bounded = seconds < math.inf
        self._work = work
        self._gate = enqueued(work.engine, pod, profile, progress)
        self._pod = pod = replace_struct(pod, spec=replace_struct(pod.spec, scheduling_gates=()))
        self._profile = profile
        self._only = frozenset(only)
        self._progress = TimeLimit(progress, seconds)
        self._trial = ChangeTrial(work, pod, profile, profile_of, seed, self._progress)
        self._requested = dict(work.tree.kind_of(pod, remember=False).usage.requests)
        self._places: dict[int, int] = {}
        self._numbers = itertools.count()
        self._combined = 0
        self._failed = set[Hashable]()
        self._complete = True

    def run(
        self, kinds: frozenset[Kind] = ALL_KINDS, enough: Callable[[ChangeOption], bool] = lambda _: False
    ) -> NeededChanges:
        """Return what would make the pod fit, by changes of these kinds. ``enough`` says whether an option is
        so easy that others are not looked for.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        tree, uid = self._work.tree, self._pod.metadata.uid
        placed = tree.snapshot.pods.get(uid)
        if placed is not None and (placed.node_name or not self._gate.ok):
            tree.discard(uid)
        self._work.keep()
        warnings = tuple(left_alone(self._pod, self._profile))
        changes = NeededChanges(Status(Code.UNSCHEDULABLE), warnings=warnings)
        try:
            self._look(changes, kinds, enough)
        except TimeIsUpError:
            self._complete = False
        changes.complete = self._complete
        return changes

    def _look(
        self, changes: NeededChanges, kinds: frozenset[Kind], enough: Callable[[ChangeOption], bool]
    ) -> None:
        """Add options and the first status; raises TimeIsUpError if a step lasts too long."""
        # Preemption takes as long as the search.
        found = self._evaluated(self._pod, ALL_NODES, preempt=not self._bounded)
        changes.status, changes.message = found.status, found.message
        changes.candidates, changes.room_on = candidates_of(found), found.room_on
        if not self._gate.ok:
            changes.status = self._gate
            changes.message = f"{self._gate.message}; otherwise: {found.message or 'it fits'}"
        if (found.status.ok and not self._only) or found.rejections is None:
            return
        first, done = self._first(found), frozenset[Kind]()
        # Many pods may move: trying them would take the time for everything else.
        for some in (kinds - {Kind.MOVE}, kinds) if self._bounded else (kinds,):
            while some - done and (option := self._cheapest(first, some - done)) is not None:
                changes.options.append(self._counted(option))
                if not option.steps or enough(option):
                    self._complete = True
                    return
                done |= {most_drastic(option.steps)}

    def _counted(self, option: ChangeOption) -> ChangeOption:
        """Return an option with its number of nodes: counted if only the pod changes, and may go anywhere."""
        if not option.steps or self._only or not of_the_pod(option.steps):
            return option
        pod = changed_pod(self._pod, option.steps)
        return replace(option, nodes=taking(self._work, pod, self._profile, self._progress))

    def _late(self) -> bool:
        """Return whether the time for the search is over; then the answer is not complete."""
        late = self._progress.is_over
        self._complete &= not late
        return late

    def _evaluated(self, pod: Pod, candidates: Candidates, *, preempt: bool = False) -> Evaluation:
        options = CycleOptions(all_rejections=True, post_filter=preempt, preempt=preempt)
        run = partial(evaluate, options=options)
        engine = self._work.engine
        found, _ = engine.evaluate(pod, self._profile, candidates, run, progress=self._progress)
        return found

    def _first(self, found: Evaluation) -> list[tuple[frozenset[Kind], _Item]]:
        """Return what the search begins with, each with the kinds of changes that it has at least."""
        names = self._work.tree.snapshot.nodes.names
        rows = sorted(found.rows.tolist(), key=lambda row: names[row])
        self._places = {row: place for place, row in enumerate(rows)}
        if self._only:
            rows = [row for row in rows if names[row] in self._only]
        first: list[tuple[frozenset[Kind], _Item]] = []
        for needs in self._needs(found, rows):
            plan = ChangePlan(needs, requests=self._less(needs.room))
            stuck = needs.others and not needs.ways[0]
            if PODS not in needs.room and not stuck and plan.helps:
                first.append((plan.kinds, self._item(plan)))
            first += self._leaving(needs)
        return first

    def _leaving(self, needs: Needs) -> Iterator[tuple[frozenset[Kind], _Item]]:
        """Yield what begins with pods that leave nodes: that end, or that move."""
        if needs.new or not (needs.room or needs.others):
            return
        for count in range(max(1, needs.excess), MOST_MOVES + 1):
            short = self._short(needs.room, count)
            for kind in (Kind.END, Kind.MOVE) if self._trial.any_ends else (Kind.MOVE,):
                at_least = {kind, Kind.REQUEST} if short else {kind}
                moving = MovingPlans(needs, count, short, kind is Kind.END)
                yield ChangePlan(needs).kinds | at_least, self._item(moving)

    def _needs(self, found: Evaluation, rows: Sequence[int]) -> Iterator[Needs]:
        grouped = by_taints(found, rows)
        self._complete = len(grouped) <= MOST_TAINTED
        for taints, some in itertools.islice(grouped.items(), MOST_TAINTED):
            if self._late():
                return
            tolerant = found
            if taints:
                pod = changed_pod(self._pod, map(Tolerate, taints))
                tolerant = self._evaluated(pod, _only(some))
            reading = NodesRead(tolerant, self._trial.daemons)
            found_needs = [] if any(map(is_of_condition, taints)) else reading.needs(some, taints)
            if not self._only:
                found_needs += reading.needs_of_new(some, taints)
            self._complete &= all(len(needs.ways) < MOST_WAYS for needs in found_needs)
            yield from found_needs

    def _cheapest(
        self, first: Sequence[tuple[frozenset[Kind], _Item]], kinds: frozenset[Kind]
    ) -> ChangeOption | None:
        """Return the cheapest option of these kinds alone; None if there is none."""
        heap = [item for needed, item in first if needed <= kinds]
        heapq.heapify(heap)
        left = dict.fromkeys(itertools.product((False, True), repeat=2), MOST_TRIED)
        self._combined = 0
        while heap:
            self._progress.check()
            if self._late():
                return None
            _, doubtful, _, _, plan = heapq.heappop(heap)
            sort = plan.needs.new, doubtful
            if not left[sort] or (isinstance(plan, MovingPlans) and self._combined >= MOST_COMBINED):
                self._complete = False
                continue
            for more in self._next(plan, kinds):
                heapq.heappush(heap, self._item(more))
            if isinstance(plan, MovingPlans):
                continue
            alike = self._alike_new(plan) if plan.needs.new else None
            if alike in self._failed:
                continue
            left[sort] -= 1
            if (done := self._tried(plan)) is not None:
                return ChangeOption(*done, plan.cost)
            self._failed |= {alike} - {None}
        self._complete &= self._combined < MOST_COMBINED
        return None

    def _alike_new(self, plan: ChangePlan) -> Hashable:
        """Return what is the same for plans with new nodes that are alike."""
        return self._trial.kind_of_new(plan.needs.rows[plan.at]), plan.way

    def _tried(self, plan: ChangePlan) -> tuple[tuple[Step, ...], str] | None:
        """Return what ``ChangeTrial.steps`` does; what failed for an option before is not tried again."""
        uids = (record.uid for record in plan.moved)
        which = (id(plan.needs), plan.at, plan.way, plan.ending, *uids)
        if which in self._failed:
            return None
        needs, way = plan.needs, plan.needs.ways[plan.way]
        row = needs.rows[plan.at]
        done = self._trial.steps(needs, row, way, plan.moved, plan.requests, ending=plan.ending)
        if done is None:
            self._failed.add(which)
        return done

    def _next(self, plan: Plan, kinds: frozenset[Kind]) -> Iterator[Plan]:
        """Yield the plans after one that fails: another set of labels, or another node."""
        another = plan.at + 1 < len(plan.needs.rows)
        if isinstance(plan, MovingPlans):
            yield from self._after(plan, kinds)
            return
        if another and not plan.way and not plan.moved:
            yield replace(plan, at=plan.at + 1)
        if plan.way + 1 < len(plan.needs.ways):
            yield replace(plan, way=plan.way + 1)

    def _after(self, moving: MovingPlans, kinds: frozenset[Kind]) -> Iterator[Plan]:
        """Yield the first of the plans in which ``moving.count`` pods leave the node, and the search for the
        others, and for those of another node.
        """
        if moving.left is None:
            if (at := self._next_at(moving)) is not None:
                yield replace(moving, at=at)
            moving = replace(moving, left=self._moving(moving, kinds))
        if moving.left is not None and (plan := next(moving.left, None)) is not None:
            yield plan
            yield moving

    def _next_at(self, moving: MovingPlans) -> int | None:
        """Return the next of the nodes that a pod may leave; None = there is none."""
        needs, at, leaves = moving.needs, moving.at + 1, self._trial.leaves
        while (
            at < len(needs.rows)
            and not needs.others
            and not leaves(needs.rows[at], needs.room, ending=moving.ending)
        ):
            at += 1
        return at if at < len(needs.rows) else None

    def _moving(self, moving: MovingPlans, kinds: frozenset[Kind]) -> Iterator[ChangePlan]:
        """Yield the plans in which ``moving.count`` pods leave the node."""
        needs, count = moving.needs, moving.count
        row = needs.rows[moving.at]
        alike, whole = self._alike(moving, row)
        counting = [not needs.excess or self._trial.spread_among(records[0]) for records in alike]
        for name, left in needs.room.items() if Kind.REQUEST not in kinds else ():
            amounts = [requests_on(row, records[:count], name) for records in alike]
            if left + most_freed(amounts, counting, needs.excess, count) < self._requested.get(name, 1):
                return
        for chosen in itertools.combinations_with_replacement(range(len(alike)), count):
            if self._combined >= MOST_COMBINED:
                return
            self._combined += 1
            if sum(counting[kind] for kind in chosen) < needs.excess:
                continue
            numbers = Counter(chosen)
            moved = tuple(record for kind, number in numbers.items() for record in alike[kind][:number])
            if len(moved) < count or not (moving.ending or self._land(moved)):
                continue
            room = freed(needs.room, moved, row)
            plan = ChangePlan(needs, moving.at, 0, moved, self._less(room), moving.ending)
            if room.get(PODS, 1) > 0 and plan.helps and plan.kinds <= kinds:
                yield plan
        self._complete &= whole

    def _land(self, moved: Sequence[PodRecord]) -> bool:
        """Return whether these pods may find nodes, as far as known by now."""
        homes = self._trial.homes
        return len({each.row for each in moved}) > 1 or all(map(homes.elsewhere, moved))

    def _alike(self, moving: MovingPlans, row: int) -> tuple[list[list[PodRecord]], bool]:
        """Return the pods whose leaving may help a node, in lists of interchangeable ones; and
        whether these are all.
        """
        needs, count, ending = moving.needs, moving.count, moving.ending
        leaving, whole = self._trial.movable(row, ending=ending), True
        if needs.others:
            others, whole = self._trial.movable_elsewhere(row, ending=ending)
            self._combined += COSTS_OF_OTHERS * (1 + len(others))
            leaving += others
        if not ending:
            leaving = self._trial.homes.among(leaving, count)
        if needs.others:
            return leaving, whole
        alike: dict[Hashable, list[PodRecord]] = {}
        for records in leaving:
            if frees(records[0].kind.usage, needs.room):
                alike.setdefault(self._trial.alike(records[0].kind), []).extend(records)
        return list(alike.values()), whole

    def _short(self, room: Mapping[str, int], count: int) -> int:
        """Return of how many resources there would be too little if ``count`` of the largest pods went."""
        largest, requested = self._largest, self._requested
        return sum(
            left + count * largest.get(name, 0) < requested.get(name, 1) for name, left in room.items()
        )

    @cached_property
    def _largest(self) -> dict[str, int]:
        """The most that any pod requests of each resource."""
        most = {PODS: 1}
        for base in self._trial.bases:
            for name, amount in base.usage.requests:
                most[name] = max(amount, most.get(name, 0))
        return most

    def _less(self, room: Mapping[str, int]) -> tuple[LowerRequest, ...]:
        """Return the lower requests with which the pod fits in this room."""
        requested = self._requested
        lacking = (
            (name, left) for name, left in room.items() if name in requested and left < requested[name]
        )
        return tuple(LowerRequest(name, max(0, left), requested[name]) for name, left in lacking)

    def _item(self, plan: Plan) -> _Item:
        place = self._places[plan.needs.rows[plan.at]]
        return plan.cost, plan.needs.others, place, next(self._numbers), plan


def of_the_pod(steps: Sequence[Step]) -> bool:
    """Return whether the changes are of the pod alone."""
    return all(step.kind in (Kind.TOLERATION, Kind.REQUEST) for step in steps)


def taking(work: Work, pod: Pod, profile: Profile, progress: Progress) -> int:
    """Return how many nodes take a pod now; it is not added to the cluster.

    Raises:
        DeadlineExceededError: The caller no longer waits.
        PluginFailureError: A plugin failed.
    """
    # The tree may have the pod itself, waiting.
    run = partial(evaluate, options=CycleOptions(post_filter=False))
    found, _ = work.engine.evaluate(pod, profile, ALL_NODES, run, progress=progress)
    return found.feasible_count


def _only(rows: Sequence[int]) -> Candidates:
    return Candidates(lambda _: np.array(rows, np.int32))
