"""Filter and Score of some nodes, from kept evaluations where they will do."""

from __future__ import annotations

from functools import partial

import numpy as np

from mooring.framework import ClusterState, Pod
from mooring.runtime.cycle import evaluate_filters, evaluate_scores
from mooring.runtime.engine import Engine
from mooring.runtime.evaluation import Evaluation, Scores, begin
from mooring.runtime.kept.answers import Totals
from mooring.runtime.kept.ranking import OUT
from mooring.runtime.kept.reasons import UNKNOWN
from mooring.runtime.kept.standing import PluginsNeededError
from mooring.runtime.profile import Profile
from mooring.runtime.progress import Progress
from mooring.runtime.rows import Rows


def look_filters(
    engine: Engine,
    pod: Pod,
    profile: Profile,
    rows: Rows,
    *,
    state: ClusterState | None = None,
    progress: Progress | None = None,
    ask: bool = True,
) -> tuple[Evaluation, int]:
    """``Engine.look`` with ``evaluate_filters``; where a kept answer does, only refusing nodes are asked why.

    Of such an answer codes and statuses are filled in, what follows from them, and what the feasible nodes
    total as ``look_totals`` finds it.

    Raises:
        PluginsNeededError: Without ``ask``: a plugin has to be asked.
    """
    found = engine.kept_totals(pod, profile, rows, progress, ask=ask) if state is None else None
    unknown = np.zeros(0, np.int32)
    if found is not None and len(found.rows):
        unknown = np.flatnonzero(found.codes == UNKNOWN).astype(np.int32)
        if not len(unknown):
            return _explained(engine, pod, profile, found), found.version
    if not ask:
        raise PluginsNeededError
    look = partial(engine.look, pod, profile, progress=progress, run=evaluate_filters)
    if found is not None and len(unknown):
        refusing = found.rows[found.refused[unknown]]
        why, version = look(lambda _: refusing)
        if version == found.version and why.rejection.ok:
            engine.learn_reasons(found, unknown, why.codes, why.statuses)
            evaluation = _explained(engine, pod, profile, found)
            numbers = np.array([evaluation.number_of(status) for status in why.statuses], np.int32)
            evaluation.codes[found.refused[unknown]] = numbers[why.codes]
            return evaluation, version
    return look(rows, state=state)


def _explained(engine: Engine, pod: Pod, profile: Profile, found: Totals) -> Evaluation:
    """An evaluation with what is known of who refuses, and why, and how the others score."""
    evaluation = begin(profile, engine.state, pod, found.rows)
    totals = found.totals
    if len(found.refused):
        evaluation.statuses = list(found.statuses)
        evaluation.codes[found.refused] = found.codes
        totals = totals[totals != OUT]
    if profile.has_scoring:
        evaluation.scores = Scores((), totals.astype(np.int64))
    return evaluation


def look_totals(
    engine: Engine,
    pod: Pod,
    profile: Profile,
    rows: Rows,
    *,
    state: ClusterState | None = None,
    progress: Progress | None = None,
    ask: bool = True,
) -> tuple[Evaluation, int]:
    """``Engine.look`` with ``evaluate_scores``, for who needs the totals and not the plugins' scores.

    Raises:
        PluginsNeededError: Without ``ask``: a plugin has to be asked.
    """
    if state is None and profile.has_scoring:
        found = engine.kept_totals(pod, profile, rows, progress, ask=ask)
        if found is not None and len(found.rows) and (found.totals != OUT).all():
            evaluation = begin(profile, engine.state, pod, found.rows)
            evaluation.scores = Scores((), found.totals.astype(np.int64))
            return evaluation, found.version
    if not ask:
        raise PluginsNeededError
    return engine.look(pod, profile, rows, state=state, progress=progress, run=evaluate_scores)
