"""Which pods matter more, and which candidate costs least.

Mirrors ``MoreImportantPod`` and ``GetEarliestPodStartTime`` in ``pkg/scheduler/util/utils.go``, and
``pickOneNodeForPreemption`` in ``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from mooring.framework import Pod
from mooring.framework.preemption import Candidate

_OFFSET = 2**31
"""Added to each priority, so that two negative ones are not better than one."""


def priority_of(pod: Pod) -> int:
    """Return the pod's priority; 0 when it has none."""
    return pod.spec.priority or 0


def by_importance(pods: Sequence[Pod], now: float, came: Sequence[Pod] | None = None) -> list[Pod]:
    """``pods``, the most important first: by priority, then who started earlier.

    ``now``, in seconds since the epoch, is when a pod that hasn't started counts as started. With ``came``,
    all pods of the node in the order in which they came there, those are in that order: since Kubernetes 1.37
    each is asked once when it started. Before, the last of them goes first: kube-scheduler reads the clock in
    each comparison, and for the later pod before.
    """
    order = None if came is None else {pod.metadata.uid: place for place, pod in enumerate(came)}

    def rank(position: int) -> tuple[int, float, int]:
        pod = pods[position]
        place = position
        if pod.status.start_time is None:
            place = -position if order is None else order[pod.metadata.uid]
        return -priority_of(pod), started_at(pod, now), place

    return [pods[position] for position in sorted(range(len(pods)), key=rank)]


def cheapest(candidates: Sequence[Candidate], now: float) -> tuple[str, ...]:
    """Return the nodes whose victims cost least, all equally good."""
    if not candidates:
        return ()
    costs = [_cost(candidate, now) for candidate in candidates]
    least = min(costs)
    return tuple(
        candidate.node_name for candidate, cost in zip(candidates, costs, strict=True) if cost == least
    )


def _cost(candidate: Candidate, now: float) -> tuple[int, int, int, int, float]:
    priorities = [priority_of(pod) for pod in candidate.victims]
    top = max(priorities, default=-_OFFSET)
    tops = (started_at(pod, now) for pod in candidate.victims if priority_of(pod) == top)
    earliest = min(tops, default=now)
    return (
        candidate.violations,
        top,
        sum(priority + _OFFSET for priority in priorities),
        len(priorities),
        -earliest,
    )


def started_at(pod: Pod, now: float) -> float:
    """Return when the pod started, in seconds since the epoch; ``now`` if it hasn't."""
    text = pod.status.start_time
    if text is None:
        return now
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
