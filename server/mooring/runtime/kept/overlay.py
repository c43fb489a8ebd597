"""Decisions that each see the ones before while the state sees none: for what is only asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from mooring.framework import ClusterState, Int32s, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_table import PodKind
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import ChoiceColumns
from mooring.runtime.kept.amounts import UNKNOWN
from mooring.runtime.kept.consistency import held, only_rules_matter
from mooring.runtime.kept.keeper import Keeper
from mooring.runtime.kept.kept import Kept
from mooring.runtime.kept.movements import Movements
from mooring.runtime.kept.ranking import OUT, Ranking
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls, Progress
from mooring.runtime.tie_break import choose

MAX_ATTEMPTS = 8
"""So often an overlay is begun,"""

GUESSES = 4
"""of these so often with unknown amounts out of the lead, until they are asked about all at once."""

_CHECKED = 256
"""After so many pods it is looked whether somebody still waits for them."""


class BeginAgainError(Exception):
    """The state is another one than the overlay was put on, or more is known of it by now."""


class Branch:
    """The totals for pods of one template, on their way apart from the state.

    Args:
        pod: One of the pods.
        kept: What they begin with; the caller has let it follow the state and holds its lock.
        kind: What the pods count as.
        calls: Gives the way to call the plugins.
    """

    def __init__(self, pod: Pod, kept: Kept, kind: PodKind, calls: Callable[[], PluginCalls]) -> None:
        self.kind = kind
        self._pod = pod
        self._kept = kept
        self._basis = kept.basis
        self.standing = kept.standing
        self.ranking, base, self.feasible, self._amounts = kept.branch()
        self.unknown: list[int] = []
        self._behind = 0
        self._calls = calls
        self._base = base.data
        self._values = self._amounts.values.data

    def holds(self, cluster: ClusterState) -> bool:
        """Whether what it begins with is true for the state as it is. The caller holds the state's lock."""
        return self._kept.current(self._basis) and only_rules_matter(cluster, self._pod)

    def follow(self, moved: Sequence[int], overlay: Overlay) -> None:
        """Take in the rows that pods were placed on since the last time.

        Raises:
            NotKeptError: What is new can't be told apart from the state.
            BeginAgainError: The state has moved too far.
        """
        rows = moved[self._behind :]
        self._behind = len(moved)
        crossed = self._put(rows, overlay.numbers)
        while self.unknown and not overlay.guesses:
            self.learn(overlay)
            crossed |= self._put(rows, overlay.numbers)
        if crossed and self.standing.scaled:
            self._rank(overlay.numbers)

    def learn(self, overlay: Overlay) -> None:
        """Ask about the amounts that are unknown; raises as ``follow``."""
        calls = self._calls()
        with held(self._kept):
            numbers = list(dict.fromkeys(self.unknown))
            self._amounts.learn_numbers(numbers, *overlay.shown(numbers), calls)
            self._values = self._amounts.values.data
        self.unknown = []

    def _put(self, rows: Sequence[int], numbers: Int32s) -> bool:
        """Put ``rows`` where they belong now; whether one became feasible, or no longer is."""
        crossed = False
        values, known, ranking = self._values, len(self._values), self.ranking
        for row in rows:
            number = numbers.data[row]
            value = values[number] if number < known else UNKNOWN
            if value == UNKNOWN:
                self.unknown.append(number)
                value = OUT
            base, before = self._base[row], ranking.totals.data[row]
            total = OUT if OUT in (value, base) else base + value
            if total != before:
                self.feasible += (total != OUT) - (before != OUT)
                crossed |= OUT in (total, before)
                ranking.put(row, total)
        return crossed

    def _rank(self, numbers: Int32s) -> None:
        """Find all totals anew, as scores are scaled by the nodes that are feasible."""
        rows = np.flatnonzero(self.ranking.totals != OUT).astype(np.int32)
        base = self.standing.base.copy()
        base[rows] += self.standing.scaled_scores(rows)
        totals = np.full(len(base), OUT, np.int32)
        totals[rows] = base[rows] + self._amounts.values.take(numbers.take(rows))
        self._base, self.ranking = base.data, Ranking(totals)


class Overlay:
    """A course of decisions on top of a state that stays as it is. For one thread.

    Args:
        cluster: The state.
        movements: What is followed of it.
        branches: By index of the template, all of one version of the state.
        guesses: Unknown amounts are taken to be out of the lead, and asked about at the end, in one piece.

    Raises:
        BeginAgainError: The state has moved on.

    Attributes:
        numbers: int32[capacity], as in ``Movements``, with the pods that were placed.
    """

    def __init__(
        self,
        cluster: ClusterState,
        movements: Movements,
        branches: Mapping[int, Branch],
        *,
        guesses: bool,
    ) -> None:
        self.guesses = guesses
        self._cluster = cluster
        self._movements = movements
        self._branches = branches
        self._moved: list[int] = []
        self._scratch: ClusterState | None = None
        with cluster.lock:
            if not all(branch.holds(cluster) for branch in branches.values()):
                raise BeginAgainError
            self._version, self._generation = cluster.version, movements.generation
            self.numbers = movements.numbers.copy()
            self._epoch = cluster.snapshot.nodes.epoch
            self._next = {at: movements.followers(branch.kind.usage) for at, branch in branches.items()}

    def run(
        self, indices: Sequence[int], uids: Sequence[str], seed: int, check: Callable[[], None]
    ) -> ChoiceColumns:
        """Decide about pods in order, each given by the index of its template and its UID.

        Raises:
            NotKeptError: One has to be evaluated in full, as one that no node takes.
            BeginAgainError: The state has moved too far, or a guess may have been wrong.
            DeadlineExceededError: The caller no longer waits.
        """
        columns = ChoiceColumns(self._version, self._epoch)
        try:
            for count, (template, uid) in enumerate(zip(indices, uids, strict=True)):
                if not count % _CHECKED:
                    check()
                self._decide(template, uid, seed, columns)
        except NotKeptError:
            if self._learn():
                raise BeginAgainError from None
            raise
        if self._learn():
            raise BeginAgainError
        columns.names = self._names(columns.rows)
        return columns

    def _learn(self) -> bool:
        """Ask about all that was guessed; whether anything was."""
        guessed = [branch for branch in self._branches.values() if branch.unknown]
        for branch in guessed:
            branch.learn(self)
        return bool(guessed)

    def shown(self, numbers: Sequence[int]) -> tuple[ClusterState, Int32s]:
        """A scratch copy of the state, and int32[K] rows of it that have the amounts with these numbers.

        All else of these rows is that of other nodes: this is for plugins that look at amounts alone.
        """
        if self._scratch is None:
            self._scratch = self._cluster.fork()
        table = self._scratch.snapshot.nodes
        rows = table.rows()[: len(numbers)]
        with self._cluster.lock:
            self._check_generation()
            for row, number in zip(rows.tolist(), numbers, strict=False):
                self._movements.show(number, table, row)
        return self._scratch, rows

    def _decide(self, template: int, uid: str, seed: int, columns: ChoiceColumns) -> None:
        branch, numbers = self._branches[template], self.numbers.data
        branch.follow(self._moved, self)
        if not branch.feasible:
            raise NotKeptError
        ranking = branch.ranking
        ties = ranking.ties
        row = ranking.leader(choose(seed, uid, ties))
        columns.rows.append(row)
        columns.totals.append(ranking.top if branch.feasible > 1 else 0)
        columns.tie_counts.append(ties)
        columns.feasible.append(branch.feasible)
        columns.evaluated.append(branch.standing.evaluated)
        before = numbers[row]
        after = self._next[template].get(before)
        numbers[row] = self._after(before, branch.kind) if after is None else after
        self._moved.append(row)

    def _after(self, number: int, kind: PodKind) -> int:
        with self._cluster.lock:
            self._check_generation()
            return self._movements.after(number, kind.usage)

    def _check_generation(self) -> None:
        if self._movements.generation != self._generation:
            raise BeginAgainError

    def _names(self, rows: Sequence[int]) -> list[str]:
        table = self._cluster.snapshot.nodes
        with self._cluster.lock:
            if table.epoch != self._epoch:
                raise BeginAgainError
            return [table.names[row] for row in rows]


class Overlays:
    """Begins overlays. Safe from any thread."""

    def __init__(self, cluster: ClusterState, keeper: Keeper) -> None:
        self._cluster = cluster
        self._keeper = keeper

    def decide(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        uids: Sequence[str],
        seed: int,
        progress: Progress,
        calls: Callable[[Profile], PluginCalls],
    ) -> ChoiceColumns | None:
        """The nodes for pods that are decided in order, each given by the index of its template and its UID.

        Returns:
            None when the pods have to be evaluated in full, as when no node takes one.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        if not all(self._may_decide(*templates[at]) for at in set(indices)):
            return None
        for attempt in range(MAX_ATTEMPTS):
            try:
                branches = {at: self._branch(*templates[at], calls) for at in dict.fromkeys(indices)}
                guesses = attempt < GUESSES
                overlay = Overlay(self._cluster, self._keeper.movements, branches, guesses=guesses)
                return overlay.run(indices, uids, seed, progress.check)
            except BeginAgainError:
                continue
            except (NotKeptError, NodesChangedError, PluginFailureError):
                return None
        return None

    def _may_decide(self, pod: Pod, profile: Profile) -> bool:
        if profile.samples or not profile.has_scoring:
            return False
        return only_rules_matter(self._cluster, pod)

    def _branch(self, pod: Pod, profile: Profile, calls: Callable[[Profile], PluginCalls]) -> Branch:
        template = self._keeper.find(pod, profile)
        if template is None or template.kind.affinity_key is not None:
            raise NotKeptError
        use = partial(calls, profile)
        with held(template.kept):
            template.kept.follow(use)
            return Branch(pod, template.kept, template.kind, use)
