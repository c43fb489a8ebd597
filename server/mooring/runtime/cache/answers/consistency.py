"""When a cached evaluation may answer for the state as it is: checked here, and nowhere else.

A cached evaluation is true for one version of the state, and for one generation of the resource-state ids. It
answers only if nothing but the profile's rules decides about the pod: nominated pods and score lines in the
log need a full evaluation. It is found by the labels that selectors name, so it answers only while selectors
name no others. All this is checked under the state's lock, in the step that takes the answer. A check before
that step counts for nothing.

Locks are taken in this order, and the state's is never held while another one is waited for:

1. the turn of a pod (``Reservations``)
2. the lock of a cached evaluation, for as long as it is held (``with`` a ``CachedEvaluation``), one at a time
3. the state's lock (``ClusterState.lock``)

No plugin is called under the state's lock, unless the engine is exclusive: a plugin that hangs would hold up
every writer. Reserve plugins that hand out what only one pod may have (devices, volumes) take that lock
themselves and check again that it is free.
"""

from __future__ import annotations

from typing import Protocol

from mooring.framework import Pod
from mooring.framework.pod_table import PodKind
from mooring.framework.state import ClusterState
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cycle.score import EVERY_SCORE, log
from mooring.runtime.profiles.profile import Profile

MAX_ATTEMPTS = 16
"""Attempts to follow a state that keeps changing, before the pod is evaluated in full."""


class Followed(Protocol):
    """An evaluation that is brought up to date with the state.

    Attributes:
        begun: How often it was evaluated as a whole.
    """

    begun: int

    def current(self) -> bool:
        """Return whether it is true now; certain for the holder of the state's lock."""
        ...


class OptimisticRead:
    """Reads without the state's lock, repeated until the result is true for the state as it is.

    The caller holds the evaluation::

        read = OptimisticRead(cluster, counts, template.cached, template.selected_keys)
        while True:
            read.begin()
            ...  # read, and bring the evaluation up to date
            with cluster.lock:
                if read.holds():
                    ...  # take the answer
                    read.count()

    Args:
        evaluation: The evaluation to bring up to date.
        selected_keys: The label keys that selectors named when it was found.
    """

    __slots__ = ("_begun", "_cluster", "_counts", "_evaluation", "_left", "_selected_keys")

    def __init__(
        self, cluster: ClusterState, counts: CacheCounts, evaluation: Followed, selected_keys: frozenset[str]
    ) -> None:
        self._cluster = cluster
        self._counts = counts
        self._evaluation = evaluation
        self._selected_keys = selected_keys
        self._begun = evaluation.begun
        self._left = MAX_ATTEMPTS

    def begin(self) -> None:
        """Begin an attempt; raises NotCachedError if the state changes faster than can be followed."""
        if not self._left:
            raise NotCachedError(Bypass.STATE_CHANGING)
        self._left -= 1

    def holds(self) -> bool:
        """Return whether the evaluation is true for the state as it is. The caller holds the state's lock.
        Raises NotCachedError if the pod has to be evaluated in full.
        """
        check_still_decides(self._cluster, self._selected_keys)
        return self._evaluation.current()

    def count(self) -> None:
        """Count an answer that was taken."""
        if self._evaluation.begun == self._begun:
            self._counts.hits += 1
        else:
            self._counts.misses += 1


def check_still_decides(cluster: ClusterState, selected_keys: frozenset[str]) -> None:
    """Go on only if no pod is nominated, and selectors name no other labels than ``selected_keys``.

    The caller holds the state's lock. Raises NotCachedError otherwise.
    """
    pods = cluster.snapshot.pods
    if pods.nominated:
        raise NotCachedError(Bypass.NOMINATED)
    if pods.selected_keys is not selected_keys:
        raise NotCachedError(Bypass.STATE_CHANGING)


def check_may_decide(cluster: ClusterState, pod: Pod, profile: Profile) -> None:
    """Go on only if nothing asks for more than the selection of a node by all of the profile's rules. Raises
    NotCachedError otherwise.
    """
    if not profile.has_scoring:
        raise NotCachedError(Bypass.NO_SCORING)
    check_rules_decide(cluster, pod)


def check_may_be_tried(cluster: ClusterState, pod: Pod, profile: Profile) -> None:
    """Go on only if ``pod`` can be tried with others, one after the other, while the state has none of them.
    Raises NotCachedError otherwise.
    """
    if profile.samples:
        raise NotCachedError(Bypass.SAMPLING)
    check_may_decide(cluster, pod, profile)


def check_takes_room_alone(kind: PodKind) -> None:
    """Go on only if pods of ``kind`` mean nothing to others but less room. Raises NotCachedError if they have
    terms about others.
    """
    if kind.affinity_key is not None:
        raise NotCachedError(Bypass.AFFINITY)


def check_rules_decide(cluster: ClusterState, pod: Pod) -> None:
    """Go on only if nothing but the profile's rules decides about ``pod``, and no score has to be logged.

    That no pod is nominated is certain for the holder of the state's lock alone, who looks again. Raises
    NotCachedError otherwise.
    """
    if pod.status.nominated_node_name or cluster.snapshot.pods.nominated:
        raise NotCachedError(Bypass.NOMINATED)
    if log.isEnabledFor(EVERY_SCORE):
        raise NotCachedError(Bypass.SCORE_LOG)
