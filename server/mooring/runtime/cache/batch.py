"""Many decisions, each assumed before the next one; a stretch of pods of one evaluation costs one look."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from mooring.framework import Pod
from mooring.framework.errors import DeadlineExceededError, PluginFailureError
from mooring.framework.state import ClusterState
from mooring.runtime.cache.consistency import answer, check_may_decide
from mooring.runtime.cache.evaluation_cache import EvaluationCache, Template
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cycle.choice import PlacedColumns
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile

MAX_ALIKE = 256
"""The most decisions for which the state's lock is held at a time: about a millisecond."""


class _Stretch(NamedTuple):
    """Pods in turn for which one evaluation answers: alike, but for labels that nothing reads.

    Attributes:
        profile: Theirs.
        kinds: One of each kind of them and its template, in turn.
        ends: The index in the batch at which the pods of each kind end.
    """

    profile: Profile
    kinds: list[tuple[Pod, Template]]
    ends: list[int]

    def goes_on_with(self, profile: Profile, template: Template) -> bool:
        """Return whether pods like ``template`` may follow.

        Where no plugin reads what pods take or say of others, it may differ in spite of the same evaluation.
        """
        _, first = self.kinds[0]
        kind, other = first.kind, template.kind
        return (
            profile is self.profile
            and template.cached is first.cached
            and template.selected_keys is first.selected_keys
            and kind.usage == other.usage
            and kind.affinity_key is None is other.affinity_key
        )


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
        self._count = 0
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
        found = dict[int, Template]()
        alike = [(index, len(tuple(same))) for index, same in groupby(indices)]
        alike.reverse()
        try:
            while alike:
                stretch = self._next_stretch(templates, alike, found)
                use, end = partial(calls, stretch.profile), stretch.ends[-1]
                while (at := self._count) < end:
                    some = slice(at, min(end, at + MAX_ALIKE))
                    self._decide(stretch, names[some], uids[some], use)
        except DeadlineExceededError:
            if not self._count:
                raise
        except (NotCachedError, PluginFailureError):
            pass

    def _next_stretch(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        alike: list[tuple[int, int]],
        found: dict[int, Template],
    ) -> _Stretch:
        """Take the next stretch off ``alike``: templates' indices and how many pods, the next ones last.

        Raises:
            NotCachedError: The first pod has to be evaluated in full.
            PluginFailureError: A plugin failed to sign it.
        """
        index, count = alike.pop()
        pod, profile = templates[index]
        end = self._count + count
        stretch = _Stretch(profile, [(pod, self._found(pod, profile, index, found))], [end])
        while alike and end - self._count < MAX_ALIKE:
            index, count = alike[-1]
            pod, profile = templates[index]
            try:
                template = self._found(pod, profile, index, found)
            except (NotCachedError, PluginFailureError):
                # Told when it is its turn.
                break
            if not stretch.goes_on_with(profile, template):
                break
            alike.pop()
            end += count
            stretch.kinds.append((pod, template))
            stretch.ends.append(end)
        return stretch

    def _found(self, pod: Pod, profile: Profile, index: int, found: dict[int, Template]) -> Template:
        template = found.get(index)
        if template is None:
            check_may_decide(self._cluster, pod, profile)
            template = found[index] = self._cache.find(pod, profile)
        return template

    def _decide(
        self, stretch: _Stretch, names: Sequence[str], uids: Sequence[str], calls: Callable[[], PluginCalls]
    ) -> None:
        """Decide about at least one pod.

        Raises:
            NotCachedError: That can't be done.
        """
        _, template = stretch.kinds[bisect_right(stretch.ends, self._count)]

        def assume(template: Template, _: None) -> None:
            self._assume(stretch, template, names, uids)

        with template.cached:
            look = partial(template.cached.update, calls, start=self.start)
            answer(self._cluster, self._cache.counts, template, look, assume)

    def _assume(
        self, stretch: _Stretch, template: Template, names: Sequence[str], uids: Sequence[str]
    ) -> None:
        """As ``_decide``, for the holder of both locks."""
        cached, cluster = template.cached, self._cluster
        uids = self._unplaced(uids)
        if not uids:
            raise NotCachedError(Bypass.ON_NODE)
        selected, taken_in = cached.select_batch(self._seed, uids, template.kind)
        rows, static, version = selected.rows, cached.static, cached.version
        if not rows:
            raise NotCachedError(Bypass.NO_NODE)
        count = len(rows)
        try:
            self._assume_by_kind(stretch, names, uids[:count], rows)
        except BaseException:
            cached.placed(-1, template.kind)
            raise
        if taken_in:
            cached.placed(version + taken_in, template.kind)
        else:
            self._cache.tracker.came(rows[0], template.kind, version + 1)
        self._cache.counts.hits += count - 1
        nodes, choices = cluster.snapshot.nodes.names, self.choices
        choices.names += map(nodes.__getitem__, rows)
        choices.rows += rows
        choices.totals += selected.totals
        choices.tie_counts += selected.ties
        choices.evaluated += [selected.evaluated] * count
        choices.feasible += selected.feasible
        choices.versions += range(version, version + count)
        choices.sources += [static.cycle_state] * count
        self._count += count
        self.start += count * selected.evaluated
        self.start %= len(cluster.snapshot.nodes)

    def _assume_by_kind(
        self, stretch: _Stretch, names: Sequence[str], uids: Sequence[str], rows: Sequence[int]
    ) -> None:
        """Assume the next pods of the stretch, all of them or none, in these ``rows``."""
        first, at = self._count, 0
        try:
            for (pod, template), end in zip(stretch.kinds, stretch.ends, strict=True):
                some = slice(at, min(end - first, len(rows)))
                if some.start < some.stop:
                    self._cluster.assume_alike(pod, template.kind, names[some], uids[some], rows[some])
                    at = some.stop
        except BaseException:
            for uid in uids[:at]:
                self._cluster.forget(uid)
            raise

    def _unplaced(self, uids: Sequence[str]) -> Sequence[str]:
        """Return the UIDs before the first pod that counts on a node."""
        records = self._cluster.snapshot.pods.records
        if records.keys().isdisjoint(uids):
            return uids
        for at, uid in enumerate(uids):
            record = records.get(uid)
            if record is not None and record.node_name:
                return uids[:at]
        return uids
