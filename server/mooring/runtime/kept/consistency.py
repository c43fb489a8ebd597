"""When a cached evaluation may answer for the state as it is: checked here, and nowhere else.

A cached evaluation is true for one version of the state, and for one generation of the numbers that stand for
amounts. It answers only for a pod of which nothing but the profile's rules decides: nominated pods and score
lines in the log need an evaluation in full. All of that is looked at under the state's lock, in the step that
takes the answer; what was found true before the lock counts for nothing.

Locks are taken in this order, and the state's is never held while another one is waited for:

1. the turn of a pod (``Reservations``)
2. the lock of a cached evaluation (``Kept.lock``), one at a time
3. the state's lock (``ClusterState.lock``)

No plugin is called under the state's lock, unless the engine is exclusive: a plugin that hangs would hold up
every writer. Reserve plugins that hand out what only one pod may have (devices, volumes) take that lock
themselves and look again at what is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from mooring.framework import ClusterState, Pod
from mooring.runtime.kept.kept import Kept
from mooring.runtime.kept.standing import NotKeptError
from mooring.runtime.profile import Profile
from mooring.runtime.scoring import EVERY_SCORE, log

MAX_ATTEMPTS = 16
"""Attempts to follow a state that keeps changing, before the pod is evaluated in full."""

PATIENCE = 0.01
"""Seconds to wait for a thread that decides from the same evaluation and may be held up by a plugin."""

Found = TypeVar("Found")
Answer = TypeVar("Answer")


@contextmanager
def held(kept: Kept) -> Iterator[None]:
    """Hold the lock of ``kept``.

    Raises:
        NotKeptError: Another thread holds it for too long.
    """
    if not kept.lock.acquire(timeout=PATIENCE):
        raise NotKeptError
    try:
        yield
    finally:
        kept.lock.release()


def answer(
    cluster: ClusterState, kept: Kept, pod: Pod, look: Callable[[], Found], take: Callable[[Found], Answer]
) -> Answer:
    """``look`` without the state's lock, as often as it takes; ``take`` what it found under that lock, once
    it is true for the state as it is. The caller holds the lock of ``kept``, which ``look`` lets follow.

    Raises:
        NotKeptError: The pod has to be evaluated in full, or the state changes faster than can be followed.
    """
    for _ in range(MAX_ATTEMPTS):
        found = look()
        with cluster.lock:
            if not only_rules_matter(cluster, pod):
                break
            if kept.current():
                return take(found)
    raise NotKeptError


def may_decide(cluster: ClusterState, pod: Pod, profile: Profile) -> bool:
    """Whether nothing asks for more than the choice of a node by all of the profile's rules."""
    return profile.has_scoring and only_rules_matter(cluster, pod)


def only_rules_matter(cluster: ClusterState, pod: Pod) -> bool:
    """Whether only the profile's rules decide about ``pod``, and no score has to be logged.

    Certain for the holder of the state's lock; for others it saves work that would be in vain.
    """
    if pod.status.nominated_node_name or cluster.snapshot.pods.nominated:
        return False
    return not log.isEnabledFor(EVERY_SCORE)
