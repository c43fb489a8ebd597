"""Decisions from kept evaluations, equal to those from evaluations in full."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mooring.framework import ClusterState, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import Choice
from mooring.runtime.kept.consistency import answer, held, may_decide
from mooring.runtime.kept.keeper import Keeper, Template
from mooring.runtime.kept.lead import Lead
from mooring.runtime.kept.self_check import Cached
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls

Found = TypeVar("Found")


class KeptDecisions:
    """Decides the pods that others like them were decided before. Safe from any thread."""

    def __init__(self, cluster: ClusterState, keeper: Keeper) -> None:
        self._cluster = cluster
        self._keeper = keeper

    def decide(
        self,
        pod: Pod,
        profile: Profile,
        seed: int,
        calls: Callable[[], PluginCalls],
        *,
        start: int,
        assume: bool,
    ) -> Choice | None:
        """The node for ``pod`` among all nodes, on which it counts from now on with ``assume``.

        When not all nodes are looked at, the search begins at ``start``.

        Returns:
            None when ``pod`` has to be evaluated in full, as every pod that no node takes.

        Raises:
            DeadlineExceededError: The caller no longer waits.
            PluginFailureError: A plugin failed to sign the pod.
        """

        def take(template: Template) -> Choice | None:
            return self._chosen(pod, template, seed, assume=assume)

        return self._answer(pod, profile, calls, start, take)

    def with_copy(
        self, pod: Pod, profile: Profile, seed: int, calls: Callable[[], PluginCalls], *, start: int
    ) -> Cached | None:
        """``decide`` that assumes nothing, with a private copy of the state that the answer is true for."""

        def take(template: Template) -> Cached | None:
            choice = self._chosen(pod, template, seed, assume=False)
            return None if choice is None else Cached(choice, self._cluster.fork(), template.kept)

        return self._answer(pod, profile, calls, start, take)

    def _answer(
        self,
        pod: Pod,
        profile: Profile,
        calls: Callable[[], PluginCalls],
        start: int,
        take: Callable[[Template], Found | None],
    ) -> Found | None:
        """What ``take`` gives, under the state's lock; None when ``pod`` has to be evaluated in full."""
        if not may_decide(self._cluster, pod, profile):
            return None
        template = self._keeper.find(pod, profile)
        if template is None:
            return None
        kept = template.kept
        try:
            with held(kept):
                look = partial(kept.follow, calls, start=start)
                return answer(self._cluster, kept, pod, look, lambda _: take(template))
        except (NotKeptError, NodesChangedError, PluginFailureError):
            return None

    def _chosen(self, pod: Pod, template: Template, seed: int, *, assume: bool) -> Choice | None:
        """The choice as things are, for the holder of both locks; None when no node is feasible."""
        kept = template.kept
        version, standing = kept.version, kept.standing
        lead = self._assumed(pod, template, seed) if assume else kept.lead(seed, pod.metadata.uid)
        if lead is None:
            return None
        name = self._cluster.snapshot.nodes.names[lead.row]
        return Choice(name, lead.row, lead.total, lead.ties, lead.evaluated, lead.feasible, version, standing)

    def _assumed(self, pod: Pod, template: Template, seed: int) -> Lead | None:
        """The lead for a pod, which counts there from now on. For the holder of both locks."""
        kept, cluster, uid = template.kept, self._cluster, pod.metadata.uid
        record = cluster.snapshot.pods.records.get(uid)
        if record is not None and record.node_name:
            # It stays there, or can't be assumed.
            lead, taken_in = kept.lead(seed, uid), 0
        else:
            leads, taken_in = kept.lead_in_turn(seed, (uid,), template.kind)
            lead = leads[0] if leads else None
        if lead is not None:
            try:
                cluster.assume(pod, cluster.snapshot.nodes.names[lead.row], template.kind)
            except BaseException:
                kept.placed(-1)
                raise
            if taken_in:
                kept.placed(cluster.version)
        return lead
