"""Answers as decisions that are remembered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mooring.decisions.decisions import (
    Decisions,
    batch_of_choices,
    batch_of_columns,
    record_from_cache,
    record_of,
    why_of_error,
)
from mooring.decisions.reasons import why_of, why_of_status
from mooring.decisions.records import Circumstances, DecisionKind, DecisionResult, Placed
from mooring.framework import Pod, Status
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.runtime.cycle.choice import Choice, ChoiceColumns, choice_of
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import Found
from mooring.runtime.profiles.profile import Profile
from mooring.service.backend import Backend
from mooring.service.scheduling.batch import Batch
from mooring.service.wire.selection import Selection
from mooring.tracing.spans import current_trace_id


class Noting:
    """Notes what one call decides; nothing where decisions are not remembered. For one thread.

    Args:
        backend: Has the decisions.
        kind: What is to be decided.
        seed: Decides between nodes of equal totals.
    """

    def __init__(self, backend: Backend, kind: DecisionKind, seed: int = 0) -> None:
        self._decisions = backend.decisions
        self._nodes = backend.engine.state.snapshot.nodes
        self._kind = kind
        self._seed = seed
        self._began = time.perf_counter()

    def looked(
        self, pod: Pod, profile: Profile, selection: Selection, evaluation: Evaluation, version: int
    ) -> None:
        """Note what was said of the nodes of ``selection``, none of which is selected."""
        decisions = self._decisions
        if decisions is None:
            return
        choice = choice_of(evaluation, None, version)
        why = None if choice.feasible or self._kind is DecisionKind.SCORE else why_of(evaluation)
        about = self._about(decisions, profile, repeatable=_is_live(selection))
        self._add(decisions, about, pod, choice, why=why, selection=selection)

    def chose(
        self, pod: Pod, profile: Profile, choice: Choice, selection: Selection, placed: Placed = ()
    ) -> None:
        """Note the choice for a pod; ``placed`` grows by those that the same dry run has placed."""
        decisions = self._decisions
        if decisions is None:
            return
        steady = self._kind is DecisionKind.DRY_RUN or not profile.samples
        about = self._about(decisions, profile, repeatable=steady and _is_live(selection))
        if selection.state is None and not placed and not isinstance(choice.source, Evaluation):
            record = record_from_cache(about, pod, choice, self._nodes.epoch, self._seconds(1))
            decisions.add(record, pod)
            return
        self._add(decisions, about, pod, choice, selection=selection, placed=placed)

    def made_room(
        self, pod: Pod, profile: Profile, selection: Selection, found: Found, node_name: str
    ) -> None:
        """Note that pods may go from a node, "" = from none, so that it takes ``pod``."""
        decisions, (evaluation, version) = self._decisions, found
        if decisions is None:
            return
        why = None if node_name else why_of(evaluation)
        about = self._about(decisions, profile, repeatable=_is_live(selection))
        choice = choice_of(evaluation, None, version)
        self._add(decisions, about, pod, choice, why=why, nominated=node_name, selection=selection)

    def ended(self, pod: Pod, profile: Profile, node_name: str, end: Status | MooringError) -> None:
        """Note how placing a pod ended, on the node that was selected before, "" = on none yet."""
        decisions = self._decisions
        if decisions is None:
            return
        about = self._about(decisions, profile, repeatable=False)
        why, result = None, None
        if isinstance(end, MooringError):
            why = why_of_error(end)
            failed = isinstance(end, PluginFailureError)
            result = DecisionResult.FAILED if failed else DecisionResult.ERROR
        elif not end.ok:
            why = why_of_status(end)
        self._add(decisions, about, pod, None, why=why, result=result, node=node_name)

    def chose_columns(self, batch: Batch, found: ChoiceColumns) -> None:
        """Note the choices of a dry run in which every pod has a node."""
        if self._decisions is None:
            return
        if len(batch) == 1:
            pod, profile = batch.pod(0)
            about = self._about(self._decisions, profile)
            record = record_from_cache(about, pod, found.choice(0), found.epoch, self._seconds(1))
            self._decisions.add(record, pod)
        else:
            abouts = [self._about(self._decisions, profile) for _, profile in batch.templates]
            pods = [pod for pod, _ in batch.templates], batch.indices, batch.names, batch.uids
            self._decisions.add_batch(batch_of_columns(abouts, pods, found, self._seconds(len(batch))))

    def chose_many(
        self, batch: Batch, first: int, choices: Sequence[Choice], placed: Placed | None = None
    ) -> None:
        """Note the choices for the pods of the batch from position ``first`` on.

        ``placed`` has the pods that the same dry run placed until now, over its private copy; None where they
        are placed in the live state.
        """
        if self._decisions is None or not choices:
            return
        steady = batch.selection.everything and not batch.selection.hypothetical
        abouts = [
            self._about(self._decisions, profile, repeatable=steady and not profile.samples)
            for _, profile in batch.templates
        ]
        some = slice(first, first + len(choices))
        pods = [pod for pod, _ in batch.templates], batch.indices[some], batch.names[some], batch.uids[some]
        seconds = self._seconds(len(choices))
        noted = batch_of_choices(abouts, pods, choices, self._nodes.epoch, seconds)
        if placed is not None:
            version = batch.selection.version(0)
            noted = replace(noted, versions=[version], earlier=len(placed) - len(choices), placed=placed)
        self._decisions.add_batch(noted)

    def _about(self, decisions: Decisions, profile: Profile, *, repeatable: bool = True) -> Circumstances:
        return Circumstances(
            time=time.time(),
            kind=self._kind,
            profile=profile.name,
            configuration=profile.configuration,
            seed=self._seed,
            repeatable=repeatable,
            trace_id=current_trace_id(),
        )

    def _add(
        self,
        decisions: Decisions,
        about: Circumstances,
        pod: Pod,
        choice: Choice | None,
        selection: Selection | None = None,
        **how: Any,
    ) -> None:
        """Note a decision; ``how`` as ``record_of``."""
        record = record_of(about, pod, choice, node_epoch=self._nodes.epoch, duration=self._seconds(1), **how)
        if selection is not None and selection.state is not None:
            # A private copy has versions of its own.
            record = replace(record, state_version=selection.version(record.state_version))
        decisions.add(record, pod, choice)

    def _seconds(self, count: int) -> float:
        return (time.perf_counter() - self._began) / count


def _is_live(selection: Selection) -> bool:
    """Return whether all nodes of the live state are in question."""
    return selection.everything and not selection.hypothetical
