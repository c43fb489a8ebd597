"""Which pods matter more, and which candidate costs least.

Mirrors ``MoreImportantPod`` and ``GetEarliestPodStartTime`` in ``pkg/scheduler/util/utils.go``, and
``pickOneNodeForPreemption`` in ``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Cost:
    """What a candidate costs, whatever time it is.

    Attributes:
        price: How many budgets are violated, the top priority, the sum of priorities, and how many victims.
        earliest: When the first of the top ones started, in seconds since the epoch; None where none has.
        waiting: Whether one of the top ones has not started, or there is none: it counts as started now.
    """

    price: tuple[int, int, int, int]
    earliest: float | None
    waiting: bool

    def start(self, now: float) -> float:
        """Return when the first of the top victims started."""
        if self.earliest is None:
            return now
        return min(self.earliest, now) if self.waiting else self.earliest


def cheapest(
    candidates: Sequence[Candidate], now: float, cost: Callable[[Candidate], Cost] | None = None
) -> tuple[str, ...]:
    """Return the nodes whose victims cost least, all equally good; ``cost`` does what ``cost_of`` does."""
    if not candidates:
        return ()
    costs = list(map(cost or cost_of, candidates))
    least = min([one.price for one in costs])
    best = [
        (candidate.node_name, one.start(now))
        for candidate, one in zip(candidates, costs, strict=True)
        if one.price == least
    ]
    latest = max([start for _, start in best])
    return tuple([name for name, start in best if start == latest])


def cost_of(candidate: Candidate) -> Cost:
    """Return what the candidate costs."""
    priorities = [priority_of(pod) for pod in candidate.victims]
    top = max(priorities, default=-_OFFSET)
    tops = [pod for pod in candidate.victims if priority_of(pod) == top]
    started = [started_at(pod, 0.0) for pod in tops if pod.status.start_time is not None]
    total = sum(priority + _OFFSET for priority in priorities)
    price = candidate.violations, top, total, len(priorities)
    return Cost(price, min(started, default=None), len(started) < len(tops) or not tops)


def started_at(pod: Pod, now: float) -> float:
    """Return when the pod started, in seconds since the epoch; ``now`` if it hasn't."""
    text = pod.status.start_time
    if text is None:
        return now
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
