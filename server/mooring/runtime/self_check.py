"""Compares cached answers with full evaluations while the process runs.

One cached answer in N is an occasion. A pod like the answered one is decided again at one version of the
state, from the cache and in full, and both answers have to be the same. If the cache is bypassed, the
known verdicts of earlier Filter calls are compared. The checks run in a thread of their own and take a
small share of its time, so that decisions hardly notice. A difference means wrong
placements: it is counted and logged with everything needed to repeat it, and the cache is dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.framework import Bools, Int64s, Part, Plugin, Pod, Status
from mooring.framework.cacheable import dependencies_of
from mooring.framework.state import ClusterState
from mooring.runtime.cache.answers.decide import Cached
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.tracking.change_tracker import DYNAMIC, ChangeTracker
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import FullCycle
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.tuning import SELF_CHECK_EVERY

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

REJECTED = np.iinfo(np.int64).min
"""Stands for a score if the plugin rejects the node."""

UNKNOWN = REJECTED + 1
"""Stands for a score if the plugin was not called, or gave none."""

_encode = msgspec.json.Encoder().encode


class Asking(Protocol):
    """Evaluates the same pod from the cache and in full."""

    def cached_with_copy(self, pod: Pod, profile: Profile, seed: int) -> Cached | None:
        """Return the cached answer, with a copy of the state; None when there is none now."""
        ...

    def decide(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        *,
        seed: int,
        state: ClusterState | None,
        options: CycleOptions | None,
    ) -> Choice:
        """Return the answer; with options, of a full cycle."""
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
        """Ask about a pod like ``pod`` in both ways, in this thread. Returns whether both say the same; None
        when the cache has no answer now.
        """
        # Neither where the pod itself has got to by now nor its nomination is of interest.
        self._count += 1
        name = f"self-check-{self._count}"
        asked = replace(pod, metadata=replace(pod.metadata, name=name, uid=name))
        cached = asking.cached_with_copy(asked, profile, seed)
        if cached is None:
            return self._check_verdicts(asked, profile)
        in_full = partial(asking.decide, seed=seed, state=cached.state, options=CycleOptions())
        written = profile.as_written
        full = in_full(asked, written, ALL_NODES)
        same = summary(cached.choice) == summary(full)
        self._checked("same" if same else "different")
        now = Asked(cached.cached, asked, full.evaluation, full.state_version)
        if not same:
            self.different += 1
            found = wrong_declarations(
                now,
                tuple(self._earlier),
                self._cache.tracker,
                lambda like: in_full(like, written, ALL_NODES).evaluation,
            )
            for name in _differing(full.evaluation, in_full(asked, profile, ALL_NODES).evaluation):
                profile.stop_following(name, "gave two answers for equal reads")
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
            "; ".join(found) or "every plugin keeps to its declarations",
            cached.cached.static.version,
            _encode(cached.cached.pod).decode(),
            _encode(now.pod).decode(),
        )


def _said(evaluation: Evaluation) -> list[Status]:
    return [evaluation.statuses[code] for code in evaluation.codes.tolist()]


def summary(choice: Choice) -> tuple[str | None, int, int, int, int]:
    """Node, total, ties, feasible and evaluated: what an answer consists of."""
    return choice.node_name, choice.total, choice.tie_count, choice.feasible, choice.evaluated


class Asked(msgspec.Struct, frozen=True):
    """A pod that was evaluated in full.

    Attributes:
        cached: The cached evaluation of its pods.
        evaluation: The answer, on a private copy of the state.
        version: The version of the state that it is true for.
    """

    cached: CachedEvaluation
    pod: Pod
    evaluation: Evaluation
    version: int


def wrong_declarations(
    now: Asked, earlier: Sequence[Asked], tracker: ChangeTracker, again: Callable[[Pod], Evaluation]
) -> tuple[str, ...]:
    """Yield a sentence for each plugin whose declaration was found to be wrong, now that the cached answer to
    the question ``now`` was. ``earlier`` are questions of earlier checks, and ``again`` asks all plugins
    about a pod in the state of ``now``.
    """
    found = {
        f"plugin {name} said one thing and then another of the same nodes and pod; "
        "what it reads must be declared as Part.OUTSIDE": True
        for name in _differing(now.evaluation, again(now.pod))
    }
    if found:
        return tuple(found)
    for name in _differing(now.evaluation, again(now.cached.pod)):
        found[f"plugin {name} answers differently for pods with equal signatures"] = True
    for before in earlier:
        if before.cached is now.cached:
            for name in _differing(before.evaluation, now.evaluation):
                parts = _declared(now, name)
                if parts is not None and _unmoved(before, parts, tracker):
                    found[
                        f"plugin {name} changed its answer though none of its declared parts changed: {parts}"
                    ] = True
    return tuple(found)


def _differing(one: Evaluation, other: Evaluation) -> Iterator[str]:
    """Yield the plugins whose answers differ about a node that has the same resources in both."""
    if one.snapshot.nodes.epoch != other.snapshot.nodes.epoch or not np.array_equal(one.rows, other.rows):
        return
    steady = _same_resources(one, other)
    for name in one.profile.plugins:
        before, after = answers(one, name), answers(other, name)
        both = (before != UNKNOWN) & (after != UNKNOWN) & steady
        if (before[both] != after[both]).any():
            yield name


def answers(evaluation: Evaluation, plugin: str) -> Int64s:
    """int64[N]: by candidate the plugin's raw score, ``REJECTED`` or ``UNKNOWN``."""
    said = np.full(len(evaluation.rows), UNKNOWN, np.int64)
    rejecting = [at for at, status in enumerate(evaluation.statuses) if at and status.plugin == plugin]
    said[np.isin(evaluation.codes, rejecting)] = REJECTED
    scores = {one.plugin: one.raw for one in evaluation.scores.plugins} if evaluation.scores else {}
    feasible = evaluation.feasible
    said[feasible] = scores.get(plugin, np.zeros(len(feasible), np.int64))
    return said


def _same_resources(one: Evaluation, other: Evaluation) -> Bools:
    """bool[N]: whether a candidate has the same allocatable and requested in both."""
    same = np.ones(len(one.rows), np.bool_)
    for columns in ("allocatable", "requested", "non_zero_requested"):
        before, after = (getattr(side.snapshot.nodes, columns)[:, side.rows] for side in (one, other))
        if before.shape != after.shape:
            return np.zeros(len(one.rows), np.bool_)
        same &= (before == after).all(axis=0)
    return same


def _declared(asked: Asked, name: str) -> Part | None:
    """Return what the plugin declares to depend on; None when it evaluates no pods."""
    plugin: Plugin[Any] | None = asked.evaluation.profile.plugins.get(name)
    if plugin is None:
        return None
    declared = dependencies_of(plugin, asked.pod)
    return declared.parts | declared.parts_of_skip


def _unmoved(before: Asked, parts: Part, tracker: ChangeTracker) -> bool:
    """Return whether none of ``parts`` changed since; resources are compared by themselves."""
    if parts & (DYNAMIC & ~Part.RESOURCES):
        return False
    return not any(part & parts for part in tracker.moved_since(before.version))
