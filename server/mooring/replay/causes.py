"""Why a decision comes out differently: which plugin's verdict or score moved it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mooring.framework import Status
from mooring.runtime.answers import Choice, Evaluation


@dataclass(frozen=True, slots=True)
class Cause:
    """A plugin, and what it did.

    Attributes:
        plugin: Its name; "" for mooring itself.
        what: ``verdict``, or ``score``.
        sentence: Both in words, about the nodes in question.
    """

    plugin: str
    what: str
    sentence: str


def cause_of(then: Choice | None, now: Choice, before: str, after: str) -> Cause | None:
    """Return why a pod goes to ``after`` now, and not to ``before``; either may be "", no node.

    Args:
        then: The recorded decision in full; None if that isn't known, or equals ``now``.
        now: As it is decided, in full.
        before: The node then.
        after: The node now.

    Returns:
        None when neither a verdict nor a score says why.
    """
    return (
        _rejected(now, before, "rejects")
        or (_rejected(then, after, "rejected") if then is not None else None)
        or (_scored(then, now, before, after) if before and after else None)
    )


def _rejected(choice: Choice, node: str, verb: str) -> Cause | None:
    """Return which plugin says no to the node; without one, which says no to the pod, or to most nodes."""
    evaluation = choice.evaluation
    status = _verdict(evaluation, node) if node else None
    if status is None and not evaluation.rejection.ok:
        status = evaluation.rejection
    if status is None or status.ok:
        return None
    said = "; ".join(status.reasons)
    return Cause(status.plugin, "verdict", f"{status.plugin or 'mooring'} {verb} {node or 'the pod'}: {said}")


def _verdict(evaluation: Evaluation, node: str) -> Status | None:
    at = _position(evaluation, node)
    return None if at is None else evaluation.statuses[int(evaluation.codes[at])]


def _position(evaluation: Evaluation, node: str) -> int | None:
    for at, row in enumerate(evaluation.rows.tolist()):
        if evaluation.names[row] == node:
            return at
    return None


def _scored(then: Choice | None, now: Choice, before: str, after: str) -> Cause | None:
    """Return the plugin whose score favours ``after`` most, compared with its score then."""
    margins = _margins(now.evaluation, before, after)
    old = _margins(then.evaluation, before, after) if then is not None else {}
    gains = {name: margins.get(name, 0) - old.get(name, 0) for name in {**margins, **old}}
    if not gains:
        return None
    plugin = max(gains, key=lambda name: gains[name])
    gain = gains[plugin]
    if gain <= 0:
        return None
    ahead = f"{margins.get(plugin, 0):+d}"
    compared = f", {old.get(plugin, 0):+d} before" if then is not None else ""
    return Cause(plugin, "score", f"{plugin} scores {after} {ahead} against {before}{compared}")


def _margins(evaluation: Evaluation, before: str, after: str) -> dict[str, int]:
    """Return by plugin by how much its weighted score of ``after`` is above that of ``before``."""
    places = [_position(evaluation, node) for node in (before, after)]
    if evaluation.scores is None or None in places:
        return {}
    feasible = evaluation.feasible
    at = [np.flatnonzero(feasible == place) for place in places]
    if not all(map(len, at)):
        return {}
    first, second = (int(found[0]) for found in at)
    return {
        column.plugin: int((column.normalized[second] - column.normalized[first]) * column.weight)
        for column in evaluation.scores.plugins
    }
