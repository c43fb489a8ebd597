"""Answers for many nodes or many pods in one call, which a plugin may give besides its extension points.

Such an answer is the same as that of the points. So a plugin that gives none is only called more often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework.cacheable import CacheablePlugin
from mooring.framework.cycle_state import CycleState
from mooring.framework.interface import ArgsT, PreFilterPlugin
from mooring.framework.new_node_rules import Rule
from mooring.framework.node_info import NodeInfo
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Pod
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodChange, PodKind
from mooring.framework.status import SUCCESS, Status
from mooring.framework.view import NodeView
from mooring.kernels.arrays import REJECTED, Bools, Int32s, Int64s

BatchScorer = Callable[[NodeView, int, Int32s], None]
"""Adds the score of each node for one pod, 0..100 times the weight, to the totals (int32[K]).

A node that is rejected gets ``REJECTED``, and one that has it keeps it.
"""

Move = Callable[[int, int], None]
"""``(row, amount)``: counts ``amount`` on a row."""


def add_scores(scores: Int64s, rejected: Bools, weight: int, totals: Int32s) -> None:
    """Do what a ``BatchScorer`` does with ``scores`` (int64[K]), and the ``rejected`` nodes (bool[K])."""
    rejected |= totals == REJECTED
    totals += (scores * weight).astype(np.int32)
    totals[rejected] = REJECTED


@dataclass(frozen=True, slots=True)
class PodCounts(ABC):
    """Counts in the CycleState that are updated while pods come and go."""

    def update(self, changes: Sequence[PodChange]) -> None:
        """Count the pods that came, and stop counting those that left."""
        # Most pods add nothing, and there are few kinds among many changes: each is evaluated once.
        adding: dict[int, Sequence[tuple[Move, int]]] = {}
        for row, record, amount in changes:
            kind = record.kind
            adds = adding.get(id(kind))
            if adds is None:
                adds = adding[id(kind)] = self.adds(kind)
            for move, each in adds:
                move(row, each * amount)

    @abstractmethod
    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        """Return what one pod of ``kind`` adds: to which counts, and how much."""

    @abstractmethod
    def clone(self) -> PodCounts:
        """Return a copy that is updated by itself, for a cycle of its own."""


@dataclass(frozen=True, slots=True)
class ScoreCounts(PodCounts):
    """Counts by which nodes are scored."""

    @abstractmethod
    def add_to(self, totals: Int32s, weight: int) -> None:
        """Add ``weight`` times the normalised score to the ``totals`` (int32[N], by row) of the feasible
        nodes, at least one; the others have ``REJECTED``.
        """


@dataclass(frozen=True, slots=True)
class FilterCounts(PodCounts):
    """Counts by which nodes are filtered, and which a what-if evaluation may change too."""

    @abstractmethod
    def reject_in(self, totals: Int32s) -> None:
        """Set the ``totals`` (int32[N], by row) of the nodes that Filter rejects to ``REJECTED``."""

    @abstractmethod
    def add(self, other: Pod, node: NodeInfo, amount: int) -> None:
        """``amount`` pods like ``other`` came to ``node``."""


class BatchPlugin:
    """A plugin that answers for many nodes or pods in one call. Override what it can answer.

    Only the engine and the plugins in the tree use it, and it may change with any release. Reserve of such a
    plugin writes to the state and nowhere else, and its PreBindPreFlight does not take long.
    """

    def rejected_rows(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int32s | None:
        """int32[R]: the rows of ``nodes`` that the points up to Filter reject.

        None, the default, if they have to be called: they reject the pod, fail or give scores. Otherwise
        ``state``, which all plugins share, has what points after the selection read.
        """
        return None

    def scorer(self, pod: Pod) -> BatchScorer | None:
        """Return what rejects and scores nodes for ``pod`` as the points do; None, the default, if none does.

        Called only if ``parts`` for ``pod`` are resources, or resources and objects.
        """
        return None

    def usage_scorer(self, usage: PodUsage) -> BatchScorer | None:
        """Return ``scorer`` for any pod that takes ``usage``, by whatever rules it is counted.

        None, the default, for every usage or for none; then ``scorer`` returns None, too.
        """
        return None

    def count_room(self, pod: Pod, nodes: NodeView) -> Int64s | None:
        """int64[K]: how many more pods like ``pod`` each of ``nodes``, which takes one, would take.

        None, the default, if more than the room of a node decides that.
        """
        return None

    def counts_in(self, state: CycleState) -> tuple[FilterCounts | None, ScoreCounts | None] | None:
        """Return the counts that PreFilter and PreScore wrote, each None if that skipped the pod.

        None, the default, if Filter or Score goes by anything but counts of pods.
        """
        return None

    def new_node_rules(self, pod: Pod, nodes: NodeView, kinds: Sequence[PodKind]) -> Sequence[Rule] | None:
        """Return what decides whether ``pod`` may go to a new node.

        None, the default, if that is more than rules; the ``parts`` for ``pod`` say whether it is.

        Args:
            pod: The pod.
            nodes: One new node of each group, without pods; they aren't nodes of the cluster.
            kinds: The pods that come to the new nodes, this pod among them, and to no others.
        """
        return None

    def affected_by_removal(self, pod: Pod, nodes: NodeTable, row: int) -> bool:
        """Return whether answers for ``pod`` about other nodes may change when the node of ``row`` goes.

        Pods with terms about others are not on it. True is the default.
        """
        return True

    def reserves_for(self, pod: Pod) -> bool:
        """Return whether ``reserve``, or ``pre_bind``, may have anything to do for ``pod``, on any node and
        whatever else comes into the cluster.

        The same for pods that differ in name, UID and labels alone. True is the default. If False, neither is
        called for the pod, and pods of a batch are decided and reserved in one step.
        """
        return True

    def reserves_now(self, pod: Pod) -> bool:
        """Return whether ``reserve`` has anything to do for ``pod`` as the cluster is."""
        return self.reserves_for(pod)


class CountingPlugin(PreFilterPlugin[ArgsT], CacheablePlugin, BatchPlugin):
    """Base of plugins that count pods in the CycleState.

    These counts say in one step of all rows what Filter and Score say. They are for answers that each
    decision changes: once PreFilter and PreScore ran, pods that come and go change the counts alone, and
    neither point rejects the pod.
    """

    @abstractmethod
    def counts_in(self, state: CycleState) -> tuple[FilterCounts | None, ScoreCounts | None]:
        """Return the counts that PreFilter and PreScore wrote, each None if that skipped the pod."""

    def update(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        for counts in self.counts_in(state):
            if counts is not None:
                counts.update(changes)
        return True

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count ``other`` on ``node``."""
        return self._add(state, other, node, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Count ``other`` on ``node`` no longer."""
        return self._add(state, other, node, -1)

    def _add(self, state: CycleState, other: Pod, node: NodeInfo, amount: int) -> Status:
        counts = self.counts_in(state)[0]
        if counts is not None:
            counts.add(other, node, amount)
        return SUCCESS


_NO_BATCH = BatchPlugin()


def as_batch(plugin: object) -> BatchPlugin:
    """Return ``plugin``; for one that only has its points, a plugin that answers nothing in one call."""
    return plugin if isinstance(plugin, BatchPlugin) else _NO_BATCH


def is_batch(plugin: object) -> bool:
    """Return whether ``plugin`` promises what every ``BatchPlugin`` does."""
    return as_batch(plugin) is plugin


class KeyedSort(ABC):
    """A QueueSort plugin that orders pods by a key, so that they need not be compared again and again."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued: float) -> tuple[int, float]:
        """Return the key of ``pod``, queued then; ``less`` holds where the first has a lower one."""
