"""Rules by which pods hold units that a node has, such as addresses or licences.

The amount follows from the pod, so the pods on a node are the ledger: there is nothing to lose at a
restart, to leak, or to give back.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mooring.framework.args import FieldError
from mooring.framework.batch import CountingPlugin, FilterCounts, Move, ScoreCounts
from mooring.framework.cacheable import Dependencies, Part
from mooring.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    HintedEvent,
    QueueingHint,
)
from mooring.framework.cycle_state import CycleState
from mooring.framework.handle import Handle
from mooring.framework.interface import ArgsT, FilterPlugin, PreScorePlugin, ReservePlugin, ScorePlugin
from mooring.framework.names import is_qualified_name
from mooring.framework.node_info import NodeInfo
from mooring.framework.normalize import Normalizer
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_table import UNPLACED, PodKind
from mooring.framework.quantity import NANO, parse_quantity
from mooring.framework.remembering import ByIdentity
from mooring.framework.status import SUCCESS, Status
from mooring.framework.verdicts import Verdicts
from mooring.framework.view import NodeView
from mooring.kernels.arrays import REJECTED, Int32s, Int64s

_WHOLE = re.compile(r"[0-9]{1,9}")

MAX_REMEMBERED = 1 << 14
"""The number of nodes, and of kinds of pods, whose units are remembered."""

_NEVER = -(1 << 62)
"""Units left on a row without a node, or with one that is out of scope."""

_CHANGES_OF_NODES = (
    ActionType.ADD
    | ActionType.UPDATE_NODE_LABEL
    | ActionType.UPDATE_NODE_ANNOTATION
    | ActionType.UPDATE_NODE_ALLOCATABLE
)


@dataclass(frozen=True, slots=True)
class NodeAmount:
    """The place where a node declares a number of its own: at most one of the three. For arguments.

    Attributes:
        label: A label's key; its value is the number.
        annotation: An annotation's key, likewise.
        resource: A resource in ``status.allocatable``; its amount is the number.
    """

    label: str = ""
    annotation: str = ""
    resource: str = ""

    def of(self, node: Node) -> int | None:
        """Return the number, 0 or more; None if the node declares none."""
        if self.resource:
            amount = node.status.allocatable.get(self.resource)
            return None if amount is None else max(parse_quantity(amount) // NANO, 0)
        key = self.label or self.annotation
        if not key:
            return None
        text = (node.metadata.labels if self.label else node.metadata.annotations).get(key, "")
        return int(text) if _WHOLE.fullmatch(text) else None

    def faults(self, path: str) -> Iterator[FieldError]:
        """Yield the faults of the argument at ``path``."""
        given = {"label": self.label, "annotation": self.annotation, "resource": self.resource}
        if sum(map(bool, given.values())) > 1:
            yield FieldError(path, "must have at most one of label, annotation and resource")
        for name, key in given.items():
            if key and not is_qualified_name(key):
                message = f"{key!r} is not a qualified name, such as example.com/units"
                yield FieldError(f"{path}.{name}", message)


@dataclass(frozen=True, slots=True)
class UnitsLeft(FilterCounts, ScoreCounts):
    """The units that nodes have left for a pod.

    Attributes:
        left: int64[capacity], by row; below 0 if the pods there hold more than there are.
        wanted: The pod's own amount.
        codes: int32[capacity], by row, which of ``statuses`` rejects the node whatever is left; 0 = none.
        statuses: Success, the rejection of a full node, and those of nodes out of scope.
        index: The row of each node's name.
        amount: Gives the units that a pod holds.
        amount_of_kind: The same for all pods of a kind.
        normalizer: Brings the units left to 0..100.
    """

    left: Int64s
    wanted: int
    codes: Int32s
    statuses: tuple[Status, ...]
    index: Mapping[str, int]
    amount: Callable[[Pod], int]
    amount_of_kind: Callable[[PodKind], int]
    normalizer: Normalizer

    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        amount = self.amount_of_kind(kind)
        return ((self._take, amount),) if amount else ()

    def clone(self) -> UnitsLeft:
        """Return a copy that is updated by itself."""
        return replace(self, left=self.left.copy())

    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        self._take(self.index[node.name], amount * self.amount(other))

    def verdicts(self, nodes: NodeView) -> Verdicts:
        """Return the verdicts on ``nodes``."""
        full = nodes.take(self.left, live=True) < self.wanted
        codes = nodes.take(self.codes)
        codes[full & (codes == 0)] = 1
        return Verdicts(codes, self.statuses)

    def scores(self, nodes: NodeView) -> Int64s:
        """int64[K]: the raw scores of ``nodes``."""
        return np.maximum(nodes.take(self.left, live=True), 0)

    def reject_in(self, totals: Int32s) -> None:
        totals[self.left < self.wanted] = REJECTED

    def add_to(self, totals: Int32s, weight: int) -> None:
        rows = np.flatnonzero(totals != REJECTED)
        scores = self.normalizer.apply(np.maximum(self.left[rows], 0))
        totals[rows] += (weight * scores).astype(np.int32)

    def _take(self, row: int, amount: int) -> None:
        self.left[row] -= amount


class Ledger(
    CountingPlugin[ArgsT],
    FilterPlugin[ArgsT],
    PreScorePlugin[ArgsT],
    ScorePlugin[ArgsT],
    ReservePlugin[ArgsT],
):
    """Passes only nodes that have enough units left for the pod; as a score, the units left.

    A pod holds its units from the moment it is assumed on a node until it is finished or gone. A pod that
    holds none is left to the other plugins. A rule says how many a pod holds and a node has:

        class Licences(Ledger[None]):
            name = "Licences"
            full = "node(s) had no licence left"

            def amount(self, pod): return int("example.com/licensed" in pod.metadata.labels)
            def capacity(self, node): return 2

    Reserve keeps nothing, since an assumed pod counts already. It is a point of the rule so that an extender
    that asks a profile with it has to let mooring bind: without that kube-scheduler promises a unit twice.

    Attributes:
        full: The reason for rejecting a node that has too few units left; preemption may help there.
        normalizer: ``BY_MAX`` prefers the node with the most units left; ``BY_MAX_REVERSED`` fills up nodes.
    """

    full: ClassVar[str]
    normalizer: ClassVar[Normalizer] = Normalizer.BY_MAX

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        super().__init__(args, handle)
        self._capacities: ByIdentity[Node, int | Status] = ByIdentity(self.capacity, MAX_REMEMBERED)
        self._amounts: ByIdentity[PodKind, int] = ByIdentity(
            lambda kind: self.amount(kind.template), MAX_REMEMBERED
        )

    @abstractmethod
    def amount(self, pod: Pod) -> int:
        """Return the units that ``pod`` holds while it is on a node, 0 or more.

        It follows from the pod alone, without its name, UID, node and times, and from the arguments.
        """

    @abstractmethod
    def capacity(self, node: Node) -> int | Status:
        """Return the units that ``node`` has, 0 or more; or the rejection of a node that is out of scope.

        It follows from the node alone, without its images, and from the arguments.
        """

    def dependencies(self, pod: Pod) -> Dependencies:
        amount = self.amount(pod)
        parts = Part.NODES_BUT_IMAGES | Part.PODS if amount else Part.NONE
        return Dependencies(signature=amount, parts=parts, rejects=amount > 0, written_is_read=False)

    def reserves_for(self, pod: Pod) -> bool:
        return False

    def events_to_register(self) -> Sequence[HintedEvent]:
        pods = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE | ActionType.UPDATE)
        nodes = ClusterEvent(EventResource.NODE, _CHANGES_OF_NODES)
        return HintedEvent(pods, self._after_pod), HintedEvent(nodes, self._after_node)

    def counts_in(self, state: CycleState) -> tuple[UnitsLeft | None, UnitsLeft | None]:
        return state.get((self.name, "filter"), UnitsLeft), state.get((self.name, "score"), UnitsLeft)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        wanted = self.amount(pod)
        if not wanted:
            return Status.skip()
        if self.counts_in(state)[0] is None:
            state.write((self.name, "filter"), self._count(nodes, wanted))
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        return state.read((self.name, "filter"), UnitsLeft).verdicts(nodes)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        wanted = self.amount(pod)
        if not wanted:
            return Status.skip()
        filtering, scoring = self.counts_in(state)
        if scoring is None:
            counts = self._count(nodes, wanted) if filtering is None else filtering.clone()
            state.write((self.name, "score"), counts)
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return state.read((self.name, "score"), UnitsLeft).scores(nodes)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Keep nothing: being assumed on the node, the pod counts there."""
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Do nothing: once the pod isn't assumed, it doesn't count."""

    def _count(self, nodes: NodeView, wanted: int) -> UnitsLeft:
        """Return the units left on ``nodes``, in one pass over all pods."""
        table, capacity = nodes.table, nodes.table.capacity
        left, codes = np.full(capacity, _NEVER, np.int64), np.zeros(capacity, np.int32)
        statuses = {SUCCESS: 0, Status.unschedulable(self.full): 1}
        for row in nodes.rows.tolist():
            node = table.nodes[row]
            has = 0 if node is None else self._capacities(node)
            if isinstance(has, Status):
                codes[row] = statuses.setdefault(has, len(statuses))
            else:
                left[row] = has
        records = tuple(nodes.snapshot.pods.records.values())
        # There are few kinds among many pods.
        kinds = {id(record.kind): record.kind for record in records}
        amounts = {number: self._amounts(kind) for number, kind in kinds.items()}
        for record in records:
            if (amount := amounts[id(record.kind)]) and UNPLACED < record.row < capacity:
                left[record.row] -= amount
        said, index = tuple(statuses), table.index
        return UnitsLeft(left, wanted, codes, said, index, self.amount, self._amounts, self.normalizer)

    def _after_pod(self, pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
        """Queue when a pod on a node gives units back."""
        return QueueingHint.when(self._held(old) > self._held(new))

    def _held(self, pod: Pod | None) -> int:
        return 0 if pod is None or pod.finished else self.amount(pod)

    def _after_node(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        """Queue when a node has units that it had not."""
        return QueueingHint.when(self._units(new) > self._units(old))

    def _units(self, node: Node | None) -> int:
        has = 0 if node is None else self.capacity(node)
        return 0 if isinstance(has, Status) else has
