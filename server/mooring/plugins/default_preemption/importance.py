"""Which candidate costs least.

Mirrors ``GetEarliestPodStartTime`` in ``pkg/scheduler/util/utils.go``, and ``pickOneNodeForPreemption`` in
``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from mooring.framework import Int64s, Pod
from mooring.framework.preemption import Candidate
from mooring.kernels.arrays import Float64s

COSTS = 6
"""How many numbers a cost is. Each is an integer that float64 holds, or a time."""

OFFSET = 2**31
"""Added to each priority, so that two negative ones are not better than one."""


def cheapest(costs: Float64s, now: float) -> Int64s:
    """int64[B]: the candidates that cost least, all equally good; ``costs`` (float64[6, K]) are as
    ``cost_of`` has them.
    """
    best: Int64s = np.arange(costs.shape[1])
    for number in range(4) if len(best) else ():
        least = costs[number] == costs[number].min()
        # Mostly all cost the same, and picking out all of them takes longer than finding that out.
        if not least.all():
            best, costs = best[least], costs[:, least]
    earliest, waiting = costs[4], costs[5] > 0
    starts = np.where(waiting, np.minimum(earliest, now), earliest)
    latest: Int64s = best[starts == starts.max(initial=-np.inf)]
    return latest


def cost_of(candidate: Candidate) -> tuple[float, ...]:
    """Return the candidate's cost, independent of the time.

    These are how many budgets are violated, the priority of the first victim, the sum of priorities, and how
    many victims there are. Then comes when the first victim of the highest priority started, in seconds since
    the epoch, infinite if none has. The last is 1 if one of those has not started, which counts as now.
    Priorities are the pods' own, also of groups.
    """
    priorities = [pod.priority for pod in candidate.victims]
    first, top = next(iter(priorities), -OFFSET), max(priorities, default=-OFFSET)
    tops = [pod for pod in candidate.victims if pod.priority == top]
    started = [started_at(pod, 0.0) for pod in tops if pod.status.start_time is not None]
    total = sum(priority + OFFSET for priority in priorities)
    waiting = len(started) < len(tops) or not tops
    return candidate.violations, first, total, len(priorities), min(started, default=np.inf), waiting


def costs_of(candidates: Iterable[Candidate]) -> Float64s:
    """float64[6, K]: ``cost_of`` each of the candidates."""
    return np.array([cost_of(candidate) for candidate in candidates], np.float64).reshape(-1, COSTS).T


def started_at(pod: Pod, now: float) -> float:
    """Return when the pod started, in seconds since the epoch; ``now`` if it hasn't."""
    text = pod.status.start_time
    return now if text is None else moment_of(text)


def moment_of(text: str) -> float:
    """Return the moment that ``text`` says, in seconds since the epoch."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
