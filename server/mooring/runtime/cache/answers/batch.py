"""Many decisions, each assumed before the next one; a run of pods of one evaluation costs one look."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from mooring.framework import Pod
from mooring.framework.errors import DeadlineExceededError
from mooring.framework.state import ClusterState
from mooring.runtime.cache.answers.consistency import OptimisticRead
from mooring.runtime.cache.layers.cached_evaluation import Template
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cycle.choice import PlacedColumns
from mooring.runtime.cycle.plugin_calls import PluginAccess, PluginCalls
from mooring.runtime.profiles.profile import Profile


class SignatureRun(NamedTuple):
    """Consecutive pods that share an evaluation: they differ only in labels that nothing reads.

    Attributes:
        kinds: One pod of each kind with its template, in order.
        ends: The index in the batch at which the pods of each kind end.
    """

    profile: Profile
    kinds: list[tuple[Pod, Template]]
    ends: list[int]

    def goes_on_with(self, profile: Profile, template: Template) -> bool:
        """Return whether pods like ``template`` may follow.

        If no plugin reads requests or terms, these may differ in spite of the same evaluation.
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
        start: Where the search begins when not all nodes are evaluated.
        most: The most pods that are decided while the state's lock is held.

    Attributes:
        start: Where the next search begins.
        choices: The decisions, whose pods are assumed on their nodes.
    """

    def __init__(self, cluster: ClusterState, counts: CacheCounts, seed: int, start: int, most: int) -> None:
        self._most = most
        self.choices = PlacedColumns()
        self._count = 0
        self._cluster = cluster
        self._counts = counts
        self._seed = seed
        self.start = start

    def run(
        self,
        pods: Sequence[tuple[Pod, Profile]],
        templates: Mapping[int, Template],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        access: PluginAccess,
    ) -> None:
        """Decide about pods in order: those of one index are alike but for names and UIDs.

        ``templates`` has the template of an index, if there is one. It ends before the first pod that has to
        be evaluated in full, such as one without a template, or that no node takes. Raises
        DeadlineExceededError if the caller no longer waits; nothing was assumed then.
        """
        alike = [(index, len(tuple(same))) for index, same in groupby(indices)]
        alike.reverse()
        try:
            while alike and alike[-1][0] in templates:
                run = self._next_run(pods, templates, alike)
                calls, end = access.of(run.profile), run.ends[-1]
                while (at := self._count) < end:
                    some = slice(at, min(end, at + self._most))
                    self._decide(run, names[some], uids[some], calls)
        except DeadlineExceededError:
            if not self._count:
                raise
        except NotCachedError:
            pass

    def _next_run(
        self,
        pods: Sequence[tuple[Pod, Profile]],
        templates: Mapping[int, Template],
        alike: list[tuple[int, int]],
    ) -> SignatureRun:
        """Take the next run off ``alike``: indices and how many pods, the next ones last."""
        index, count = alike.pop()
        pod, profile = pods[index]
        end = self._count + count
        run = SignatureRun(profile, [(pod, templates[index])], [end])
        while alike and end - self._count < self._most:
            index, count = alike[-1]
            (pod, profile), template = pods[index], templates.get(index)
            if template is None or not run.goes_on_with(profile, template):
                break
            alike.pop()
            end += count
            run.kinds.append((pod, template))
            run.ends.append(end)
        return run

    def _decide(
        self,
        run: SignatureRun,
        names: Sequence[str],
        uids: Sequence[str],
        calls: PluginCalls,
    ) -> None:
        """Decide about at least one pod; NotCachedError says that this can't be done."""
        _, template = run.kinds[bisect_right(run.ends, self._count)]
        with template.cached:
            read = OptimisticRead(self._cluster, self._counts, template.cached, template.selected_keys)
            while True:
                read.begin()
                template.cached.update(calls, start=self.start)
                with self._cluster.lock:
                    if read.holds():
                        self._assume(run, template, names, uids)
                        read.count()
                        return

    def _assume(
        self, run: SignatureRun, template: Template, names: Sequence[str], uids: Sequence[str]
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
            self._assume_by_kind(run, names, uids[:count], rows)
        except BaseException:
            cached.placed(-1, template.kind)
            raise
        if taken_in:
            cached.placed(version + taken_in, template.kind)
        else:
            cached.placed_by_log(rows[0], version + 1, template.kind)
        self._counts.hits += count - 1
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
        self, run: SignatureRun, names: Sequence[str], uids: Sequence[str], rows: Sequence[int]
    ) -> None:
        """Assume the next pods of the run, all of them or none, in these ``rows``."""
        first, at = self._count, 0
        try:
            for (pod, template), end in zip(run.kinds, run.ends, strict=True):
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
