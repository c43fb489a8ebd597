"""The answers of plugins that read one node at a time, kept by row until the row changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from mooring.framework import Bools, Int32s
from mooring.framework.pod_counter import CountsByRow, RunningCounts
from mooring.framework.row_versions import RowBasis
from mooring.kernels.arrays import REJECTED
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.filter import passed
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.cycle.score import Scaled, run_score, weigh


class RowAnswers:
    """The answers about the pod of one evaluation. For one thread at a time.

    They are true as long as no object that is neither a pod nor a node changes.

    Args:
        evaluation: The pod, and these plugins as the profile; their points before Filter and Score ran.
        skipped: The plugins whose PreScore skipped the pod.
        counters: The counts that they read; others keep these up to date.
    """

    def __init__(
        self, evaluation: Evaluation, skipped: Collection[str], counters: Sequence[RunningCounts]
    ) -> None:
        profile, capacity = evaluation.profile, evaluation.snapshot.nodes.capacity
        self._evaluation = evaluation
        self._nodes = evaluation.view(evaluation.rows)
        self._skipped = set(skipped)
        self._filters = [each for each in profile.filter if each.name not in evaluation.written.skipped]
        scoring = [each for each in profile.score if each.name not in skipped]
        self._scaled = {
            each.name: Scaled(each.weight, each.plugin.normalizer, np.zeros(capacity, np.int64))
            for each in scoring
            if each.plugin.normalizer is not None
        }
        self._scores_nodes = bool(scoring)
        self._rejected: Bools = np.zeros(capacity, np.bool_)
        self._scores: Int32s = np.zeros(capacity, np.int32)
        self._counters = counters
        self._filtered = RowBasis(capacity, len(counters))
        self._scored = RowBasis(capacity, len(counters))

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        columns = self._rejected, self._scores, *(scaled.raw for scaled in self._scaled.values())
        return self._filtered.nbytes + self._scored.nbytes + sum(column.nbytes for column in columns)

    def reject_in(self, totals: Int32s, calls: PluginCalls) -> None:
        """Write ``REJECTED`` into ``totals`` (int32[capacity]) where Filter rejects a row."""
        if self._filters:
            self._ask(self._filter, self._filtered, totals, calls)
            totals[self._rejected] = REJECTED

    def add_to(self, totals: Int32s, calls: PluginCalls) -> None:
        """Add the weighted scores to ``totals`` (int32[capacity]), except where they are ``REJECTED``."""
        if self._scores_nodes:
            self._ask(self._score, self._scored, totals, calls)
            feasible = totals != REJECTED
            np.add(totals, self._scores, out=totals, where=feasible)
            if self._scaled:
                rows = np.flatnonzero(feasible).astype(np.int32)
                for scaled in self._scaled.values():
                    totals[rows] += scaled.scores(rows)

    def _ask(
        self, ask: Callable[[Int32s, PluginCalls], None], basis: RowBasis, totals: Int32s, calls: PluginCalls
    ) -> None:
        """Ask about the rows that are not ``REJECTED`` and changed since their answer."""
        nodes, table = self._nodes, self._nodes.table
        counts = [each.by_row() for each in self._counters]
        rows = nodes.rows[basis.stale(nodes, nodes.take(table.row_version, live=True), counts)]
        rows = rows[totals[rows] != REJECTED]
        if not len(rows):
            return
        versions = table.row_version[rows]
        if counts:
            by_counter = dict(zip([each.counter for each in self._counters], counts, strict=True))
            self._evaluation.state.write(CountsByRow, CountsByRow(by_counter))
        ask(rows, calls)
        same = table.unchanged(rows, versions)
        basis.put(rows[same], versions[same], counts)

    def _filter(self, rows: Int32s, calls: PluginCalls) -> None:
        self._rejected[rows] = ~passed(self._evaluation, self._evaluation.view(rows), calls)

    def _score(self, rows: Int32s, calls: PluginCalls) -> None:
        evaluation = self._evaluation
        raw = run_score(evaluation, evaluation.view(rows), self._skipped, calls)
        for name, scaled in self._scaled.items():
            scaled.raw[rows] = raw.pop(name)
        self._scores[rows] = weigh(evaluation, raw, len(rows), calls).totals
