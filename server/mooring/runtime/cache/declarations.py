"""Which plugin declared what is not true, found out after a cached answer was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.framework import Bools, Int64s, Part, Plugin, Pod
from mooring.framework.internal import parts_of
from mooring.runtime.cache.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.change_tracker import ChangeTracker
from mooring.runtime.cache.static_scores import DYNAMIC
from mooring.runtime.cycle.evaluation import Evaluation

REJECTED = np.iinfo(np.int64).min
"""In place of a score, where the plugin rejects the node."""

UNKNOWN = REJECTED + 1
"""The same where it was not asked, or did not say."""


class Asked(msgspec.Struct, frozen=True):
    """A pod that was evaluated in full.

    Attributes:
        cached: The cached evaluation of its pods.
        pod: The pod.
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
    """Yield a sentence for each plugin whose declaration was found to be wrong.

    Args:
        now: The question whose cached answer was wrong.
        earlier: Questions of earlier checks.
        tracker: Says what changed since.
        again: Asks all plugins about a pod in the state of ``now``.
    """
    found = {
        f"plugin {name} said one thing and then another of the same nodes and pod; "
        "what it reads must be declared as Part.OUTSIDE": True
        for name in _differing(now.evaluation, again(now.pod))
    }
    if found:
        return tuple(found)
    for name in _differing(now.evaluation, again(now.cached.pod)):
        found[f"plugin {name} signs pods alike of which it says different things"] = True
    for before in earlier:
        if before.cached is now.cached:
            for name in _differing(before.evaluation, now.evaluation):
                parts = _declared(now, name)
                if parts is not None and _unmoved(before, parts, tracker):
                    found[
                        f"plugin {name} changed its answer though none of what it declares changed: {parts}"
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
    return parts_of(plugin, asked.pod) | parts_of(plugin, asked.pod, skipped=True)


def _unmoved(before: Asked, parts: Part, tracker: ChangeTracker) -> bool:
    """Return whether none of ``parts`` changed since; resources are compared by themselves."""
    if parts & (DYNAMIC & ~Part.RESOURCES):
        return False
    return not any(part in parts for part in tracker.moved_since(before.version))
