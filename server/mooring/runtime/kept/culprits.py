"""Which plugin declared what is not true, found out after a cached answer was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.framework import Bools, Int64s, Part, Plugin, Pod
from mooring.runtime.evaluation import Evaluation
from mooring.runtime.kept.kept import Kept
from mooring.runtime.kept.movements import Movements
from mooring.runtime.kept.standing import PASSING

REJECTED = np.iinfo(np.int64).min
"""In place of a score, where the plugin rejects the node."""

UNKNOWN = REJECTED + 1
"""The same where it was not asked, or did not say."""


class Asked(msgspec.Struct, frozen=True):
    """A question that was answered in full.

    Attributes:
        kept: The cached evaluation of its pods.
        pod: The pod.
        evaluation: The answer, on a private copy of the state.
        version: The version of the state that it is true for.
    """

    kept: Kept
    pod: Pod
    evaluation: Evaluation
    version: int


def liars(
    now: Asked, earlier: Sequence[Asked], movements: Movements, again: Callable[[Pod], Evaluation]
) -> tuple[str, ...]:
    """A sentence for each plugin that was found to have declared what is not true.

    Args:
        now: The question whose cached answer was wrong.
        earlier: Questions of earlier checks.
        movements: Says what changed since.
        again: Asks all plugins about a pod in the state of ``now``.
    """
    found = {
        f"plugin {name} said one thing and then another of the same nodes and pod; "
        "what it reads must be declared as Part.OUTSIDE": True
        for name in _differing(now.evaluation, again(now.pod))
    }
    if found:
        return tuple(found)
    for name in _differing(now.evaluation, again(now.kept.pod)):
        found[f"plugin {name} signs pods alike of which it says different things"] = True
    for before in earlier:
        if before.kept is now.kept:
            for name in _differing(before.evaluation, now.evaluation):
                parts = _declared(now, name)
                if parts is not None and _unmoved(before, parts, movements):
                    found[
                        f"plugin {name} changed its answer though none of what it declares changed: {parts}"
                    ] = True
    return tuple(found)


def _differing(one: Evaluation, other: Evaluation) -> Iterator[str]:
    """The plugins whose answers differ about a node that has the same amounts in both."""
    if one.snapshot.nodes.epoch != other.snapshot.nodes.epoch or not np.array_equal(one.rows, other.rows):
        return
    steady = _same_amounts(one, other)
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


def _same_amounts(one: Evaluation, other: Evaluation) -> Bools:
    """bool[N]: whether a candidate offers the same and has given away the same in both."""
    same = np.ones(len(one.rows), np.bool_)
    for columns in ("allocatable", "requested", "non_zero_requested"):
        before, after = (getattr(side.snapshot.nodes, columns)[:, side.rows] for side in (one, other))
        if before.shape != after.shape:
            return np.zeros(len(one.rows), np.bool_)
        same &= (before == after).all(axis=0)
    return same


def _declared(asked: Asked, name: str) -> Part | None:
    """What the plugin declares to depend on; None when it evaluates no pods."""
    plugin: Plugin[Any] | None = asked.evaluation.profile.plugins.get(name)
    if plugin is None:
        return None
    return plugin.depends_on(asked.pod, idle=False) | plugin.depends_on(asked.pod, idle=True)


def _unmoved(before: Asked, parts: Part, movements: Movements) -> bool:
    """Whether none of ``parts`` changed since; amounts are compared by themselves."""
    if parts & (PASSING & ~Part.AMOUNTS):
        return False
    return not movements.moved_since(before.version, parts)
