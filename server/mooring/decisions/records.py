"""The record of a decision, alone or as a part of its batch's record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum, auto

import msgspec
from msgspec.structs import replace

from mooring.framework import Code, Pod, PodGroupInfo, ReasonCode
from mooring.framework.reason_codes import code_of
from mooring.runtime.profiles.profile import Profile

Owner = tuple[str, str]
"""The kind and the name of a pod's controller; both "" without one."""

NOBODY: Owner = ("", "")


class DecisionKind(IntEnum):
    """The kind of decision; the numbers are those of the contract."""

    SCHEDULE = auto()
    DRY_RUN = auto()
    FILTER = auto()
    SCORE = auto()
    PREEMPT = auto()
    BIND = auto()
    OBSERVE = auto()

    @property
    def dry(self) -> bool:
        """Whether nothing is to be placed."""
        return self in (DecisionKind.DRY_RUN, DecisionKind.OBSERVE)

    @property
    def selects(self) -> bool:
        """Whether a node is selected among others."""
        return self is DecisionKind.SCHEDULE or self.dry


class DecisionResult(IntEnum):
    """How it ended; the numbers are those of the contract."""

    SCHEDULED = auto()
    UNSCHEDULABLE = auto()
    ERROR = auto()
    FAILED = auto()


Placed = Sequence[tuple[Pod, str]]
"""Pods, and the node that each was placed on."""


class NodeRejections(msgspec.Struct, frozen=True, gc=False):
    """The number of nodes that a plugin rejected for one reason; 0 if no node was evaluated."""

    plugin: str
    reason: str
    count: int

    @property
    def code(self) -> ReasonCode | None:
        """The cause; None if the words are a plugin's own."""
        found = code_of(self.plugin, self.reason)
        return found and found[0]

    @property
    def cause(self) -> ReasonCode | str:
        """The code, or the words without one: reasons with the same cause are one group."""
        return self.code or self.reason


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


class Details(msgspec.Struct, gc=False, eq=False):
    """Details that few decisions have.

    Attributes:
        result: How it ended, if not with a node.
        why: Why there is no node; None when there is one.
        nominated: The node that is being made free for the pod, "" without one.
        victims: The pods that it preempts there, as ``namespace/name``.
        budgets: The disruption budgets that this violates, as ``namespace/name``.
        runner_up: The node with the next lower total, "" where it isn't known.
        runner_up_total: That total.
        repeatable: All nodes of the live state were candidates, and only the state determined the answer.
        start: The first row of a search that ends before all nodes are evaluated.
        attempt: Which attempt of the pod it was, 0 without a queue.
        queue_wait: For how many seconds the pod was ready to be tried.
        woken: The event that woke the pod for the attempt, and when; "" = none is known.
        gated: The PreEnqueue plugin that last held the pod back before, and since when; "" = none.
        earlier: How many pods of the same dry run had been placed before.
        placed: The pods that this dry run placed one by one, the ``earlier`` ones first; none if they are
            the first of the decision's batch.
        group: The group with which the pod was tried; None = it was tried alone.
        trace_id: The trace that it belongs to, "" = none.
        answers: The new answers of hosts of plugins, see ``AnswerNotes``.
    """

    result: DecisionResult = DecisionResult.SCHEDULED
    why: Why | None = None
    nominated: str = ""
    victims: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    runner_up: str = ""
    runner_up_total: int = 0
    repeatable: bool = True
    start: int = 0
    attempt: int = 0
    queue_wait: float = 0.0
    woken: tuple[str, float] = ("", 0.0)
    gated: tuple[str, float] = ("", 0.0)
    earlier: int = 0
    placed: Placed = ()
    group: PodGroupInfo | None = None
    trace_id: str = ""
    answers: Mapping[int, int] = {}


_USUAL = Details()


class Record(msgspec.Struct, gc=False, eq=False):
    """One decision. Its maker may write to it until it is noted.

    One is made for each decision and read seldom, so it is small, and made by position.

    Attributes:
        time: When it was made, in seconds since the epoch.
        began: When deciding began, by the same clock.
        pod: The pod, or one that differs from it in name and UID alone.
        profile_key: The hash of the configuration in force and the profile's name, as in ``Profile``.
        state_version: The version of the state that was evaluated.
        node: The selected node, "" without one.
        ties: How many nodes had the highest total.
        evaluated: How many nodes Filter evaluated.
        feasible: How many of them can take the pod.
        written: The details that were written to; None = none were.
    """

    time: float
    began: float
    kind: DecisionKind
    seed: int
    pod: Pod
    profile_key: str
    name: str
    uid: str
    node_epoch: int = 0
    state_version: int = 0
    node: str = ""
    total: int = 0
    ties: int = 0
    evaluated: int = 0
    feasible: int = 0
    written: Details | None = None

    @property
    def configuration(self) -> str:
        """The hash of the configuration in force."""
        return self.profile_key.partition("/")[0]

    @property
    def profile(self) -> str:
        """The name of the profile."""
        return self.profile_key.partition("/")[2]

    @property
    def duration(self) -> float:
        """How many seconds deciding took."""
        return max(0.0, self.time - self.began)

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.pod.metadata.namespace

    @property
    def owner(self) -> Owner:
        """The pod's controller."""
        owner = self.pod.metadata.controller
        return NOBODY if owner is None else (owner.kind, owner.name)

    @property
    def details(self) -> Details:
        """The details, for readers."""
        return self.written or _USUAL

    @property
    def result(self) -> DecisionResult:
        """How it ended."""
        return self.details.result

    @property
    def why(self) -> Why | None:
        """The reason for no node; None when there is one."""
        return self.details.why

    def own_details(self) -> Details:
        """Return the details, for its maker to write to."""
        if self.written is None:
            self.written = Details()
        return self.written

    def undecided(self) -> Record:
        """Return a record of the same question, to which nothing was decided yet."""
        return Record(
            self.time,
            self.began,
            self.kind,
            self.seed,
            self.pod,
            self.profile_key,
            self.name,
            self.uid,
            self.node_epoch,
            self.state_version,
        )

    def subject(self) -> Pod:
        """Return the pod, under its own name."""
        return renamed(self.pod, self.name, self.uid)


class BatchRecord(msgspec.Struct, gc=False, eq=False):
    """Decisions of one call that all found a node; it shares the lists of the call. One entry per pod.

    Fields that are not listed mean the same as in ``Record`` and ``Details``.

    Attributes:
        began: When deciding about the first began.
        templates: The pods that the others are copies of, and their profiles.
        versions: The version of the state of each; of a dry run one for all.
        repeatable: See ``Details``; False if the pod's profile lets the search end early.
        earlier: How many pods of the same dry run had been placed before the first.
        answers: Those of the whole call.
    """

    time: float
    began: float
    kind: DecisionKind
    seed: int
    templates: Sequence[tuple[Pod, Profile]]
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
    repeatable: bool = True
    earlier: int = 0
    placed: Placed = ()
    trace_id: str = ""
    answers: Mapping[int, int] = {}

    def __len__(self) -> int:
        """How many decisions there are."""
        return len(self.nodes)

    def record(self, at: int) -> Record:
        """Return one of them."""
        pod, profile = self.templates[self.indices[at]]
        dry = self.kind.dry
        return Record(
            # Each took its part of the time.
            time=self.time,
            began=self.time - (self.time - self.began) / len(self),
            kind=self.kind,
            seed=self.seed,
            pod=pod,
            profile_key=profile.key,
            name=self.names[at],
            uid=self.uids[at],
            node_epoch=self.node_epoch,
            state_version=self.versions[0 if dry else at],
            node=self.nodes[at],
            total=self.totals[at],
            ties=self.ties[at],
            evaluated=self.evaluated[at],
            feasible=self.feasible[at],
            written=Details(
                repeatable=self.repeatable and (dry or not profile.samples),
                earlier=self.earlier + at if dry else 0,
                placed=self.placed,
                trace_id=self.trace_id,
                answers={} if at else self.answers,
            ),
        )

    def pod(self, at: int) -> Pod:
        """Return the pod of one of them."""
        return renamed(self.templates[self.indices[at]][0], self.names[at], self.uids[at])

    def records(self) -> Iterator[Record]:
        """Yield each of them."""
        return map(self.record, range(len(self)))


def renamed(pod: Pod, name: str, uid: str) -> Pod:
    """Return ``pod`` with this name and UID."""
    metadata = pod.metadata
    if (metadata.name, metadata.uid) == (name, uid):
        return pod
    return replace(pod, metadata=replace(metadata, name=name, uid=uid))
