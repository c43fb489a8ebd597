"""What is remembered of a decision: a record, or a part of the record that a whole batch has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum, auto

import msgspec
from msgspec.structs import replace

from mooring.framework import Code, Pod

Owner = tuple[str, str]
"""The kind and the name of a pod's controller; both "" without one."""

NOBODY: Owner = ("", "")


class DecisionKind(IntEnum):
    """What was to be decided; the numbers are those of the contract."""

    SCHEDULE = auto()
    DRY_RUN = auto()
    FILTER = auto()
    SCORE = auto()
    PREEMPT = auto()
    BIND = auto()

    @property
    def selects(self) -> bool:
        """Whether a node is selected among others."""
        return self in (DecisionKind.SCHEDULE, DecisionKind.DRY_RUN)


class DecisionResult(IntEnum):
    """How it ended; the numbers are those of the contract."""

    SCHEDULED = auto()
    UNSCHEDULABLE = auto()
    ERROR = auto()
    FAILED = auto()


Placed = Sequence[tuple[Pod, str]]
"""Pods, and the node that each was placed on."""


class NodeRejections(msgspec.Struct, frozen=True, gc=False):
    """How many nodes a plugin rejected for one reason; 0 where no node was looked at."""

    plugin: str
    reason: str
    count: int


class Why(msgspec.Struct, frozen=True, gc=False):
    """Why there is no node.

    Attributes:
        code: The verdict on the pod.
        plugin: The plugin that rejected the pod as a whole, "" where the nodes were rejected.
        reasons: Every reason, once.
        message: The sentence of the Event.
        plugins: The plugins that rejected something, in the profile's order.
        dominant: The reason that rejects the most nodes; None when nothing was rejected.
    """

    code: Code
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    message: str = ""
    plugins: tuple[str, ...] = ()
    dominant: NodeRejections | None = None


class Circumstances(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What all decisions of one call or attempt have in common.

    Attributes:
        time: When it was made, in seconds since the epoch.
        kind: What was to be decided.
        profile: The name of the profile.
        configuration: The hash of the configuration in force.
        seed: Decides between nodes of equal totals.
        start: Where the search began that ends before all nodes are evaluated.
        repeatable: All nodes of the live state were in question, and nothing else but the state counted.
        trace_id: The trace that it belongs to, "" = none.
    """

    time: float
    kind: DecisionKind
    profile: str
    configuration: str
    seed: int = 0
    start: int = 0
    repeatable: bool = True
    trace_id: str = ""


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One decision.

    Attributes:
        about: When, with what, and what for.
        namespace: The pod's.
        name: The pod's.
        uid: The pod's.
        owner: Its controller.
        state_version: The version of the state that was evaluated.
        node_epoch: The epoch of its nodes.
        result: How it ended.
        node: The selected node, "" without one.
        nominated: The node that is being made free for the pod, "" without one.
        total: The selected node's total.
        runner_up: The node with the next lower total, "" where it isn't known.
        runner_up_total: That total.
        ties: How many nodes had the highest total.
        evaluated: How many nodes Filter evaluated.
        feasible: How many of them can take the pod.
        why: Why there is no node; None when there is one.
        attempt: Which attempt of the pod it was, 0 without a queue.
        queue_wait: For how many seconds the pod was ready to be tried.
        duration: How many seconds deciding took.
        earlier: How many pods of the same dry run had been placed before.
        placed: The pods that this dry run placed one by one, of which those come first; none where they are
            the first of the decision's batch.
    """

    about: Circumstances
    namespace: str
    name: str
    uid: str
    owner: Owner = NOBODY
    state_version: int = 0
    node_epoch: int = 0
    result: DecisionResult
    node: str = ""
    nominated: str = ""
    total: int = 0
    runner_up: str = ""
    runner_up_total: int = 0
    ties: int = 0
    evaluated: int = 0
    feasible: int = 0
    why: Why | None = None
    attempt: int = 0
    queue_wait: float = 0.0
    duration: float = 0.0
    earlier: int = 0
    placed: Placed = ()


class BatchRecord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Decisions of one call that all found a node; it shares the lists of the call. One entry per pod.

    Attributes:
        about: By template, as in ``Record``.
        templates: The pods that the others are copies of.
        indices: The template of each pod.
        names: The names.
        uids: The UIDs.
        nodes: The selected nodes.
        totals: Their totals.
        ties: As in ``Record``, like those that follow.
        evaluated: As there.
        feasible: As there.
        versions: The version of the state of each, or one for all of a dry run.
        node_epoch: As there.
        duration: Of each.
        earlier: How many pods of the same dry run had been placed before the first.
        placed: As in ``Record``.
    """

    about: Sequence[Circumstances]
    templates: Sequence[Pod]
    indices: Sequence[int]
    names: Sequence[str]
    uids: Sequence[str]
    nodes: Sequence[str]
    totals: Sequence[int]
    ties: Sequence[int]
    evaluated: Sequence[int]
    feasible: Sequence[int]
    versions: Sequence[int]
    node_epoch: int
    duration: float
    earlier: int = 0
    placed: Placed = ()

    def __len__(self) -> int:
        """How many decisions there are."""
        return len(self.nodes)

    def record(self, at: int) -> Record:
        """Return one of them."""
        index, dry = self.indices[at], len(self.versions) == 1
        template = self.templates[index]
        return Record(
            about=self.about[index],
            namespace=template.metadata.namespace,
            name=self.names[at],
            uid=self.uids[at],
            owner=owner_of(template),
            state_version=self.versions[0 if dry else at],
            node_epoch=self.node_epoch,
            result=DecisionResult.SCHEDULED,
            node=self.nodes[at],
            total=self.totals[at],
            ties=self.ties[at],
            evaluated=self.evaluated[at],
            feasible=self.feasible[at],
            duration=self.duration,
            earlier=self.earlier + at if dry else 0,
            placed=self.placed,
        )

    def pod(self, at: int) -> Pod:
        """Return the pod of one of them."""
        template = self.templates[self.indices[at]]
        metadata = replace(template.metadata, name=self.names[at], uid=self.uids[at])
        return replace(template, metadata=metadata)

    def records(self) -> Iterator[Record]:
        """Yield each of them."""
        return map(self.record, range(len(self)))


def owner_of(pod: Pod) -> Owner:
    """Return the pod's controller."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner.kind, owner.name
    return NOBODY
