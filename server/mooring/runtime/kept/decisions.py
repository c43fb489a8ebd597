"""Decisions from kept evaluations, equal to those from evaluations in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mooring.framework import ClusterState, Pod
from mooring.framework.errors import DeadlineExceededError, PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import Choice
from mooring.runtime.kept.keeper import Keeper, Template
from mooring.runtime.kept.kept import Kept
from mooring.runtime.kept.lead import Lead
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import PluginCalls
from mooring.runtime.scoring import EVERY_SCORE, log

MAX_ATTEMPTS = 16
"""So often an evaluation follows a state that moves on meanwhile, before it is left to be done in full."""

PATIENCE = 0.01
"""Seconds to wait for somebody who decides from the same evaluation, perhaps held up by a plugin."""


@contextmanager
def held(kept: Kept) -> Iterator[None]:
    """Its lock, unless somebody keeps it too long, perhaps held up by a plugin.

    Raises:
        NotKeptError: Somebody does.
    """
    if not kept.lock.acquire(timeout=PATIENCE):
        raise NotKeptError
    try:
        yield
    finally:
        kept.lock.release()


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
        """
        if not may_decide(self._cluster, pod, profile):
            return None
        try:
            template = self._keeper.find(pod, profile)
            if template is None or not template.kept.lock.acquire(timeout=PATIENCE):
                return None
            try:
                return self._decided(pod, template, seed, calls, start=start, assume=assume)
            finally:
                template.kept.lock.release()
        except DeadlineExceededError:
            raise
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
        for _ in range(MAX_ATTEMPTS):
            kept.follow(calls, start=start)
            with cluster.lock:
                if cluster.version != kept.version:
                    continue
                version, standing = kept.version, kept.standing
                lead = self._assumed(pod, template, seed) if assume else kept.lead(seed, pod.metadata.uid)
                if lead is None:
                    return None
                name = cluster.snapshot.nodes.names[lead.row]
            return Choice(
                name, lead.row, lead.total, lead.ties, lead.evaluated, lead.feasible, version, standing
            )
        return None

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


def may_decide(cluster: ClusterState, pod: Pod, profile: Profile) -> bool:
    """Whether nothing asks for more than the choice of a node by all of the profile's rules."""
    return profile.has_scoring and only_rules_matter(cluster, pod)


def only_rules_matter(cluster: ClusterState, pod: Pod) -> bool:
    """Whether nothing but the profile's rules has a part in what becomes of ``pod``, and nobody listens."""
    if pod.status.nominated_node_name or cluster.snapshot.pods.nominated:
        return False
    return not log.isEnabledFor(EVERY_SCORE)
