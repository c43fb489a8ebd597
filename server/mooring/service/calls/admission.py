"""Which calls share places: questions, commits, pushes and calls about sessions have pools of their own.

Calls that wait for others, as commits do for the API server, thus take no place of those that don't.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from mooring.service.calls.access import asks_place
from mooring.serving.calls.pools import CallPool
from mooring.telemetry.metrics import Metrics

LIVE_SECONDS: Final = 0.1
"""For this long after a call about the live state, another one is likely to come."""

PUSHES: Final = 4
"""Pushes at once; a source has one, as a rule."""

_SCHEDULING: Final = "/mooring.v1.SchedulingService/"
_COMMITS: Final = frozenset(_SCHEDULING + name for name in ("Bind", "Reserve", "Unreserve"))
_SCHEDULES: Final = frozenset(_SCHEDULING + name for name in ("Schedule", "ScheduleGroups"))
_ABOUT_SESSIONS: Final = frozenset(
    _SCHEDULING + name for name in ("Filter", "Score", "NormalizeScore", "Explain", "Preempt")
)
_PUSH: Final = "/mooring.v1.ClusterService/PushObjects"
_SIMULATION: Final = "/mooring.v1.SimulationService/"


class Admission:
    """The pools of one server. Thread-safe.

    A place is taken after the request has arrived: a call without a body takes none.

    Args:
        metrics: Counts the calls.
        limit: Queries in progress at once, and as many commits.
    """

    def __init__(self, metrics: Metrics, limit: int) -> None:
        rejected = metrics.shed_calls.inc
        self._questions = CallPool("questions", limit, rejected)
        self._commits = CallPool("commits", limit, rejected)
        self._pushes = CallPool("pushes", PUSHES, rejected)
        self._futures = CallPool("calls about sessions", limit, rejected)
        pools = (self._questions, self._commits, self._pushes, self._futures)
        metrics.inflight_calls.set_function(lambda: sum(pool.inflight for pool in pools))

    def is_live(self) -> bool:
        """Return whether calls about the live state are being worked on, or were a moment ago."""
        ended = max(self._questions.ended, self._commits.ended)
        inflight = self._questions.inflight + self._commits.inflight
        return inflight > 0 or time.monotonic() - ended < LIVE_SECONDS

    def pool_of(self, method: str) -> Callable[[Any], CallPool]:
        """Return the pool of a request of ``method``, its full name as on the wire."""
        if method.startswith(_SIMULATION):
            return lambda _: self._futures
        if method in _SCHEDULES:
            return self._schedules_of
        if method == _PUSH:
            return lambda _: self._pushes
        if method in _ABOUT_SESSIONS:
            return self._asked_of
        pool = self._commits if method in _COMMITS else self._questions
        return lambda _: pool

    def _schedules_of(self, request: Any) -> CallPool:
        if request.session:
            return self._futures
        return self._commits if asks_place(request) else self._questions

    def _asked_of(self, request: Any) -> CallPool:
        return self._futures if request.session else self._questions
