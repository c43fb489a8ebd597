"""The half of an evaluation that depends on what nodes offer and have given away, and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooring.framework import ClusterState, Int32s, Part, Plugin, Pod, Scope, ScorePlugin
from mooring.runtime.evaluation import begin
from mooring.runtime.filtering import run_filters
from mooring.runtime.kept.movements import Movements
from mooring.runtime.kept.ranking import OUT
from mooring.runtime.kept.standing import acts_later, normalizes_itself
from mooring.runtime.pre_filtering import run_pre_filter
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls
from mooring.runtime.scoring import raw_scores, weigh

UNKNOWN = -2
"""The value of amounts that no plugin was asked about yet."""

_SPARE = 1 << 10
"""Room for so many more numbers at least, each time that more are needed."""

_WORTH_SORTING_OUT = 4
"""At first all rows are asked about, in one piece, unless there are so many times fewer amounts."""


def may_look_at_amounts_alone(plugin: Plugin[Any]) -> bool:
    """Whether ``looks_at_amounts_alone`` can be true of any pod."""
    if plugin.scope is not Scope.NODE or acts_later(plugin):
        return False
    if not isinstance(plugin, ScorePlugin):
        return True
    return plugin.normalizer is None and not normalizes_itself(plugin)


def looks_at_amounts_alone(plugin: Plugin[Any], pod: Pod) -> bool:
    """Whether nodes with the same amounts get the same answer from ``plugin``, whatever the others have.

    ``may_look_at_amounts_alone`` says yes to it.
    """
    return plugin.depends_on(pod, idle=False) == Part.AMOUNTS


class AmountValues:
    """What the plugins of ``profile`` say of each distinct amount, asked once.

    Attributes:
        values: int32[movements.count at least]: by number the weighted sum of the scores; ``OUT`` when nodes
            with these amounts are refused, ``UNKNOWN`` when nobody was asked.
    """

    def __init__(self, profile: Profile, cluster: ClusterState, pod: Pod, movements: Movements) -> None:
        self._profile = profile
        self._cluster = cluster
        self._pod = pod
        self._movements = movements
        self.values: Int32s = np.zeros(0, np.int32)

    def forget(self) -> None:
        """The numbers have a new meaning."""
        self.values = np.zeros(0, np.int32)

    def make_room(self) -> None:
        """Take in numbers that are new."""
        if self._movements.count > len(self.values):
            count = self._movements.count
            larger = np.full(count + max(count // 4, _SPARE), UNKNOWN, np.int32)
            larger[: len(self.values)] = self.values
            self.values = larger

    def learn(self, rows: Int32s, calls: PluginCalls) -> None:
        """Ask about the unknown amounts of ``rows`` (int32[K]); those that change meanwhile stay unknown."""
        version, numbers = self._movements.version, self._movements.numbers.take(rows)
        fresh = not len(self.values)
        self.make_room()
        if numbers.max(initial=0) >= len(self.values):
            return
        asked, unknown = rows, numbers
        if not fresh or self._movements.count * _WORTH_SORTING_OUT < len(rows):
            row_of = np.full(len(self.values), -1, np.int32)
            row_of[numbers] = rows
            row_of[self.values != UNKNOWN] = -1
            unknown = np.flatnonzero(row_of >= 0).astype(np.int32)
            asked = row_of[unknown]
        if not len(asked):
            return
        found = self._ask(asked, calls)
        with self._cluster.lock:
            changes = self._cluster.changes_since(version)
        if changes is None:
            return
        if changes:
            steady = ~np.isin(asked, [row for row, _, _ in changes])
            unknown, found = unknown[steady], found[steady]
        self.values[unknown] = found

    def learn_number(self, number: int, scratch: ClusterState, row: int, calls: PluginCalls) -> None:
        """Ask about the amounts with this number, which ``row`` of a scratch copy of the state has."""
        self.make_room()
        self.values[number] = self._ask(np.array([row], np.int32), calls, scratch)[0]

    def _ask(self, rows: Int32s, calls: PluginCalls, cluster: ClusterState | None = None) -> Int32s:
        """int32[K]: the values of the amounts of ``rows`` of the state, or of ``cluster``."""
        evaluation = begin(self._profile, cluster or self._cluster, self._pod, rows)
        values = np.full(len(rows), OUT, np.int32)
        if run_pre_filter(evaluation, calls) is None:
            return values
        run_filters(evaluation, np.arange(len(rows), dtype=np.int32), calls)
        fits = evaluation.codes == 0
        fitting = rows[fits]
        values[fits] = weigh(evaluation, raw_scores(evaluation, fitting, calls), len(fitting), calls).totals
        return values
