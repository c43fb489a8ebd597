"""Pod groups as plugins see them, and the extension points at which a group is decided as a whole.

A group's cycle finds the possible placements of the group and tries the group's pods in each, one after
the other by the points of a single pod. It takes the placement with the highest score. PlacementGenerate
makes the placements, PlacementFeasible decides after each pod whether to go on, and
PlacementScore compares the placements that take the group.

Mirrors the pod group part of ``k8s.io/kube-scheduler/framework`` (interface.go) and
``pkg/scheduler/framework/interface.go``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, overload

import numpy as np

from mooring.framework.cycle_state import CycleState
from mooring.framework.deadline import timely
from mooring.framework.interface import ArgsT, Plugin
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Pod, PodGroup
from mooring.framework.remedy import Remedy
from mooring.framework.scores import checked_score
from mooring.framework.status import Status
from mooring.framework.view import NodeView, Snapshot
from mooring.kernels.arrays import Int32s, Int64s


@dataclass(frozen=True, slots=True)
class PodGroupInfo:
    """A group in its cycle. In each pod's cycle state under its own type, as long as that cycle lasts.

    Attributes:
        group: The group's object.
        pods: Those that have no node yet, in the order in which they are tried.
    """

    group: PodGroup
    pods: tuple[Pod, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and name."""
        return self.group.metadata.namespace, self.group.metadata.name

    @property
    def min_count(self) -> int:
        """How many of its pods have to have a node before any is bound: 1 without a gang policy."""
        gang = self.group.spec.scheduling_policy.gang
        return 1 if gang is None else gang.min_count

    def scheduled(self, snapshot: Snapshot) -> Sequence[Pod]:
        """Its pods that have a node, bound there or not yet."""
        return list(snapshot.pods.placed_in_group(self.key))


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """The nodes a group may be placed on.

    Attributes:
        name: For people: the value of the topology label; "" for all nodes.
        rows: int32[N], the rows of the nodes.
    """

    name: str
    rows: Int32s


@dataclass(frozen=True, slots=True)
class PlacementProgress:
    """How far the pods of a group have come in a placement.

    Attributes:
        scheduled: How many have a node, those included that had one before.
        remaining: How many are still to be tried.
    """

    scheduled: int
    remaining: int


@dataclass(frozen=True, slots=True)
class PodGroupAssignments:
    """A placement, and the nodes that it has for pods of the group.

    Attributes:
        placement: The placement.
        snapshot: The tables, without these pods.
        pods: The pods that got a node there, in the order in which they were tried.
        node_names: The node of each.
    """

    placement: GroupPlacement
    snapshot: Snapshot
    pods: tuple[Pod, ...]
    node_names: Sequence[str]

    @property
    def nodes(self) -> NodeView:
        """The placement's nodes, as they are without these pods."""
        return NodeView(self.snapshot, self.placement.rows)


@dataclass(frozen=True, slots=True)
class GroupPreemption:
    """Possible changes for a group that fits nowhere.

    Attributes:
        status: Success when the group will fit soon; else why not.
        victims: The pods that have to go first, the most important first.
        violations: How many of them a disruption budget protects.
        nominations: The pods of the group that get a node then, and the nodes.
        remedies: Other necessary changes at the API server.
    """

    status: Status
    victims: tuple[Pod, ...] = ()
    violations: int = 0
    nominations: tuple[tuple[Pod, str], ...] = ()
    remedies: tuple[Remedy, ...] = ()


class GroupWhatIf(Protocol):
    """The cluster as it would be with other pods on its nodes. For one thread; nothing real changes.

    Attributes:
        snapshot: The tables as they are now.
        rows: int32[N], the rows of all nodes, in the order in which kube-scheduler lists them.
        assignments: The pods of the group that got a node when they were tried last, and the nodes.
        noted: The pods before the group was rejected, each time that one was tried in a placement, with its
            cycle state; None if it got its node without any plugin being called.
    """

    snapshot: Snapshot
    rows: Int32s
    assignments: Sequence[tuple[Pod, str]]
    noted: Sequence[tuple[Pod, CycleState | None]]

    def remove(self, pods: Sequence[Pod]) -> None:
        """Take pods off their nodes."""
        ...

    def schedule(self) -> Status:
        """Try the group once more, as things are now."""
        ...

    def put_back(self, pods: Sequence[Pod]) -> bool:
        """Put pods on their nodes again, unless the assignments don't fit with them; return whether they were
        put back.
        """
        ...


class PodGroupPostFilterPlugin(Plugin[ArgsT]):
    """Tries to make room for a group that fits nowhere.

    Called for the profile's plugins until one does not say Unschedulable.
    """

    @abstractmethod
    def post_filter_group(
        self, state: CycleState, group: PodGroupInfo, what_if: GroupWhatIf
    ) -> GroupPreemption:
        """Return what could be done; nothing is."""


class PlacementGeneratePlugin(Plugin[ArgsT]):
    """Says where a group could be as a whole. A profile has at most one.

    Called once in a group's cycle. Without such a plugin all nodes are one placement.
    """

    @abstractmethod
    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, nodes: NodeView
    ) -> Sequence[GroupPlacement] | Status:
        """Return the placements, each of them some of ``nodes``; without any the group is unschedulable.

        Returns:
            Or Unschedulable with the reason, or Error.
        """


class PlacementFeasiblePlugin(Plugin[ArgsT]):
    """Says whether a placement can still take the group.

    Called before the first pod of the group is tried in a placement, and after each one. If all pods are
    known to get a node there, it is called once before the first and once after the last.
    """

    @abstractmethod
    def placement_feasible(
        self, state: CycleState, group: PodGroupInfo, progress: PlacementProgress
    ) -> Status:
        """Return Success when the group could be bound as it is, Wait when more pods need a node first.

        Unschedulable ends the placement: nothing that is still to come can help. Anything else is an error.
        """


class PlacementScorePlugin(Plugin[ArgsT]):
    """Ranks the placements that take the group. Override exactly one of the two score methods.

    Called when there is more than one. The scores of all plugins, each times its weight, are added up, and a
    placement with the highest total is taken.
    """

    def score_placement(self, state: CycleState, group: PodGroupInfo, found: PodGroupAssignments) -> int:
        """Return the raw score of a placement: more is better after normalising."""
        raise TypeError(f"{type(self).__name__} scores no placement by itself")

    def score_placements(
        self, state: CycleState, group: PodGroupInfo, found: Sequence[PodGroupAssignments]
    ) -> Int64s:
        """Return the raw scores of all placements that take the group, int64[P]."""
        scores = np.empty(len(found), np.int64)
        for at, one in enumerate(timely(found)):
            scores[at] = checked_score(self.score_placement(state, group, one), one.placement.name)
        return scores

    def normalize_placement_scores(self, state: CycleState, group: PodGroupInfo, scores: Int64s) -> Int64s:
        """Bring int64[P] raw scores to 0..100. Must not modify ``scores``.

        A score outside of 0..100 after this fails the group's cycle.
        """
        return scores


class GroupOnly(ABC):
    """A plugin that places some pods only together with the others of their group."""

    @abstractmethod
    def alone(self, pod: Pod, objects: ObjectTable) -> str:
        """Return why ``pod`` can't be placed by itself; "" when it can."""


T = TypeVar("T")


class MadeOnUse(Sequence[T]):
    """A sequence whose entries are made when they are read."""

    __slots__ = ()

    @abstractmethod
    def made(self, at: int) -> T:
        """Return the entry at this index.

        Raises:
            IndexError: There is none.
        """

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...

    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return [self.made(one) for one in range(*at.indices(len(self)))]
        return self.made(at)


class PlacementColumns(MadeOnUse[GroupPlacement]):
    """Placements as stretches of one column of nodes, which is made once where they are.

    Attributes:
        rows: int32[N], the rows of the nodes of all.
        ends: int32[P], where each placement ends among them.
        fewest: How many nodes the smallest placement has.
    """

    def __init__(self, placements: Sequence[GroupPlacement]) -> None:
        self._each = tuple(placements)
        rows = [placement.rows for placement in placements]
        self.rows: Int32s = rows[0] if len(rows) == 1 else np.concatenate(rows)
        counts = [len(each) for each in rows]
        self.ends: Int32s = np.cumsum(counts, dtype=np.int32)
        self.fewest = min(counts)

    def __len__(self) -> int:
        return len(self._each)

    def made(self, at: int) -> GroupPlacement:
        return self._each[at]


class AssignedEverywhere(MadeOnUse[PodGroupAssignments]):
    """The assignments of a group whose pods all get a node in every placement. Each is made when it is
    read, which PlacementScore in the tree doesn't do.

    Attributes:
        placements: The placements, of at least one node each.
        snapshot: The tables, without these pods.
        pods: The pods.
    """

    def __init__(
        self,
        placements: PlacementColumns,
        snapshot: Snapshot,
        pods: tuple[Pod, ...],
        node_names: Callable[[int], Sequence[str]],
    ) -> None:
        self.placements = placements
        self.snapshot = snapshot
        self.pods = pods
        self._node_names = node_names

    def __len__(self) -> int:
        return len(self.placements)

    def made(self, at: int) -> PodGroupAssignments:
        return PodGroupAssignments(self.placements[at], self.snapshot, self.pods, self._node_names(at))
