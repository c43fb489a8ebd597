"""Which kind of node, and how many of it, would give a node to pods that have none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil

import numpy as np
from msgspec.structs import replace

from mooring.framework import Node, Pod, Status
from mooring.framework.cacheable import Part
from mooring.framework.errors import FailedPreconditionError
from mooring.framework.internal import parts_of
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.resources import allocatable
from mooring.framework.state import ClusterState
from mooring.runtime.commit.placement import asks_nothing
from mooring.runtime.cycle.candidates import Candidates
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.group_cycle import alike
from mooring.runtime.cycle.plugin_calls import Progress
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.capacity import asked_plugins
from mooring.sessions.placing import place_alike, place_pod
from mooring.sessions.work_trees import Work

MOST_NODES = 5_000
"""Nodes of a group that are tried at most."""

_SEES_OTHERS = Part.PODS | Part.OUTSIDE | Part.OTHER_NODES

ProfileOf = Callable[[Pod], Profile]


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are all alike, of which there can be more.

    Attributes:
        name: Its name; a node is called like it, with a number behind.
        template: What each node is, but for its name.
        most: How many more there can be, ``MOST_NODES`` at most.
        price: What a node costs, in any unit.
    """

    name: str
    template: Node
    most: int = MOST_NODES
    price: float = 1.0


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A pod that gets no node all the same.

    Attributes:
        pod: The pod.
        status: Why.
        message: The same as a sentence.
    """

    pod: Pod
    status: Status
    message: str


@dataclass(frozen=True, slots=True)
class NodeGroupOption:
    """What more nodes of a group would do.

    Attributes:
        group: The group.
        count: The number of nodes with which no more pods are left over than with all that there can be; with
            one node fewer there are.
        left_over: The pods that get no node with them.
    """

    group: NodeGroup
    count: int = 0
    left_over: tuple[LeftOver, ...] = ()

    @property
    def price(self) -> float:
        """What all its nodes cost."""
        return self.count * self.group.price

    @property
    def rank(self) -> tuple[int, float, int, str]:
        """Orders options: the fewest pods left over, then the cheapest, then the fewest nodes."""
        return len(self.left_over), self.price, self.count, self.group.name


@dataclass(slots=True)
class NodeGroups:
    """Looks for nodes for some pods. For one thread.

    Args:
        work: The tree, in which the pods that need no new node are placed.
        pods: The pods, in the order in which they are placed.
        profile_of: The profile of a pod.
        seed: Decides between nodes of equal totals.

    Attributes:
        placed: How many of the pods get a node without a new one.
        rest: The others.
    """

    work: Work
    pods: Sequence[Pod]
    profile_of: ProfileOf
    seed: int = 0
    placed: int = field(init=False, default=0)
    rest: list[LeftOver] = field(init=False, default_factory=list)

    def place_existing(self, progress: Progress) -> None:
        """Place the pods that need no new node; what is changed is the caller's to take back.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed.
        """
        self.rest = self._placed(self.pods, progress)
        self.placed = len(self.pods) - len(self.rest)
        self.work.keep()

    def option(self, group: NodeGroup, progress: Progress) -> NodeGroupOption:
        """Find out how many nodes of ``group`` the rest needs; the tree is in the end what it was.

        Raises:
            DeadlineExceededError, PluginFailureError: As ``place_existing``.
            InvalidArgumentError: The node can't be used.
        """
        fitting, left_over, alone = self._split(group, progress)
        if not fitting:
            return NodeGroupOption(group, 0, tuple(left_over))
        most = min(group.most, MOST_NODES, len(fitting))

        def suffices(count: int) -> bool:
            progress.check()
            if alone:
                return self._all_placed_alone(group, count, fitting, progress)
            return not self._left_by(group, count, fitting, progress)

        count = _least(suffices, _at_least(group.template, fitting, self.work) if alone else 1, most)
        if count is None:
            left_over += self._left_by(group, most, fitting, progress)
            count = most
        return NodeGroupOption(group, count, tuple(left_over))

    def _split(self, group: NodeGroup, progress: Progress) -> tuple[list[Pod], list[LeftOver], bool]:
        """Return the pods that an empty node of the group takes, the others, and what ``_is_alone`` says."""
        tree = self.work.tree
        (node,) = self._new_nodes(group, 1)
        tree.add_nodes([node])
        row = Candidates(lambda state: np.array([state.snapshot.nodes.index[node.metadata.name]], np.int32))
        templates, indices = alike([each.pod for each in self.rest])
        run = partial(evaluate, options=CycleOptions(always_score=True))
        evaluations: list[Evaluation] = []
        for pod in templates:
            progress.check()
            found, _ = self.work.engine.evaluate(pod, self.profile_of(pod), row, run, progress=progress)
            evaluations.append(found)
        fits = [each.status.ok for each in evaluations]
        alone = not (tree.snapshot.pods.affinities or tree.snapshot.pods.nominated) and all(
            self._is_alone(each) for each in evaluations if each.status.ok
        )
        self.work.go_back()
        fitting, left_over = [], []
        for each, index in zip(self.rest, indices, strict=True):
            if fits[index]:
                fitting.append(each.pod)
            else:
                found = evaluations[index]
                left_over.append(LeftOver(each.pod, found.status, found.message))
        return fitting, left_over, alone

    def _is_alone(self, found: Evaluation) -> bool:
        """Return whether a pod would be placed on new nodes as if there were no others.

        The new nodes are alike. So scores that depend on what other nodes are make no difference to them.
        """
        pod, profile = found.pod, found.profile
        if profile.extenders or profile.samples or not asks_nothing(pod, profile):
            return False
        scored = {column.plugin for column in found.scores.plugins} if found.scores is not None else set()
        scores = (each.plugin for each in profile.score if each.name in scored)
        seen = Part.PODS | Part.OUTSIDE | Part.AFFINITIES
        return (
            self.work.tree.kind_of(pod, remember=False).affinity_key is None
            and not _sees_others(found)
            and not any(parts_of(plugin, pod) & seen for plugin in scores)
        )

    def _all_placed_alone(
        self, group: NodeGroup, count: int, pods: Sequence[Pod], progress: Progress
    ) -> bool:
        """Return whether all pods get one of ``count`` nodes that are all there are."""
        engine = self.work.engine.over(self.work.tree.with_nodes_alone(self._new_nodes(group, count)))
        templates, indices = alike(pods)
        decided = [(pod, self.profile_of(pod)) for pod in templates]
        uids = [pod.metadata.uid for pod in pods]
        return engine.decide_batch(decided, indices, uids, seed=self.seed) is not None

    def _left_by(
        self, group: NodeGroup, count: int, pods: Sequence[Pod], progress: Progress
    ) -> list[LeftOver]:
        """Return the pods that get no node with ``count`` nodes more."""
        self.work.tree.add_nodes(self._new_nodes(group, count))
        left = self._placed(pods, progress)
        self.work.go_back()
        return left

    def _new_nodes(self, group: NodeGroup, count: int) -> list[Node]:
        """Return new nodes of the group, none of which has the name of a node that is there."""
        taken = self.work.tree.snapshot.nodes.index
        names = (name for number in itertools.count() if (name := f"{group.name}-{number}") not in taken)
        return [_named(group.template, name) for name in itertools.islice(names, count)]

    def _placed(self, pods: Sequence[Pod], progress: Progress) -> list[LeftOver]:
        """Place ``pods`` in order; return those that get no node."""
        left: list[LeftOver] = []
        templates, indices = alike(pods)
        decided = [(pod, self.profile_of(pod)) for pod in templates]
        names, uids = [pod.metadata.name for pod in pods], [pod.metadata.uid for pod in pods]
        rejected: dict[int, LeftOver] = {}
        at = 0
        while at < len(pods):
            progress.check()
            known = rejected.get(indices[at])
            if known is not None:
                left.append(LeftOver(pods[at], known.status, known.message))
                at += 1
                continue
            some = indices[at:], names[at:], uids[at:]
            at += len(place_alike(self.work, decided, *some, seed=self.seed, progress=progress))
            if at < len(pods):
                found, lasting = self._try(pods[at], progress)
                if found is not None:
                    left.append(found)
                    if lasting:
                        rejected[indices[at]] = found
                at += 1
        return left

    def _try(self, pod: Pod, progress: Progress) -> tuple[LeftOver | None, bool]:
        """Place a pod. If that fails return it, and whether all like it fail from then on.

        They do where nothing but room matters to them: each pod that is placed leaves less of it.
        """
        try:
            placed = place_pod(self.work, pod, self.profile_of(pod), seed=self.seed, progress=progress)
        except FailedPreconditionError as error:
            return LeftOver(pod, Status.unresolvable(error.reason), error.message), False
        if placed.status.ok and placed.choice.node_name is not None:
            return None, False
        lasting = placed.choice.node_name is None and not _sees_others(placed.choice.evaluation)
        message = placed.choice.message or placed.status.message
        return LeftOver(pod, placed.status, message), lasting


def pending(state: ClusterState) -> list[Pod]:
    """Return the pods that have no node and may be given one, in the order of kube-scheduler's queue."""
    waiting = (pod for pod in state.snapshot.pods.pending() if not pod.metadata.deletion_timestamp)
    return sorted(
        (pod for pod in waiting if not pod.spec.scheduling_gates),
        key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or "", pod.metadata.name),
    )


def _sees_others(found: Evaluation) -> bool:
    """Return whether it may matter to the filters where other pods are, or what other nodes are."""
    return any(parts_of(plugin, found.pod) & _SEES_OTHERS for plugin in asked_plugins(found))


def _least(suffices: Callable[[int], bool], first: int, most: int) -> int | None:
    """Return a number that suffices, of which one less does not; None if ``most`` doesn't either.

    ``first`` is known to be the least that might suffice.
    """
    too_few, count = first - 1, min(first, most)
    while not suffices(count):
        if count == most:
            return None
        too_few, count = count, min(most, count + max(1, count // 8))
    while count - too_few > 1:
        middle = (too_few + count) // 2
        if suffices(middle):
            count = middle
        else:
            too_few = middle
    return count


def _at_least(template: Node, pods: Sequence[Pod], work: Work) -> int:
    """Return how many nodes have as much as all pods request together."""
    offered = allocatable(template.status.allocatable)
    requested: dict[str, int] = {"pods": len(pods)}
    templates, indices = alike(pods)
    usages = [work.tree.kind_of(pod, remember=False).usage for pod in templates]
    for index in indices:
        for name, amount in usages[index].requests:
            requested[name] = requested.get(name, 0) + amount
    needed = [ceil(total / offered[name]) for name, total in requested.items() if offered.get(name)]
    return max(1, *needed)


def _named(template: Node, name: str) -> Node:
    """Return a node of the template, with the label of its own name."""
    labels = {**template.metadata.labels, HOSTNAME: name}
    own = replace(template.metadata, name=name, uid=f"node/{name}", labels=labels)
    return replace(template, metadata=own)
