"""Many decisions, each assumed before the next one; a run of pods that are alike costs one look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, groupby

from mooring.framework import Pod
from mooring.framework.errors import DeadlineExceededError, PluginFailureError
from mooring.framework.state import ClusterState
from mooring.runtime.cache.consistency import Held, answer, check_may_decide
from mooring.runtime.cache.evaluation_cache import EvaluationCache, Template
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cycle.choice import PlacedColumns
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile

MAX_ALIKE = 256
"""The most decisions for which the state's lock is held at a time: about a millisecond."""


class CachedBatch:
    """A run of decisions from cached evaluations. For one thread.

    Args:
        cluster: The state.
        cache: The cached evaluations over it.
        seed: For the choice among ties.
        start: Where the search begins when not all nodes are evaluated.

    Attributes:
        start: Where the next search begins.
        choices: What was decided, and is assumed.
    """

    def __init__(self, cluster: ClusterState, cache: EvaluationCache, seed: int, start: int) -> None:
        self.choices = PlacedColumns()
        self._cluster = cluster
        self._cache = cache
        self._seed = seed
        self.start = start

    def run(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        calls: Callable[[Profile], PluginCalls],
    ) -> None:
        """Decide about pods, each given by the index of its template, its name and its UID, in order.

        It ends before the first that has to be evaluated in full, as one that no node takes.

        Raises:
            DeadlineExceededError: The caller no longer waits, and nothing was assumed.
        """
        choices, end = self.choices, 0
        found: dict[int, Template] = {}
        try:
            for index, alike in groupby(indices):
                pod, profile = templates[index]
                end += len(tuple(alike))
                if index not in found:
                    found[index] = self._cache.find(pod, profile)
                template = found[index]
                use = partial(calls, profile)
                while (at := len(choices)) < end:
                    check_may_decide(self._cluster, pod, profile)
                    some = slice(at, min(end, at + MAX_ALIKE))
                    self._decide(pod, template, names[some], uids[some], use)
        except DeadlineExceededError:
            if not choices:
                raise
        except (NotCachedError, PluginFailureError):
            pass

    def _decide(
        self,
        pod: Pod,
        template: Template,
        names: Sequence[str],
        uids: Sequence[str],
        calls: Callable[[], PluginCalls],
    ) -> None:
        """Decide about at least one pod.

        Raises:
            NotCachedError: That can't be done.
        """

        def assume(_: None) -> None:
            self._assume(pod, template, names, uids)

        with Held(template.cached):
            look = partial(template.cached.update, calls, start=self.start)
            answer(self._cluster, self._cache.counts, template, pod, look, assume)

    def _assume(self, pod: Pod, template: Template, names: Sequence[str], uids: Sequence[str]) -> None:
        """As ``_decide``, for the holder of both locks."""
        cached, cluster = template.cached, self._cluster
        uids, changes = self._unplaced(uids)
        if not uids:
            raise NotCachedError(Bypass.ON_NODE)
        selected, taken_in = cached.select_batch(self._seed, uids, template.kind)
        if not selected:
            raise NotCachedError(Bypass.NO_NODE)
        count, rows, static = len(selected), [one.row for one in selected], cached.static
        versions = tuple(accumulate(changes[:count], initial=cached.version))
        try:
            cluster.assume_alike(pod, template.kind, names[:count], uids[:count], rows)
        except BaseException:
            cached.placed(-1, template.kind)
            raise
        if taken_in:
            cached.placed(versions[taken_in], template.kind)
        self._cache.counts.hits += count - 1
        nodes, choices = cluster.snapshot.nodes.names, self.choices
        choices.names += [nodes[row] for row in rows]
        choices.rows += rows
        choices.totals += [one.total for one in selected]
        choices.tie_counts += [one.ties for one in selected]
        choices.evaluated += (evaluated := [one.evaluated for one in selected])
        choices.feasible += [one.feasible for one in selected]
        choices.versions += versions[:count]
        choices.sources += [static.cycle_state] * count
        self.start += sum(evaluated)
        self.start %= len(cluster.snapshot.nodes)

    def _unplaced(self, uids: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
        """Return the UIDs before the first pod that counts on a node, and how many changes placing each
        makes.
        """
        records = self._cluster.snapshot.pods.records
        if records.keys().isdisjoint(uids):
            return uids, [1] * len(uids)
        changes = []
        for uid in uids:
            record = records.get(uid)
            if record is not None and record.node_name:
                break
            changes.append(1 if record is None else 2)
        return uids[: len(changes)], changes
