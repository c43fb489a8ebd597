"""Answers about some nodes from kept evaluations, equal to those from evaluations in full."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from mooring.framework import SUCCESS, ClusterState, Int32s, Pod, Status
from mooring.framework.errors import PluginFailureError
from mooring.framework.view import NodesChangedError
from mooring.runtime.kept.consistency import PATIENCE, answer, held, only_rules_matter
from mooring.runtime.kept.keeper import Keeper
from mooring.runtime.kept.kept import Calls, Kept
from mooring.runtime.kept.ranking import OUT
from mooring.runtime.kept.reasons import Reasons
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.rows import Rows


class Totals(msgspec.Struct, frozen=True):
    """What a pod finds on some nodes, as if there were no others.

    Attributes:
        rows: int32[K], the nodes.
        totals: int32[K], their totals; ``OUT`` where a node is refused.
        version: The version of the state that this is true for.
        refused: int32[R], the positions of the nodes that are refused.
        numbers: int32[R], equal where those have the same amounts.
        codes: int32[R], an index into ``statuses``, or ``UNKNOWN`` where somebody has to be asked why.
        statuses: What is known to be said; number 0 is Success.
        kept: Where this comes from,
        reasons: and what it knew of reasons.
    """

    rows: Int32s
    totals: Int32s
    version: int
    refused: Int32s
    numbers: Int32s
    codes: Int32s
    statuses: list[Status]
    kept: Kept
    reasons: Reasons


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
            PluginFailureError: A plugin failed to sign the pod.
        """
        if not only_rules_matter(self._cluster, pod):
            return None
        template = self._keeper.find(pod, profile)
        if template is None:
            return None
        kept = template.kept

        def look() -> Totals:
            kept.follow(calls, passing=False)
            if kept.standing.passes:
                raise NotKeptError
            return _found(kept, rows(self._cluster))

        try:
            with held(kept):
                return answer(self._cluster, kept, pod, look, lambda found: found)
        except (NotKeptError, NodesChangedError, PluginFailureError):
            return None

    def learn(self, found: Totals, positions: Int32s, codes: Int32s, statuses: Sequence[Status]) -> None:
        """The nodes at ``positions`` (int32[K]) of ``found.refused`` were asked: ``codes`` is why."""
        kept = found.kept
        if kept.lock.acquire(timeout=PATIENCE):
            try:
                if kept.reasons is found.reasons:
                    rows = found.rows[found.refused[positions]]
                    kept.reasons.put(rows, found.numbers[positions], codes, statuses)
            finally:
                kept.lock.release()


def _found(kept: Kept, rows: Int32s) -> Totals:
    totals = kept.totals(rows)
    refused = np.flatnonzero(totals == OUT).astype(np.int32)
    if not len(refused):
        return Totals(rows, totals, kept.version, refused, refused, refused, [SUCCESS], kept, kept.reasons)
    numbers = kept.numbers(rows[refused])
    codes, statuses = kept.reasons.of(rows[refused], numbers)
    return Totals(rows, totals, kept.version, refused, numbers, codes, statuses, kept, kept.reasons)
