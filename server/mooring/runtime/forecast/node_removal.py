"""Decisions as if one of the nodes were gone, for one node after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mooring.framework import Part, Pod
from mooring.framework.batch import BatchPlugin, as_batch
from mooring.framework.cacheable import dependencies_of
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.answers.consistency import MAX_ATTEMPTS
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.outcome import Bypass, NotCachedError
from mooring.runtime.cache.tracking.change_tracker import DYNAMIC
from mooring.runtime.cycle.plugin_calls import PluginAccess, Progress
from mooring.runtime.cycle.tie_break import mix64_of_each
from mooring.runtime.forecast.overlay import GUESSES, BeginAgainError, Branch, Overlay, branch_of
from mooring.runtime.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class _KnownTemplate:
    """The branch of a template in one version of the state.

    Attributes:
        pod: One of its pods.
        readers: The plugins to which it may matter that a node goes.
    """

    pod: Pod
    branch: Branch
    readers: Sequence[BatchPlugin]


class NodeRemovalForecast:
    """Decides for pods as if a node and its pods were gone. For one thread.

    A template's branch serves all nodes, for as long as the state stays unchanged.
    """

    def __init__(
        self,
        cache: EvaluationCache,
        access: PluginAccess,
    ) -> None:
        self._cluster = cache.cluster
        self._cache = cache
        self._access = access
        self._known: dict[int, _KnownTemplate] = {}
        self._scratch: ClusterState | None = None

    def decide(
        self,
        row: int,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        uids: Sequence[str],
        seed: int,
        progress: Progress,
    ) -> Sequence[str]:
        """Select nodes for pods in order, each of which sees the ones before placed.

        A pod is given by the index of its template and its UID. Templates that come again are to be the same
        objects. Returns the nodes of the first pods; that there are no more of them says nothing of the rest.
        Raises DeadlineExceededError if the caller no longer waits.
        """
        if any(
            record.kind.affinity_key is not None for record in self._cluster.snapshot.pods.records_on(row)
        ):
            return ()
        for attempt in range(MAX_ATTEMPTS):
            try:
                branches = {at: self._branch(*templates[at], row) for at in dict.fromkeys(indices)}
                return self._run(row, branches, indices, uids, seed, progress, guesses=attempt < GUESSES)
            except BeginAgainError:
                continue
            except (NotCachedError, NodesChangedError, PluginFailureError):
                break
        return ()

    def _run(
        self,
        row: int,
        branches: Mapping[int, Branch],
        indices: Sequence[int],
        uids: Sequence[str],
        seed: int,
        progress: Progress,
        *,
        guesses: bool,
    ) -> Sequence[str]:
        tracker = self._cache.tracker
        try:
            overlay = Overlay(
                self._cluster, tracker, branches, guesses=guesses, gone=row, scratch=self._scratch
            )
        except BeginAgainError:
            self._known, self._scratch = {}, None
            raise
        try:
            names = overlay.run(indices, mix64_of_each(seed, uids), progress.check).names
        finally:
            self._scratch = overlay.scratch
        self._cache.counts.hits += len(names)
        return names

    def _branch(self, pod: Pod, profile: Profile, row: int) -> Branch:
        """Return the branch of a template; NotCachedError if answers about other nodes depend on this one."""
        known = self._known.get(id(pod))
        if known is None:
            branch = branch_of(self._cache, pod, profile, self._access)
            known = self._known[id(pod)] = _KnownTemplate(pod, branch, _readers(pod, profile))
        nodes = self._cluster.snapshot.nodes
        if any(reader.affected_by_removal(pod, nodes, row) for reader in known.readers):
            raise NotCachedError(Bypass.OTHER_NODES)
        return known.branch.twin()


def _readers(pod: Pod, profile: Profile) -> Sequence[BatchPlugin]:
    """Return the plugins whose answers about a node depend on other nodes, for a pod that has a branch.

    A plugin that reads what a decision changes skips the pod: otherwise there would be no branch.
    """
    readers = []
    for plugin in profile.evaluating:
        declared = dependencies_of(plugin, pod)
        parts = declared.parts_of_skip if declared.parts & DYNAMIC else declared.parts
        if declared.seen_so_far or Part.OTHER_NODES in parts:
            readers.append(as_batch(plugin))
    return readers
