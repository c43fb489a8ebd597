"""Decisions over the live state: evaluate, choose, assume.

An evaluation takes no lock, unless the engine is exclusive. It reads the tables, and its answer counts only
if nothing changed meanwhile; otherwise it is done again, at last on a private copy. Extenders are asked once,
over a private copy from the start: they take longer than the state stands still. A choice is assumed under
the state's lock, in one step with the check that nothing changed since the filters passed. When something
did, the chosen node alone is filtered again. The order of locks is written down in ``kept.consistency``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mooring.framework import ClusterState, Int32s, Pod, Status
from mooring.framework.errors import (
    MooringError,
    NotFoundError,
    PluginFailureError,
    UnavailableError,
    node_not_found,
)
from mooring.framework.view import NodesChangedError
from mooring.runtime.choice import Choice, ChoiceColumns, chosen
from mooring.runtime.cycle import CycleOptions, evaluate, evaluate_filters
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.extender import Extender
from mooring.runtime.kept.answers import KeptAnswers, Totals
from mooring.runtime.kept.decisions import KeptDecisions
from mooring.runtime.kept.in_turn import DecisionsInTurn
from mooring.runtime.kept.keeper import Keeper
from mooring.runtime.kept.overlay import Overlays
from mooring.runtime.kept.self_check import Cached, SelfCheck
from mooring.runtime.kept.standing import ask_nobody
from mooring.runtime.permit import PermitRoom
from mooring.runtime.profile import Profile, find_profile
from mooring.runtime.progress import NullObserver, Observer, PluginCalls, Progress, Unhurried
from mooring.runtime.rows import Rows, all_rows
from mooring.runtime.tie_break import choose, mix64

OPTIMISTIC_ATTEMPTS = 3
"""So often the live tables are read before a private copy is taken."""

MAX_ATTEMPTS = 64
"""So often a choice is tried to be assumed before the call is refused."""

Run = Callable[[Profile, ClusterState, Pod, Int32s, PluginCalls], Evaluation]
"""What is done with the candidates: the whole cycle, or a part of it."""


class Engine:
    """Decides with a set of profiles over one state. Safe from any thread.

    Attributes:
        state: The state.
        profiles: The profiles by name.
        waiting: Where pods wait for the profiles' Permit plugins.
        exclusive: Changes of the state wait for decisions that count, rather than make them void: for a
            process in which one thread decides, and one decision follows the other. They don't wait for
            extenders.
        start: Where the next search begins that ends before all nodes were looked at.
        self_check: Compares some of the cached answers with full evaluations.
    """

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        observer: Observer | None = None,
        waiting: PermitRoom | None = None,
        *,
        exclusive: bool = False,
    ) -> None:
        self.state = state
        self.waiting = waiting or PermitRoom()
        self.profiles = dict(profiles)
        self.exclusive = exclusive
        self._observer = observer or NullObserver()
        self.start = 0
        keeper = Keeper(state)
        self._keeper = keeper
        self._kept = KeptDecisions(state, keeper)
        self._answers = KeptAnswers(state, keeper)
        self._overlays = Overlays(state, keeper)
        self.self_check = SelfCheck(keeper, self._observer.self_checked)

    def extend(self, extenders: Sequence[Extender]) -> None:
        """Let extenders take part in every profile's decisions, in this order. Before the first decision."""
        self.profiles = {
            name: replace(profile, extenders=tuple(extenders)) for name, profile in self.profiles.items()
        }

    def over(self, state: ClusterState) -> Engine:
        """An engine like this one over another state, such as a fork in which several pods are decided."""
        return Engine(state, self.profiles, self._observer, self.waiting)

    def from_cache(self, pod: Pod, profile: Profile, seed: int) -> Cached | None:
        """A cached answer with a private copy of the state that it is true for; None when there is none."""
        start = mix64(seed, pod.metadata.uid) if profile.samples else 0
        return self._kept.with_copy(pod, profile, seed, partial(self._trying, profile), start=start)

    def in_full(self, pod: Pod, profile: Profile, seed: int, state: ClusterState) -> Choice:
        """``decide`` over ``state``, from a full evaluation."""
        return self.decide(pod, profile, all_rows, seed=seed, state=state, options=CycleOptions())

    def profile(self, name: str = "", pod: Pod | None = None) -> Profile:
        """As ``find_profile``."""
        return find_profile(self.profiles, name, pod)

    def calls(
        self, profile: Profile, progress: Progress | None = None, *, final: Callable[[], bool] = lambda: True
    ) -> PluginCalls:
        """The way to call plugins of ``profile`` in one decision; ``final`` as there."""
        return PluginCalls(profile.name, progress or Unhurried(), self._observer, final)

    def _trying(self, profile: Profile, progress: Progress | None = None) -> PluginCalls:
        """``calls`` for an attempt after whose failure the pod is evaluated in full."""
        return self.calls(profile, progress, final=lambda: False)

    def look(
        self,
        pod: Pod,
        profile: Profile,
        rows: Rows,
        *,
        state: ClusterState | None = None,
        progress: Progress | None = None,
        run: Run,
    ) -> tuple[Evaluation, int]:
        """Evaluate against a consistent state.

        ``rows`` gives the candidates, ``state`` is a fork to read instead of the live state, ``run``
        is what to do: the whole cycle, or a part of it.

        Returns:
            The evaluation and the state version that it is true for.
        """
        read = state or self.state
        calls = self.calls(profile, progress, final=lambda: _is_at(read, version))
        for _ in range(OPTIMISTIC_ATTEMPTS):
            version = read.version
            try:
                evaluation = run(profile, read, pod, rows(read), calls)
            except NodesChangedError:
                continue
            except Exception as failure:
                verdict = isinstance(failure, MooringError) and not isinstance(failure, PluginFailureError)
                # Tables that change while they are read can make any plugin fail.
                if verdict or _is_at(read, version):
                    raise
                continue
            if _is_at(read, version):
                return evaluation, version
        fork = read.fork()
        return run(profile, fork, pod, rows(fork), self.calls(profile, progress)), fork.version

    def kept_totals(
        self, pod: Pod, profile: Profile, rows: Rows, progress: Progress | None = None, *, ask: bool = True
    ) -> Totals | None:
        """What a kept evaluation says of some nodes, without ``ask`` one that takes no plugin's code.

        Returns:
            None when the pod has to be evaluated in full, or a plugin to be asked.
        """
        calls = partial(self._trying, profile, progress) if ask else ask_nobody
        found = self._answers.totals(pod, profile, rows, calls)
        if found is not None:
            self.self_check.answered(self, pod, profile, 0)
        return found

    def learn_reasons(
        self, found: Totals, positions: Int32s, codes: Int32s, statuses: Sequence[Status]
    ) -> None:
        """As ``KeptAnswers.learn``: who is asked the same next time need not ask these nodes again."""
        self._answers.learn(found, positions, codes, statuses)

    def choose(self, evaluation: Evaluation, version: int, seed: int) -> Choice:
        """Pick one of the best nodes: the same evaluation, pod UID and seed give the same node."""
        count = len(evaluation.best)
        return chosen(
            evaluation, choose(seed, evaluation.pod.metadata.uid, count) if count else None, version
        )

    def decide(
        self,
        pod: Pod,
        profile: Profile,
        rows: Rows,
        *,
        seed: int = 0,
        state: ClusterState | None = None,
        options: CycleOptions | None = None,
        progress: Progress | None = None,
    ) -> Choice:
        """The node for ``pod``; nothing is changed. With ``options`` it is evaluated in full, as they say."""
        if options is None and state is None and rows is all_rows:
            kept = self.from_kept(pod, profile, seed, progress, assume=False)
            if kept is not None:
                return kept
        options = options or CycleOptions()
        run = partial(evaluate, options=replace(options, start=mix64(seed, pod.metadata.uid)))
        evaluation, version = self._measured_look(pod, profile, rows, state=state, progress=progress, run=run)
        return self.choose(evaluation, version, seed)

    def decide_in_turn(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        uids: Sequence[str],
        *,
        seed: int = 0,
        progress: Progress | None = None,
        ask: bool = True,
    ) -> ChoiceColumns | None:
        """The nodes for pods that each see the ones before placed, see ``Overlays.decide``, ``from_kept``."""
        progress, began = progress or Unhurried(), time.perf_counter()
        calls = partial(self._trying, progress=progress) if ask else ask_nobody
        found = self._overlays.decide(templates, indices, uids, seed, progress, calls)
        if found is not None:
            self._observer.algorithm_duration((time.perf_counter() - began) / len(uids), len(uids))
            self.self_check.answered(self, *templates[indices[-1]], seed, len(uids))
        return found

    def decide_and_assume(
        self, pod: Pod, profile: Profile, rows: Rows, *, seed: int = 0, progress: Progress | None = None
    ) -> Choice:
        """The node for ``pod``, on which it counts from now on.

        Raises:
            UnavailableError: The state changes faster than the decision can follow.
        """
        held = self.exclusive and not profile.extenders_for(pod)
        with self.state.lock if held else nullcontext():
            return self._decide_and_assume(pod, profile, rows, seed, progress)

    def decide_and_assume_in_turn(
        self,
        templates: Sequence[tuple[Pod, Profile]],
        indices: Sequence[int],
        names: Sequence[str],
        uids: Sequence[str],
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Sequence[Choice]:
        """``decide_and_assume`` among all nodes for the first of some pods, in their order and for less each.

        A pod is its template with a name and a UID of its own. The first pod without a choice, as one that
        no node takes, is left to ``decide_and_assume``.

        Raises:
            DeadlineExceededError: The caller no longer waits; nothing was assumed.
        """
        began = time.perf_counter()
        with self.state.lock if self.exclusive else nullcontext():
            turn = DecisionsInTurn(self.state, self._keeper, seed, self.start)
            turn.run(templates, indices, names, uids, partial(self._trying, progress=progress))
            self.start = turn.start
        if turn.choices:
            seconds = (time.perf_counter() - began) / len(turn.choices)
            self._observer.algorithm_duration(seconds, len(turn.choices))
            self.self_check.answered(
                self, *templates[indices[len(turn.choices) - 1]], seed, len(turn.choices)
            )
        return turn.choices

    def _decide_and_assume(
        self, pod: Pod, profile: Profile, rows: Rows, seed: int, progress: Progress | None
    ) -> Choice:
        if rows is all_rows:
            kept = self.from_kept(pod, profile, seed, progress, assume=True)
            if kept is not None:
                return kept
        for _ in range(MAX_ATTEMPTS):
            run = partial(evaluate, options=CycleOptions(start=self.start))
            evaluation, version = self._measured_look(pod, profile, rows, progress=progress, run=run)
            choice = self.choose(evaluation, version, seed)
            if self._assumed(pod, profile, choice, progress):
                with self.state.lock:
                    self.start = (self.start + evaluation.advance) % max(len(evaluation.rows), 1)
                return choice
        raise _overtaken(pod)

    def _assumed(self, pod: Pod, profile: Profile, choice: Choice, progress: Progress | None) -> bool:
        """Assume ``pod`` where it was decided to be; whether it still can be there, or needs no place."""
        name, evaluation = choice.node_name, choice.evaluation
        if name is None or self._assume_at(choice.state_version, pod, name):
            return True
        try:
            again = self.assume_if_fits(pod, name, profile, progress)
        except NotFoundError:
            return False
        # Reserve goes on with what is true of the state in which the pod was assumed.
        evaluation.state = again.state
        return len(again.feasible) > 0

    def assume_if_fits(
        self, pod: Pod, node_name: str, profile: Profile, progress: Progress | None = None
    ) -> Evaluation:
        """Filter ``pod`` on the node and, when it fits, assume it there in one step; else nothing is changed.

        The filters pass in the very state in which the pod is assumed: not the node alone has to be as it was
        evaluated, but all that a filter may look at, such as the pods of a topology domain, claims, devices.

        Raises:
            NotFoundError: There is no such node (NODE_NOT_FOUND).
            UnavailableError: The state changes faster than the check can follow.
        """

        def row_of(read: ClusterState) -> Int32s:
            row = read.snapshot.nodes.index.get(node_name)
            if row is None:
                raise node_not_found(node_name)
            return np.array([row], np.int32)

        for _ in range(MAX_ATTEMPTS):
            evaluation, version = self.look(pod, profile, row_of, progress=progress, run=evaluate_filters)
            if not len(evaluation.feasible) or self._assume_at(version, pod, node_name):
                return evaluation
        raise _overtaken(pod)

    def _assume_at(self, version: int, pod: Pod, node_name: str) -> bool:
        """Assume ``pod`` if nothing that a plugin could look at changed after ``version``; else False.

        The one place where an evaluation in full becomes a placement; the twin of ``kept.consistency``.
        """
        state = self.state
        with state.lock:
            changes = state.changes_since(version)
            if changes is None or not all(record is None and amount for _, record, amount in changes):
                return False
            state.assume(pod, node_name)
            return True

    def from_kept(
        self,
        pod: Pod,
        profile: Profile,
        seed: int,
        progress: Progress | None,
        *,
        assume: bool,
        ask: bool = True,
    ) -> Choice | None:
        """The choice among all nodes from a kept evaluation, without ``ask`` one that takes no plugin's code.

        Returns:
            None when the pod has to be evaluated in full, or a plugin to be asked.
        """
        began, calls = time.perf_counter(), partial(self._trying, profile, progress) if ask else ask_nobody
        start = self.start
        if profile.samples and not assume:
            start = mix64(seed, pod.metadata.uid)
        choice = self._kept.decide(pod, profile, seed, calls, start=start, assume=assume)
        if choice is not None:
            if assume:
                self.start = (self.start + choice.evaluated) % len(self.state.snapshot.nodes)
            self._observer.algorithm_duration(time.perf_counter() - began)
            self.self_check.answered(self, pod, profile, seed)
        return choice

    def _measured_look(self, pod: Pod, profile: Profile, rows: Rows, **how: Any) -> tuple[Evaluation, int]:
        began = time.perf_counter()
        if how.get("state") is None and profile.extenders_for(pod):
            how["state"] = self.state.fork()
        found = self.look(pod, profile, rows, **how)
        self._observer.algorithm_duration(time.perf_counter() - began)
        return found


def _is_at(state: ClusterState, version: int) -> bool:
    """Whether ``state`` still has ``version``; under the lock, as a write under way has not moved it yet."""
    with state.lock:
        return state.version == version


def _overtaken(pod: Pod) -> UnavailableError:
    return UnavailableError(
        f"the state changed during each of {MAX_ATTEMPTS} attempts to place pod {pod.key}; try again",
        reason="OVERLOADED",
    )
