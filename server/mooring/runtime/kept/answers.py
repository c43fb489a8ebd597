"""Answers about some nodes from kept evaluations, equal to those from evaluations in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mooring.framework import ClusterState, Int32s, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.kept.decisions import MAX_ATTEMPTS, PATIENCE, only_rules_matter
from mooring.runtime.kept.keeper import Keeper
from mooring.runtime.kept.kept import Calls, Kept
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile

if TYPE_CHECKING:
    from mooring.runtime.engine import Rows


class Totals(msgspec.Struct, frozen=True):
    """What a pod finds on some nodes, as if there were no others.

    Attributes:
        rows: int32[K], the nodes.
        totals: int32[K], their totals; ``OUT`` where a node is refused.
        version: The version of the state that this is true for.
    """

    rows: Int32s
    totals: Int32s
    version: int


class KeptAnswers:
    """Answers for pods like others before them. Safe from any thread.

    Args:
        cluster: The live state.
        keeper: Its kept evaluations, which decisions use as well.
    """

    def __init__(self, cluster: ClusterState, keeper: Keeper) -> None:
        self._cluster = cluster
        self._keeper = keeper

    def totals(self, pod: Pod, profile: Profile, rows: Rows, calls: Calls) -> Totals | None:
        """What ``pod`` finds on the nodes of ``rows``; None when it has to be evaluated in full.

        Raises:
            DeadlineExceededError: The caller no longer waits.
        """
        if not only_rules_matter(self._cluster, pod):
            return None
        try:
            template = self._keeper.find(pod, profile)
            if template is None or not template.kept.lock.acquire(timeout=PATIENCE):
                return None
            try:
                return self._totals(template.kept, rows, calls)
            finally:
                template.kept.lock.release()
        except (NotKeptError, NodesChangedError, PluginFailureError):
            return None

    def _totals(self, kept: Kept, rows: Rows, calls: Calls) -> Totals | None:
        cluster = self._cluster
        for _ in range(MAX_ATTEMPTS):
            kept.follow(calls, passing=False)
            if kept.standing.passes:
                return None
            asked = rows(cluster)
            found = Totals(asked, kept.totals(asked), kept.version)
            # Only under the lock: a write that is under way has not moved the version yet.
            with cluster.lock:
                if cluster.version == found.version:
                    return found
        return None
