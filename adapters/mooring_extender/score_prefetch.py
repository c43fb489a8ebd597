"""Scores that came along with an answer of filter, for the prioritize call that follows it.

kube-scheduler decides a pod on one snapshot of its cluster, and calls prioritize with the very pod and nodes
that filter has left. So Filter and Score of such a pair are one call to mooring, on one state. A
request is recognised by all of its bytes; any other one goes to mooring.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from mooring_extender.scores import Scores

FRESH_SECONDS: Final = 1.0
"""Seconds after filter during which its scores are used. kube-scheduler needs them sooner, or still waits."""

_MOST: Final = 4


class _Expected(msgspec.Struct, frozen=True):
    """A prioritize question that is expected, and until when (seconds, as ``clock`` counts)."""

    profile: str
    pod: bytes
    until: float
    scores: Scores

    def is_asked_by(self, body: bytes) -> bool:
        """Return whether ``body`` is the question, as Go writes it."""
        beginning, end = b'{"Pod":%s' % self.pod, self.scores.names.ending
        return len(body) == len(beginning) + len(end) and body.startswith(beginning) and body.endswith(end)


class ScorePrefetch:
    """The scores for questions that are expected. For one event loop. ``clock`` gives seconds that never go
    back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expected: list[_Expected] = []
        self._asked: set[str] = set()

    def wanted(self, profile: str) -> bool:
        """Return whether prioritize is called for this profile; without prioritizeVerb it never is."""
        return profile in self._asked

    def want(self, profile: str) -> None:
        """Note that prioritize is called for a profile that mooring has: any path may name one."""
        self._asked.add(profile)

    def forget(self, pod: bytes) -> None:
        """Forget all answers about ``pod`` (its JSON), since a new cycle has begun for it."""
        self._expected = [one for one in self._expected if one.pod != pod]

    def expect(self, profile: str, pod: bytes, scores: Scores) -> None:
        """Expect a call with ``pod`` and exactly these nodes; the latest few calls are expected."""
        self.forget(pod)
        del self._expected[: 1 - _MOST]
        self._expected.append(_Expected(profile, pod, self._clock() + FRESH_SECONDS, scores))

    def take(self, profile: str, body: bytes) -> Scores | None:
        """Return the scores for a prioritize call, once; None if mooring has to be called."""
        for one in self._expected:
            if one.profile == profile and one.is_asked_by(body):
                self._expected.remove(one)
                return one.scores if self._clock() < one.until else None
        return None
