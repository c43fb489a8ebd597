"""Looks for the fewest changes with which a pod group that no placement takes would fit.

The most that nodes could take rules out most sets of changes. The others are tried in a session, the cheapest
first. There, pods and nodes have the changes, and the group's cycle decides whether it fits.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mooring.framework import Code, Node, PodGroupInfo, Status
from mooring.framework.objects import CSINode, ResourceSlice
from mooring.runtime.answers import GroupDecision, Progress
from mooring.runtime.commit.asked_group import nothing_to_do
from mooring.runtime.profiles.profile import Profile, placing
from mooring.sessions.change.group_room import Caps, GroupRoom, Guest, Taints
from mooring.sessions.change.labels import MOST_WAYS, Labels
from mooring.sessions.change.steps import (
    AddNode,
    ChangeOption,
    Cost,
    Kind,
    LowerRequest,
    NeededChanges,
    Relabel,
    Step,
    Tolerate,
    changed_node,
    changed_pod,
    kind_of_new,
    most_drastic,
    one_more,
    reports,
)
from mooring.sessions.change.time_limit import TimeIsUpError, TimeLimit
from mooring.sessions.daemons import Daemons
from mooring.sessions.placing import place_on
from mooring.sessions.work_trees import Work

GROUP_KINDS = frozenset(Kind) - {Kind.MOVE, Kind.END}
"""The kinds of change for a group."""

MOST_CHANGES = 32
"""Changes that are made at most, and new nodes among them."""

MOST_TRIED = 256
"""Sets of changes that are tried at most for one option,"""
MOST_COMBINED = 10_000
"""sets of labels that are considered for equally many changes of each kind,"""
MOST_TAINTED = 64
"""and sets of taints."""

_Way = tuple[tuple[str, str | None], ...]
_Labelled = tuple[tuple[int, _Way], ...]


@dataclass(frozen=True, slots=True)
class _GroupPlan:
    """A set of changes that may do.

    Attributes:
        taints: The taints that all pods tolerate.
        resources: The resources that all pods request less of.
        labels: The nodes that get labels, by their place in the order of names, and which.
        new: How many nodes are added.
        like: The node that they are copies of, by its place.
        way: The labels that they get.
    """

    taints: Taints = frozenset()
    resources: tuple[str, ...] = ()
    labels: _Labelled = ()
    new: int = 0
    like: int = 0
    way: _Way = ()


class _ChangeCounts(NamedTuple):
    """How many changes there are of each kind, the most drastic first."""

    nodes: int
    requests: int
    labels: int
    tolerations: int

    def cost(self, share: float) -> Cost:
        """Return what they cost."""
        return Cost(sum(self), self.nodes, 0, self.requests, self.labels, share=share)


class GroupChangeSearch:
    """Looks for changes that make one group fit. For one thread; the tree is in the end what it was.

    Tolerations and smaller requests are those of all of the group's pods, and new nodes are all alike. No
    pods are moved.

    Args:
        group: The group and its pods without a node.
        seconds: Processor time that it takes at most, about; the answer is then not complete.
    """

    def __init__(
        self,
        work: Work,
        group: PodGroupInfo,
        profile: Profile,
        *,
        seconds: float = math.inf,
        seed: int = 0,
        progress: Progress,
    ) -> None:
        self._work = work
        self._group = group
        # Only the unchanged group may preempt; with changes no pod is to make room.
        self._preempting = profile
        self._profile = replace(profile, pod_group_post_filter=())
        self._seed = seed
        self._progress = TimeLimit(progress, seconds)
        self._daemons = Daemons(work)
        self._tried: dict[_GroupPlan, ChangeOption | None] = {}
        self._complete = True

    def run(self, kinds: frozenset[Kind] = GROUP_KINDS) -> NeededChanges:
        """Return what would make the group fit, by changes of these kinds.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        self._work.keep()
        changes = NeededChanges(Status(Code.UNSCHEDULABLE))
        try:
            self._find(changes, kinds)
        except TimeIsUpError:
            self._complete = False
        changes.complete = self._complete
        return changes

    def _find(self, changes: NeededChanges, kinds: frozenset[Kind]) -> None:
        """Add options and the first status; raises TimeIsUpError if a step lasts too long."""
        decision = self._decided(self._group, self._preempting)
        changes.status, changes.message = decision.status, decision.message
        if (room := decision.room) is not None:
            changes.candidates, changes.room_on = (room,), room.node_name
        if decision.status.code is not Code.UNSCHEDULABLE or self._lacking > len(self._group.pods):
            return
        self._look()
        while kinds and (option := self._cheapest(kinds)) is not None:
            changes.options.append(option)
            kinds -= {most_drastic(option.steps)}

    @property
    def _lacking(self) -> int:
        """How many pods have to get a node."""
        group, snapshot = self._group, self._work.tree.snapshot
        return max(1, group.min_count - len(group.scheduled(snapshot)))

    def _decided(self, group: PodGroupInfo, profile: Profile | None = None) -> GroupDecision:
        engine = self._work.engine
        if not group.pods:
            return nothing_to_do(group, self._work.tree)
        return engine.decide_group(group, profile or self._profile, seed=self._seed, progress=self._progress)

    def _look(self) -> None:
        """Read the cluster as it is before the first trial."""
        tree = self._work.tree
        guests = [
            Guest(pod, dict(tree.kind_of(pod, remember=False).usage.requests)) for pod in self._group.pods
        ]
        self._needed = self._lacking
        self._room = GroupRoom(tree.snapshot.nodes, self._group, guests, self._profile)
        self._nodes = list(self._room.nodes)
        self._ways = [self._room.ways(node) for node in self._nodes]
        self._complete &= all(len(ways) < MOST_WAYS for ways in self._ways)
        names = sorted({name for _, requests in guests for name, amount in requests.items() if amount})
        self._requested = {name: max(guest.requests.get(name, 0) for guest in guests) for name in names}
        patterns: dict[Hashable, int] = {}
        for at, node in enumerate(self._nodes):
            patterns.setdefault(kind_of_new(node), at)
        self._patterns = {at: list(self._new_ways(at)) for at in patterns.values()}
        self._taints = self._taint_sets()
        self._caps: dict[tuple[Taints, tuple[str, ...]], Caps] = {}

    def _new_ways(self, at: int) -> Iterator[_Way]:
        """Yield the sets of labels, one of which a new node like this one needs, since its name differs."""
        node = one_more(self._nodes[at], self._work.tree.snapshot.nodes.index)
        if self._room.is_ready(node):
            yield ()
        yield from map(_items, self._room.ways(node))

    def _taint_sets(self) -> dict[int, list[Taints]]:
        """Return by their number the taints that may be worth tolerating: all of some nodes."""
        several: set[Taints] = {frozenset()}
        for taints in sorted(self._room.taint_sets(), key=len):
            several |= {some | taints for some in several}
            if len(several) > MOST_TAINTED:
                self._complete = False
                break
        ordered = sorted(
            several, key=lambda some: sorted((each.key, each.value, each.effect) for each in some)
        )
        return {size: [some for some in ordered if len(some) == size] for size in range(MOST_CHANGES + 1)}

    def _cheapest(self, kinds: frozenset[Kind]) -> ChangeOption | None:
        """Return the cheapest option of these kinds alone; None if there is none."""
        left = MOST_TRIED
        for counts in self._all_counts(kinds):
            if self._progress.is_over:
                self._complete = False
                return None
            found: list[ChangeOption] = []
            for plan in self._plans(counts):
                if plan not in self._tried:
                    if not left or self._progress.is_over:
                        self._complete = False
                        break
                    left -= 1
                    self._tried[plan] = self._option(plan, counts)
                if (option := self._tried[plan]) is not None:
                    found.append(option)
                    if not counts.requests:
                        break
            if found:
                return min(found, key=lambda option: option.cost)
        return None

    def _all_counts(self, kinds: frozenset[Kind]) -> Iterator[_ChangeCounts]:
        """Yield how many changes there may be of each of these kinds, the cheapest first."""
        labelled = any(self._ways) or any(any(ways) for ways in self._patterns.values())
        most = {
            Kind.NODE: self._needed,
            Kind.REQUEST: len(self._requested),
            Kind.LABEL: MOST_CHANGES if labelled else 0,
            Kind.TOLERATION: max(size for size, some in self._taints.items() if some),
        }
        nodes, requests, labels, tolerations = (most[kind] * (kind in kinds) for kind in most)
        for total in range(1, MOST_CHANGES + 1):
            for some in itertools.product(range(nodes + 1), range(requests + 1), range(labels + 1)):
                if 0 <= total - sum(some) <= tolerations:
                    yield _ChangeCounts(*some, total - sum(some))

    def _plans(self, counts: _ChangeCounts) -> Iterator[_GroupPlan]:
        """Yield the sets with these numbers of changes that may do, those with the most room first."""
        for taints in self._taints[counts.tolerations]:
            for resources in itertools.combinations(self._requested, counts.requests):
                self._progress.check()
                caps = self._caps_with(taints, resources)
                plain = _GroupPlan(taints, resources)
                for plan, labels in (
                    self._with_nodes(plain, counts, caps) if counts.nodes else [(plain, counts.labels)]
                ):
                    for labelled in self._labelled(plan, labels, caps):
                        yield replace(plan, labels=labelled)

    def _caps_with(self, taints: Taints, resources: Sequence[str]) -> Caps:
        key = taints, tuple(resources)
        if key not in self._caps:
            self._caps[key] = self._room.caps(taints, dict.fromkeys(resources, 0))
        return self._caps[key]

    def _with_nodes(
        self, plan: _GroupPlan, counts: _ChangeCounts, caps: Caps
    ) -> Iterator[tuple[_GroupPlan, int]]:
        """Yield plans with that many nodes more, and how many labels are left for nodes that are there."""
        new, room = counts.nodes, self._room
        base = room.by_domain(np.where(room.ready, caps.there, 0))
        for at, ways in self._patterns.items():
            domain, more = room.domains[at], new * int(caps.new[at])
            if not more or (not counts.labels and max(base.max(), base[domain] + more) < self._needed):
                continue
            for way in ways:
                if len(way) * new <= counts.labels:
                    yield replace(plan, new=new, like=at, way=way), counts.labels - len(way) * new

    def _labelled(self, plan: _GroupPlan, count: int, caps: Caps) -> Iterator[_Labelled]:
        """Yield sets of nodes that get ``count`` labels together, if there may be enough room with them."""
        room, domains = self._room, self._room.domains
        there = np.where(room.ready, caps.there, 0)
        more = (caps.there - there).tolist()
        able = [at for at, ways in enumerate(self._ways) if ways and caps.there[at]] if count else []
        able.sort(key=lambda at: -more[at])
        looked_at = itertools.count(1)
        for domain, base in enumerate(room.by_domain(there).tolist()):
            lacking = self._needed - base
            if plan.new and domains[plan.like] == domain:
                lacking -= plan.new * int(caps.new[plan.like])
            gains = [(more[at], at) for at in able if domains[at] == domain]
            for labelled in self._choices(gains, count, lacking):
                if next(looked_at) > MOST_COMBINED:
                    self._complete = False
                    return
                yield labelled

    def _choices(self, gains: Sequence[tuple[int, int]], count: int, lacking: int) -> Iterator[_Labelled]:
        """Yield sets of nodes that gain so much by ``count`` labels; ``gains`` has the most first."""
        if not count:
            yield from [()] if lacking <= 0 else []
            return
        for first, (gain, at) in enumerate(gains):
            if sum(most for most, _ in gains[first : first + count]) < lacking:
                return
            for way in map(_items, self._ways[at]):
                if len(way) <= count:
                    rest = self._choices(gains[first + 1 :], count - len(way), lacking - gain)
                    yield from (((at, way), *others) for others in rest)

    def _option(self, plan: _GroupPlan, counts: _ChangeCounts) -> ChangeOption | None:
        """Return the option of a plan, requests as large as they may be; None if the group doesn't fit."""
        amounts = dict.fromkeys(plan.resources, 0)
        best = self._made(plan, amounts)
        for name in plan.resources if best is not None else ():
            # The smallest set that may have room is mostly right.
            fits, tried = 0, self._most(plan, amounts, name)
            too_much = tried + 1
            while too_much - fits > 1:
                made = self._made(plan, {**amounts, name: tried})
                best = made or best
                fits, too_much = (fits, tried) if made is None else (tried, too_much)
                tried = (fits + too_much) // 2
            amounts[name] = fits
        if best is None:
            return None
        lowered = (step.share for step in best.steps if isinstance(step, LowerRequest))
        return replace(best, cost=counts.cost(sum(lowered)))

    def _most(self, plan: _GroupPlan, amounts: Mapping[str, int], name: str) -> int:
        """Return the most, less than now, that pods may request of a resource so that there may be room."""

        def too_much(amount: int) -> bool:
            caps = self._room.caps(plan.taints, {**amounts, name: amount})
            able = self._room.ready.copy()
            able[[at for at, _ in plan.labels]] = True
            sums = self._room.by_domain(np.where(able, caps.there, 0))
            if plan.new:
                sums[self._room.domains[plan.like]] += plan.new * caps.new[plan.like]
            return int(sums.max()) < self._needed

        return bisect_left(range(self._requested[name]), True, key=too_much) - 1

    def _made(self, plan: _GroupPlan, amounts: Mapping[str, int]) -> ChangeOption | None:
        """Make the changes and place the group; None if it doesn't fit. The tree is then what it was."""
        self._progress.check()
        steps = self._steps(plan, amounts)
        group = replace(self._group, pods=tuple(changed_pod(pod, steps) for pod in self._group.pods))
        try:
            self._work.tree.put_objects(list(self._changed_nodes(steps)))
            self._daemons.start([step.node for step in steps if isinstance(step, AddNode)], self._progress)
            decision = self._decided(group)
            if not decision.status.ok:
                return None
            committed_as = placing(self._profile)
            for member in decision.placed:
                if not place_on(self._work, member.pod, member.node_name, committed_as, self._progress).ok:
                    return None
            landings = tuple((member.pod, member.node_name) for member in decision.placed)
            nodes = len({node for _, node in landings})
            return ChangeOption(steps, "", Cost(len(steps)), landings, nodes)
        finally:
            self._work.go_back()

    def _steps(self, plan: _GroupPlan, amounts: Mapping[str, int]) -> tuple[Step, ...]:
        by_key = sorted(plan.taints, key=lambda taint: (taint.key, taint.value, taint.effect))
        steps: list[Step] = [Tolerate(taint) for taint in by_key]
        steps += (LowerRequest(name, amount, self._requested[name]) for name, amount in amounts.items())
        for at, way in sorted(plan.labels):
            steps += (Relabel(self._nodes[at].metadata.name, *label) for label in way)
        taken = dict(self._work.tree.snapshot.nodes.index)
        for _ in range(plan.new):
            like = self._nodes[plan.like]
            node = one_more(like, taken)
            name = node.metadata.name
            labels = [Relabel(name, *label) for label in plan.way]
            steps += [*labels, AddNode(changed_node(node, labels), like.metadata.name)]
            taken[name] = -1
        return tuple(steps)

    def _changed_nodes(self, steps: Sequence[Step]) -> Iterator[Node | CSINode | ResourceSlice]:
        """Yield the new nodes with the reports of their drivers, and the nodes with other labels."""
        for step in steps:
            if isinstance(step, AddNode):
                yield step.node
                yield from reports(step.node.metadata.name, step.like, self._work.tree.snapshot.objects)
        labels: dict[str, list[Step]] = {}
        for step in steps:
            if isinstance(step, Relabel):
                labels.setdefault(step.node_name, []).append(step)
        for node in self._nodes:
            if node.metadata.name in labels:
                yield changed_node(node, labels[node.metadata.name])


def _items(way: Labels) -> _Way:
    return tuple(sorted(way.items()))
