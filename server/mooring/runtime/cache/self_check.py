"""Compares cached answers with full evaluations while the process runs.

One cached answer in N is an occasion: a pod like the one that was answered about is asked about again, at one
version of the state, from the cache and in full, and both answers have to be the same. If the cache is
bypassed, the verdicts that are known from earlier Filter calls are compared. The checks run in a thread of
their own and take a small share of its time, so that decisions hardly notice. A difference means wrong
placements: it is counted and logged with what is needed to play it again, and everything cached is dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from mooring.framework import Pod, Status
from mooring.framework.state import ClusterState
from mooring.runtime.cache import SELF_CHECK_EVERY
from mooring.runtime.cache.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.declarations import Asked, wrong_declarations
from mooring.runtime.cache.evaluation_cache import EvaluationCache
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import FullCycle
from mooring.runtime.profiles.profile import Profile

log = logging.getLogger(__name__)

DEFAULT_SHARE = 0.02
"""The largest part of one thread's time that checks may take."""

FIRST_AFTER = 1.0
"""Seconds without checks after the start: a short burst of decisions is not held up by one."""

_MAX_REMEMBERED, _MAX_REMEMBERED_ROWS = 8, 1 << 17
"""Evaluations of earlier checks that are kept, to find out which plugin's answers changed, and how many nodes
they have together: each of them holds a copy of the state."""

_MAX_TOLD = 3
"""How many nodes with wrong verdicts are logged."""

_encode = msgspec.json.Encoder().encode


class Cached(msgspec.Struct, frozen=True):
    """A cached answer with a private copy of the state that it is true for.

    Attributes:
        choice: The answer.
        state: The copy.
        cached: The evaluation that the answer comes from.
    """

    choice: Choice
    state: ClusterState
    cached: CachedEvaluation


class Asking(Protocol):
    """Evaluates the same pod from the cache and in full."""

    def cached_with_copy(self, pod: Pod, profile: Profile, seed: int) -> Cached | None:
        """Return the cached answer, with a copy of the state; None when there is none now."""
        ...

    def in_full(self, pod: Pod, profile: Profile, seed: int, state: ClusterState) -> Choice:
        """Return the answer of a full cycle."""
        ...


class SelfCheck:
    """Compares cached answers with full cycles. Safe from any thread.

    ``answered`` takes well under a microsecond unless a check begins.

    Args:
        cache: Whose evaluations are dropped when one was wrong.
        full: Whose known verdicts are.
        checked: Called with the outcome of each check: ``same``, ``different`` or ``failed``.
        every: As the attribute.

    Attributes:
        every: One answer in this many is checked, if the share of time allows; 0 = none.
        share: The largest part of one thread's time that is spent; above 0, up to 1.
        different: How many checks found a wrong answer.
        not_before: No check begins before this, by the monotonic clock in seconds.
    """

    def __init__(
        self,
        cache: EvaluationCache,
        full: FullCycle,
        checked: Callable[[str], object],
        *,
        every: int = SELF_CHECK_EVERY,
    ) -> None:
        self.every = every
        self.share = DEFAULT_SHARE
        self.different = 0
        self.not_before = time.monotonic() + FIRST_AFTER
        self._cache = cache
        self._full = full
        self._checked = checked
        self._answers = 0
        self._count = 0
        self._busy = threading.Lock()
        self._earlier: deque[Asked] = deque()

    def answered(self, asking: Asking, pod: Pod, profile: Profile, seed: int, count: int = 1) -> None:
        """``asking`` gave ``count`` pods like ``pod`` a cached answer."""
        self._answers += count
        if self._answers < self.every or not self.every:
            return
        self._answers = 0
        if time.monotonic() >= self.not_before and self._busy.acquire(blocking=False):
            threading.Thread(
                target=self._run, args=(asking, pod, profile, seed), name="self-check", daemon=True
            ).start()

    def _run(self, asking: Asking, pod: Pod, profile: Profile, seed: int) -> None:
        began = time.monotonic()
        try:
            self.check(asking, pod, profile, seed)
        except Exception:
            self._checked("failed")
            log.exception("checking a cached answer about pods like %s failed", pod.key)
        finally:
            now = time.monotonic()
            self.not_before = now + (now - began) * (1 / self.share - 1)
            self._busy.release()

    def check(self, asking: Asking, pod: Pod, profile: Profile, seed: int) -> bool | None:
        """Ask about a pod like ``pod`` in both ways, in this thread.

        Returns:
            Whether both say the same; None when the cache has no answer now.
        """
        # Neither where the pod itself has got to by now nor its nomination is of interest.
        self._count += 1
        name = f"self-check-{self._count}"
        asked = replace(pod, metadata=replace(pod.metadata, name=name, uid=name))
        cached = asking.cached_with_copy(asked, profile, seed)
        if cached is None:
            return self._check_verdicts(asked, profile)
        full = asking.in_full(asked, profile, seed, cached.state)
        same = summary(cached.choice) == summary(full)
        self._checked("same" if same else "different")
        now = Asked(cached.cached, asked, full.evaluation, full.state_version)
        if not same:
            self.different += 1
            found = wrong_declarations(
                now,
                tuple(self._earlier),
                self._cache.tracker,
                lambda like: asking.in_full(like, profile, seed, cached.state).evaluation,
            )
            self._cache.drop()
            self._earlier.clear()
            self._tell(cached, full, now, found, seed)
        self._remember(now)
        return same

    def _check_verdicts(self, pod: Pod, profile: Profile) -> bool | None:
        known, full = self._full.filter_twice(pod, profile)
        if not known.recalled:
            return None
        wrong = [
            f"{full.names[row]}: known {before}, in full {now}"
            for row, before, now in zip(full.rows, _said(known), _said(full), strict=True)
            if before != now
        ]
        self._checked("different" if wrong else "same")
        if wrong:
            self.different += 1
            self._full.known.drop()
            log.error(
                "known verdicts were wrong of %d nodes, so all were dropped: profile %s, %s; the pod: %s",
                len(wrong),
                profile.name,
                "; ".join(wrong[:_MAX_TOLD]),
                _encode(pod).decode(),
            )
        return not wrong

    def _remember(self, asked: Asked) -> None:
        earlier = self._earlier
        earlier.append(asked)
        rows = sum(len(one.evaluation.rows) for one in earlier)
        while len(earlier) > _MAX_REMEMBERED or rows > _MAX_REMEMBERED_ROWS:
            rows -= len(earlier.popleft().evaluation.rows)

    def _tell(self, cached: Cached, full: Choice, now: Asked, found: Sequence[str], seed: int) -> None:
        log.error(
            "a cached answer was wrong, so all were dropped: profile %s, state version %d, seed %d: "
            "cached %s, in full %s; %s; cached at version %d for %s; the pod: %s",
            now.evaluation.profile.name,
            full.state_version,
            seed,
            summary(cached.choice),
            summary(full),
            "; ".join(found) or "every plugin keeps to what it declares",
            cached.cached.static.version,
            _encode(cached.cached.pod).decode(),
            _encode(now.pod).decode(),
        )


def _said(evaluation: Evaluation) -> list[Status]:
    return [evaluation.statuses[code] for code in evaluation.codes.tolist()]


def summary(choice: Choice) -> tuple[str | None, int, int, int, int]:
    """Node, total, ties, feasible and evaluated: what an answer consists of."""
    return choice.node_name, choice.total, choice.tie_count, choice.feasible, choice.evaluated
