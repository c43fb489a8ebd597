"""Full cycles over the live state, without the cache: evaluate against a consistent state, and assume.

An evaluation takes no lock, unless the caller holds the state's. It reads the tables, and its answer counts
only if nothing changed meanwhile; otherwise it is repeated, at last on a private copy. Extenders are called
once, over a private copy from the start: they take longer than the state stands still. A selected node is
assumed under the state's lock, in one step with the check that nothing changed since the filters passed. When
something did, that node alone is filtered again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mooring.framework import Int32s, Pod
from mooring.framework.errors import (
    MooringError,
    NotFoundError,
    PluginFailureError,
    UnavailableError,
    node_not_found,
)
from mooring.framework.state import UNREAD, ClusterState
from mooring.framework.view import NodesChangedError
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice, choice_of, no_choice
from mooring.runtime.cycle.cycle import CycleOptions, Run, evaluate, evaluate_filters
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.known_verdicts import KnownVerdicts
from mooring.runtime.cycle.plugin_calls import (
    NoDeadline,
    Observer,
    PluginAccess,
    PluginCalls,
    Progress,
    seconds_of,
)
from mooring.runtime.cycle.tie_break import choose
from mooring.runtime.cycle.time_shares import TimeShares
from mooring.runtime.profiles.profile import Profile

OPTIMISTIC_ATTEMPTS = 3
"""Lock-free attempts before falling back to a private copy."""

MAX_ATTEMPTS = 64
"""Attempts to assume a pod before the call is rejected."""

Found = tuple[Evaluation, int]
"""An evaluation, and the version of the state that it is true for."""


class FullCycle:
    """Evaluates pods with all of a profile's plugins. Safe from any thread.

    Attributes:
        known: Verdicts of Filter about earlier pods that no node took.
        shares: The time of decisions by plugin.
        start: Where the next search begins that ends before all nodes were evaluated; ``nextStartNodeIndex``.
    """

    def __init__(self, state: ClusterState, observer: Observer) -> None:
        self.start = 0
        self._state = state
        self._observer = observer
        self.shares = TimeShares()
        self.known = KnownVerdicts()

    def access(
        self, progress: Progress | None = None, *, final: Callable[[], bool] = lambda: True
    ) -> PluginAccess:
        """Return the way to call plugins in one decision; ``final`` as in ``PluginCalls``."""
        return PluginAccess(self._observer, self.known, progress, final)

    def attempt(self, progress: Progress | None = None) -> PluginAccess:
        """Return ``access`` for an attempt after whose failure pods are evaluated in full."""
        return PluginAccess(self._observer, self.known, progress, _never)

    def attempt_for(self, profile: Profile, progress: Progress | None = None) -> PluginCalls:
        """Return ``attempt(progress).of(profile)``."""
        seconds = seconds_of(self._observer)
        return PluginCalls(
            profile.name, progress or NoDeadline(), self._observer, _never, self.known, seconds
        )

    def calls(self, profile: Profile, progress: Progress | None = None) -> PluginCalls:
        """Return the way to call the plugins of ``profile`` in one decision."""
        return self.access(progress).of(profile)

    def evaluate(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        run: Run,
        *,
        state: ClusterState | None = None,
        progress: Progress | None = None,
        shared: bool = False,
    ) -> Found:
        """Do ``run``, the whole cycle or a part of it, against a consistent state, without the cache.

        ``shared`` says that it is a decision, whose time counts in ``shares``.
        """
        began = time.perf_counter()
        read = state or self._state
        calls = self.access(progress, final=lambda: _is_at(read, version)).of(profile)
        for _ in range(OPTIMISTIC_ATTEMPTS):
            version = read.version
            try:
                evaluation = run(profile, read, pod, candidates.rows(read), calls)
            except NodesChangedError:
                continue
            except Exception as failure:
                verdict = isinstance(failure, MooringError) and not isinstance(failure, PluginFailureError)
                # Tables that change while they are read can make any plugin fail.
                if verdict or _is_at(read, version):
                    raise
                continue
            if _is_at(read, version):
                break
        else:
            fork = read.fork()
            version = fork.version
            evaluation = run(profile, fork, pod, candidates.rows(fork), self.calls(profile, progress))
        if shared:
            self.shares.add(profile, calls.seconds, time.perf_counter() - began)
        return evaluation.closed(), version

    def measured(self, pod: Pod, profile: Profile, candidates: Candidates, run: Run, **how: Any) -> Found:
        """``evaluate``, counted as a decision; over a private copy where extenders take part."""
        began = time.perf_counter()
        if how.get("state") is None and profile.extenders_for(pod):
            how["state"] = self._state.fork()
        found = self.evaluate(pod, profile, candidates, run, shared=True, **how)
        self._observer.algorithm_duration(time.perf_counter() - began)
        return found

    def place(
        self,
        pod: Pod,
        profile: Profile,
        candidates: Candidates,
        seed: int,
        progress: Progress | None,
    ) -> Choice:
        """Select the node for ``pod`` and assume it there. Raises UnavailableError if the state changes
        faster than the decision can follow.
        """
        for _ in _attempts(pod):
            run = partial(evaluate, options=CycleOptions(start=self.start, reuse=True))
            evaluation, version = self.measured(pod, profile, candidates, run, progress=progress)
            choice = select(evaluation, version, seed)
            if self._assume(pod, profile, choice, progress):
                with self._state.lock:
                    self.start = (self.start + evaluation.advance) % max(len(evaluation.rows), 1)
                break
        return choice

    def filter_twice(self, pod: Pod, profile: Profile) -> tuple[Evaluation, Evaluation]:
        """Filter all nodes of a private copy, with the verdicts that are known and without."""
        fork = self._state.fork()
        known, _ = self.evaluate(pod, profile, ALL_NODES, partial(evaluate_filters, reuse=True), state=fork)
        full, _ = self.evaluate(pod, profile, ALL_NODES, evaluate_filters, state=fork)
        return known, full

    def _assume(self, pod: Pod, profile: Profile, choice: Choice, progress: Progress | None) -> bool:
        """Assume ``pod`` on its selected node; return whether it is there, or needs no place."""
        name, evaluation = choice.node_name, choice.evaluation
        if name is None or self._assume_at(choice.state_version, pod, name):
            return True
        try:
            again = self.assume_if_fits(pod, name, profile, progress)
        except NotFoundError:
            return False
        # Reserve continues with the notes for the state in which the pod was assumed.
        evaluation.written = again.written
        return again.feasible_count > 0

    def _assume_at(self, version: int, pod: Pod, node_name: str) -> bool:
        """Assume ``pod`` if nothing that a plugin could read changed after ``version``; else False.

        The one place where a full evaluation becomes a placement; the twin of ``cache.consistency``.
        """
        state = self._state
        with state.lock:
            changes = state.changes_since(version)
            if changes is None or not all(
                record is None and amount == UNREAD for _, record, amount in changes
            ):
                return False
            state.assume(pod, node_name)
            return True

    def assume_if_fits(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None = None
    ) -> Evaluation:
        """Filter ``pod`` on the node and, when it fits, assume it there in one step; else nothing is changed.

        The filters pass in the very state in which the pod is assumed: besides the node, everything that a
        filter may read is unchanged, such as the pods of a topology domain, claims and devices. Raises
        NotFoundError if there is no such node (NODE_NOT_FOUND), and UnavailableError if the state changes
        faster than the check can follow.
        """
        node = Candidates(lambda state: row_of(state, node_name))
        for _ in _attempts(pod):
            evaluation, version = self.evaluate(pod, profile, node, evaluate_filters, progress=progress)
            if not evaluation.feasible_count or self._assume_at(version, pod, node_name):
                break
        return evaluation


def select(evaluation: Evaluation, version: int, seed: int) -> Choice:
    """Select one of the best nodes: the same evaluation, pod UID and seed give the same node."""
    best = evaluation.best
    if not len(best):
        return no_choice(evaluation, version)
    position = choose(seed, evaluation.pod.metadata.uid, len(best))
    return choice_of(evaluation, best, position, version)


def _attempts(pod: Pod) -> Iterator[None]:
    """Yield an attempt after the other to place ``pod``; after the last one the state is too busy."""
    yield from (None for _ in range(MAX_ATTEMPTS))
    raise UnavailableError(
        f"the state changed during each of {MAX_ATTEMPTS} attempts to place pod {pod.key}; try again",
        reason="OVERLOADED",
    )


def _never() -> bool:
    return False


def row_of(state: ClusterState, node_name: str) -> Int32s:
    """int32[1]: the row of the node; raises NotFoundError if there is none (NODE_NOT_FOUND)."""
    row = state.snapshot.nodes.index.get(node_name)
    if row is None:
        raise node_not_found(node_name)
    return np.array([row], np.int32)


def _is_at(state: ClusterState, version: int) -> bool:
    """Return whether ``state`` still has ``version``, under the lock: a write may be under way."""
    with state.lock:
        return state.version == version
