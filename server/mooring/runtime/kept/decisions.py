"""Decisions from kept evaluations, equal to those from evaluations in full."""

from __future__ import annotations

from collections.abc import Callable

from mooring.framework import ClusterState, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import Choice
from mooring.runtime.kept.consistency import answer, held, may_decide
from mooring.runtime.kept.keeper import Keeper, Template
from mooring.runtime.kept.lead import Lead
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls


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
        if not may_decide(self._cluster, pod, profile):
            return None
        template = self._keeper.find(pod, profile)
        if template is None:
            return None
        try:
            with held(template.kept):
                return self._decided(pod, template, seed, calls, start=start, assume=assume)
        except (NotKeptError, NodesChangedError, PluginFailureError):
            return None

    def _decided(
        self,
        pod: Pod,
        template: Template,
        seed: int,
        calls: Callable[[], PluginCalls],
        *,
        start: int,
        assume: bool,
    ) -> Choice | None:
        kept, cluster = template.kept, self._cluster

        def choose(_: None) -> Choice | None:
            version, standing = kept.version, kept.standing
            lead = self._assumed(pod, template, seed) if assume else kept.lead(seed, pod.metadata.uid)
            if lead is None:
                return None
            name = cluster.snapshot.nodes.names[lead.row]
            return Choice(
                name, lead.row, lead.total, lead.ties, lead.evaluated, lead.feasible, version, standing
            )

        return answer(cluster, kept, pod, lambda: kept.follow(calls, start=start), choose)

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
