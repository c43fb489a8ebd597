"""When a cached evaluation may answer for the state as it is: checked here, and nowhere else.

A cached evaluation is true for one version of the state, and for one generation of the resource-state ids. It
answers only for a pod of which nothing but the profile's rules decides: nominated pods and score lines in the
log need a full evaluation. And it is found by the labels that some selector names, so it answers only while
these are all that selectors name. All of that which the state says is looked at under its lock, in the step
that takes the answer; what was found true before the lock counts for nothing.

Locks are taken in this order, and the state's is never held while another one is waited for:

1. the turn of a pod (``Reservations``)
2. the lock of a cached evaluation, for as long as it is held (``with`` a ``CachedEvaluation``), one at a time
3. the state's lock (``ClusterState.lock``)

No plugin is called under the state's lock, unless the engine is exclusive: a plugin that hangs would hold up
every writer. Reserve plugins that hand out what only one pod may have (devices, volumes) take that lock
themselves and look again at what is free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mooring.framework import Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.evaluation_cache import Template
from mooring.runtime.cache.outcome import Bypass, CacheCounts, NotCachedError
from mooring.runtime.cycle.score import EVERY_SCORE, log
from mooring.runtime.profiles.profile import Profile

MAX_ATTEMPTS = 16
"""Attempts to follow a state that keeps changing, before the pod is evaluated in full."""

Found = TypeVar("Found")
Answer = TypeVar("Answer")


def answer(
    cluster: ClusterState,
    counts: CacheCounts,
    template: Template,
    look: Callable[[], Found],
    take: Callable[[Template, Found], Answer],
) -> Answer:
    """Call ``look`` without the state's lock until what it found is true for the state as it is.

    Then ``take`` gets it, under that lock. The caller holds the evaluation of ``template``, which ``look``
    updates.

    Raises:
        NotCachedError: The pod has to be evaluated in full, or the state changes faster than can be followed.
    """
    cached = template.cached
    begun = cached.begun
    for _ in range(MAX_ATTEMPTS):
        found = look()
        with cluster.lock:
            check_still_decides(cluster, template)
            if cached.current():
                answered = take(template, found)
                if cached.begun == begun:
                    counts.hits += 1
                else:
                    counts.misses += 1
                return answered
    raise NotCachedError(Bypass.STATE_CHANGING)


def check_still_decides(cluster: ClusterState, template: Template) -> None:
    """Go on only if no pod was nominated since ``template`` was found, and no more labels are read.

    The caller holds the state's lock.

    Raises:
        NotCachedError: One was, or a selector names another label.
    """
    pods = cluster.snapshot.pods
    if pods.nominated:
        raise NotCachedError(Bypass.NOMINATED)
    if pods.selected_keys is not template.selected_keys:
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

    That no pod is nominated is certain for the holder of the state's lock alone, who looks again.

    Raises:
        NotCachedError: Something else does.
    """
    if pod.status.nominated_node_name or cluster.snapshot.pods.nominated:
        raise NotCachedError(Bypass.NOMINATED)
    if log.isEnabledFor(EVERY_SCORE):
        raise NotCachedError(Bypass.SCORE_LOG)
