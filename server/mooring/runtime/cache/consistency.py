"""When a cached evaluation may answer for the state as it is: checked here, and nowhere else.

A cached evaluation is true for one version of the state, and for one generation of the resource-state ids. It
answers only for a pod of which nothing but the profile's rules decides: nominated pods and score lines in the
log need a full evaluation. And it is found by the labels that some selector names, so it answers only while
these are all that selectors name. All of that is looked at under the state's lock, in the step that
takes the answer; what was found true before the lock counts for nothing.

Locks are taken in this order, and the state's is never held while another one is waited for:

1. the turn of a pod (``Reservations``)
2. the lock of a cached evaluation (``CachedEvaluation.lock``), one at a time
3. the state's lock (``ClusterState.lock``)

No plugin is called under the state's lock, unless the engine is exclusive: a plugin that hangs would hold up
every writer. Reserve plugins that hand out what only one pod may have (devices, volumes) take that lock
themselves and look again at what is free.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.state import ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cache.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.evaluation_cache import Template
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cycle.score import EVERY_SCORE, log
from mooring.runtime.profiles.profile import Profile

MAX_ATTEMPTS = 16
"""Attempts to follow a state that keeps changing, before the pod is evaluated in full."""

PATIENCE = 0.01
"""Seconds to wait for a thread that decides from the same evaluation and may be held up by a plugin."""

Found = TypeVar("Found")
Answer = TypeVar("Answer")


class Held:
    """Holds the lock of ``cached`` while that is brought up to date and read.

    A class, because every decision enters one and ``contextmanager`` costs more. Entering it and leaving it
    raise NotCachedError: another thread holds the lock for too long, or plugins failed within.
    """

    __slots__ = ("_lock",)

    def __init__(self, cached: CachedEvaluation) -> None:
        self._lock = cached.lock

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=PATIENCE):
            raise NotCachedError(Bypass.BUSY)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        if isinstance(error, NodesChangedError):
            raise NotCachedError(Bypass.NODES_CHANGED) from None
        if isinstance(error, PluginFailureError):
            raise NotCachedError(Bypass.PLUGIN_FAILED) from None


def answer(
    cluster: ClusterState,
    counts: CacheCounts,
    template: Template,
    pod: Pod,
    look: Callable[[], Found],
    take: Callable[[Found], Answer],
) -> Answer:
    """Call ``look`` without the state's lock until what it found is true for the state as it is.

    Then ``take`` gets it, under that lock. The caller holds the lock of the evaluation of ``template``, which
    ``look`` updates.

    Raises:
        NotCachedError: The pod has to be evaluated in full, or the state changes faster than can be followed.
    """
    cached = template.cached
    begun = cached.begun
    for _ in range(MAX_ATTEMPTS):
        found = look()
        with cluster.lock:
            check_rules_decide(cluster, pod)
            check_labels(cluster, template)
            if cached.current():
                answered = take(found)
                if cached.begun == begun:
                    counts.hits += 1
                else:
                    counts.misses += 1
                return answered
    raise NotCachedError(Bypass.STATE_CHANGING)


def check_labels(cluster: ClusterState, template: Template) -> None:
    """Go on only if no more labels are read than when ``template`` was found. The caller holds the state's
    lock.

    Raises:
        NotCachedError: A selector names another one now.
    """
    if cluster.snapshot.pods.selected_keys is not template.selected_keys:
        raise NotCachedError(Bypass.STATE_CHANGING)


def check_may_decide(cluster: ClusterState, pod: Pod, profile: Profile) -> None:
    """Go on only if nothing asks for more than the selection of a node by all of the profile's rules.

    Raises:
        NotCachedError: Something does.
    """
    if not profile.has_scoring:
        raise NotCachedError(Bypass.NO_SCORING)
    check_rules_decide(cluster, pod)


def template_tried(
    cluster: ClusterState, find: Callable[[Pod, Profile], Template], pod: Pod, profile: Profile
) -> Template:
    """Return the template of pods that are tried one after the other while the state has none of them.

    Raises:
        NotCachedError: Something else decides, or where one pod goes says more to others than less room.
        PluginFailureError: A plugin failed to sign the pod.
    """
    if profile.samples:
        raise NotCachedError(Bypass.SAMPLING)
    check_may_decide(cluster, pod, profile)
    template = find(pod, profile)
    if template.kind.affinity_key is not None:
        raise NotCachedError(Bypass.AFFINITY)
    return template


def check_rules_decide(cluster: ClusterState, pod: Pod) -> None:
    """Go on only if nothing but the profile's rules decides about ``pod``, and no score has to be logged.

    Certain for the holder of the state's lock; for others it saves work that would be in vain.

    Raises:
        NotCachedError: Something else does.
    """
    if pod.status.nominated_node_name or cluster.snapshot.pods.nominated:
        raise NotCachedError(Bypass.NOMINATED)
    if log.isEnabledFor(EVERY_SCORE):
        raise NotCachedError(Bypass.SCORE_LOG)
