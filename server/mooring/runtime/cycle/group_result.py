"""The results of trying a pod group: in each placement, and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

from msgspec import structs

from mooring.framework import SUCCESS, Code, GroupPlacement, GroupPreemption, Int64s, Pod, Status
from mooring.framework.groups import AssignedEverywhere, MadeOnUse, PlacementColumns
from mooring.framework.objects import PodGroup
from mooring.framework.preemption import Candidate
from mooring.framework.view import Snapshot
from mooring.runtime.cycle.choice import Choice, ChoiceColumns, FirstChoices

UNSCHEDULABLE_GROUP = "pod group is unschedulable"
"""The first words about a group, and about its pods, that was rejected as a whole."""


def rejected_group(*reasons: str) -> Status:
    """Return the status of a group that was rejected as a whole."""
    return Status.unschedulable(UNSCHEDULABLE_GROUP, *reasons)


def cause_of(status: Status) -> str:
    """Return kube-scheduler's text of a status that stands for an error in another sentence."""
    return UNSCHEDULABLE_GROUP if status.reasons[:1] == (UNSCHEDULABLE_GROUP,) else status.message


@dataclass(frozen=True, slots=True)
class GroupMember:
    """The result of a placement for one pod of the group.

    Attributes:
        choice: The decision; None when the pod was not tried, since the group was given up before.
        status: The verdict on the pod.
        message: The reason; "" when it has a node.
        nominated: The node that is nominated for it from now on, if it is not bound: "" = none, None = the
            one that was.
    """

    pod: Pod
    choice: Choice | None
    status: Status
    message: str
    nominated: str | None = None

    @property
    def node_name(self) -> str:
        """The node that it would get; "" without one."""
        return "" if self.choice is None else self.choice.node_name or ""


class PlacedMembers(MadeOnUse[GroupMember]):
    """All pods of a group, each with a node that it got without an evaluation in full.

    A placement that isn't taken is hardly ever read, so all of it is made on first use.
    """

    def __init__(self, pods: tuple[Pod, ...], columns: Callable[[], ChoiceColumns]) -> None:
        self.pods = pods
        self._columns = columns
        self._made: ChoiceColumns | None = None

    @property
    def found(self) -> ChoiceColumns:
        """The nodes."""
        made = self._made
        if made is None:
            made = self._made = self._columns()
        return made

    def __len__(self) -> int:
        return len(self.pods)

    def made(self, at: int) -> GroupMember:
        return GroupMember(self.pods[at], self.found.choice(at), SUCCESS, "")


class NodeNames(MadeOnUse[str]):
    """The nodes of all pods of a group, by name."""

    def __init__(self, members: PlacedMembers) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def made(self, at: int) -> str:
        return self._members.found.names[at]


def placed_all(members: Sequence[GroupMember]) -> TypeGuard[PlacedMembers]:
    """Return whether ``members`` are such; ``isinstance`` takes ten times as long, and runs often."""
    return type(members) is PlacedMembers


@dataclass(frozen=True, slots=True)
class TriedPlacement:
    """One placement, in which the pods of the group were tried one after the other.

    Attributes:
        status: Whether it takes the group.
        members: The pods that were tried, in their order.
    """

    placement: GroupPlacement
    status: Status
    members: Sequence[GroupMember]

    @property
    def placed(self) -> int:
        """How many of the pods got a node."""
        members = self.members
        return len(members) if placed_all(members) else sum(bool(member.node_name) for member in members)


class TriedEverywhere(MadeOnUse[TriedPlacement]):
    """Placements in which all pods of a group got nodes without an evaluation in full.

    One that isn't taken is hardly ever read, so each is made on first use.

    Attributes:
        status: Whether they take the group, which is the same of all.
    """

    def __init__(
        self, placements: PlacementColumns, status: Status, pods: tuple[Pod, ...], found: FirstChoices
    ) -> None:
        self.placements = placements
        self.status = status
        self.pods = pods
        self._found = found
        self._made: dict[int, TriedPlacement] = {}

    def __len__(self) -> int:
        return len(self.placements)

    def made(self, at: int) -> TriedPlacement:
        made = self._made.get(at)
        if made is None:
            members = PlacedMembers(self.pods, partial(self._found.columns, at))
            made = self._made[at] = TriedPlacement(self.placements[at], self.status, members)
        return made

    def assignments(self, snapshot: Snapshot) -> AssignedEverywhere:
        """Return the nodes of the pods, as plugins see them."""
        return AssignedEverywhere(self.placements, snapshot, self.pods, self._node_names)

    def _node_names(self, at: int) -> NodeNames:
        return NodeNames(PlacedMembers(self.pods, partial(self._found.columns, at)))


@dataclass(frozen=True, slots=True)
class PlacementScores:
    """One plugin's scores of the placements that take the group: int64[P] each.

    Attributes:
        normalized: The same as 0..100.
    """

    plugin: str
    weight: int
    raw: Int64s
    normalized: Int64s


@dataclass(frozen=True, slots=True)
class GroupDecision:
    """The decision about a group.

    Attributes:
        group: Its object.
        status: The verdict on the group. With Success its pods that have a node may be bound.
        members: One per pod that has no node yet, in their order.
        tried: Every placement, in the order in which they were tried.
        taken: Which of them the group gets, or which one ``members`` is about; -1 when none was tried.
        compared: Which of them were scored; none when at most one takes the group.
        ties: Which of them have the highest total.
        preemption: The ways to make room for a group that fits nowhere; None unless requested.
        state_version: The version of the state that was evaluated; 0 if anything else mattered.
    """

    group: PodGroup
    status: Status
    members: tuple[GroupMember, ...]
    tried: Sequence[TriedPlacement] = ()
    taken: int = -1
    compared: tuple[int, ...] = ()
    scores: tuple[PlacementScores, ...] = ()
    ties: tuple[int, ...] = ()
    preemption: GroupPreemption | None = None
    state_version: int = 0

    @property
    def message(self) -> str:
        """The message of the group's condition."""
        return self.status.message

    @property
    def placed(self) -> tuple[GroupMember, ...]:
        """The pods that get a node."""
        return tuple(member for member in self.members if member.status.ok and member.node_name)

    @property
    def room(self) -> Candidate | None:
        """The victims that make the group fit, with the node of its first pod; None = there are none."""
        found = self.preemption
        if found is None or not found.status.ok or not found.nominations:
            return None
        return Candidate(found.nominations[0][1], found.victims, found.violations)


def settled(
    status: Status, members: Sequence[GroupMember], waiting: Sequence[Pod]
) -> tuple[GroupMember, ...]:
    """Return what becomes of each pod, given what becomes of the group.

    Mirrors ``submitPodGroupAlgorithmResult``. ``waiting`` are all its pods; ``members`` were tried.
    """
    rest = (GroupMember(pod, None, status, status.message) for pod in waiting[len(members) :])
    return (*(_settled(status, member) for member in members), *rest)


def after_preemption(decision: GroupDecision, found: GroupPreemption) -> GroupDecision:
    """Return the decision with PodGroupPostFilter's status, which untried pods don't mention.

    Mirrors ``applyPodGroupPostFilterResult``.
    """
    said = found.status
    if said.code is Code.ERROR:
        tried = decision.tried[decision.taken].members if decision.taken >= 0 else ()
        members = settled(said, tried, [member.pod for member in decision.members])
        return replace(decision, status=said, members=members, preemption=found)
    status = replace(decision.status, reasons=(*decision.status.reasons, said.message))
    given_up = status if said.ok else rejected_group(status.message)
    taken = decision.tried[decision.taken].members if decision.taken >= 0 else ()
    fitted = {member.pod.metadata.uid for member in taken if member.status.ok}
    members = tuple(
        replace(member, status=given_up, message=given_up.message, nominated=None if said.ok else "")
        if member.pod.metadata.uid in fitted
        else member
        for member in decision.members
    )
    return replace(decision, status=status, members=members, preemption=found)


def _settled(status: Status, member: GroupMember) -> GroupMember:
    if status.ok or (member.status.code is not Code.SUCCESS and status.code is not Code.ERROR):
        return member
    if status.code is Code.ERROR:
        return replace(member, status=status, message=status.message, nominated=_left(member))
    given_up = rejected_group(status.message)
    return replace(member, status=given_up, message=given_up.message, nominated=_left(member))


def _left(member: GroupMember) -> str | None:
    """Return what becomes of the nomination of a pod that loses the node that it got."""
    return "" if member.node_name else member.nominated


def member_of(pod: Pod, choice: Choice) -> GroupMember:
    """Return what a decision has for a pod of a group."""
    status = SUCCESS if choice.node_name is not None else choice.status
    return GroupMember(pod, choice, status, choice.message)


def without_node(member: GroupMember, why_not: Status) -> GroupMember:
    """Return what becomes of a pod for which nothing could be reserved on its node."""
    choice = None if member.choice is None else structs.replace(member.choice, node_name=None, row=-1)
    reasons = ", ".join(f"1 {reason}" for reason in sorted(why_not.reasons))
    return GroupMember(member.pod, choice, why_not, f"0/1 nodes are available: {reasons}.")
