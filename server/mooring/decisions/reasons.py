"""Why pods have no node: of one decision, and of many."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.decisions.records import NodeRejections, Why
from mooring.framework import Status
from mooring.runtime.answers import Evaluation

MOST_REASONS = 1 << 10
"""The reasons of a decision that are kept,"""
MOST_CHARACTERS = 1 << 16
"""and the characters of its message: a pod may name tens of thousands of things that nodes lack."""


def why_of(evaluation: Evaluation) -> Why:
    """Return why no candidate of ``evaluation`` takes the pod."""
    status, rejection = evaluation.status, evaluation.rejection
    if not rejection.ok:
        return why_of_status(rejection, evaluation.message)
    counts = rejection_counts(evaluation)
    dominant = None
    if counts:
        plugin, reason = max(counts, key=lambda rejected: counts[rejected])
        dominant = NodeRejections(plugin, reason, counts[plugin, reason])
    reasons, message = status.reasons[:MOST_REASONS], evaluation.message[:MOST_CHARACTERS]
    return Why(status.code, "", reasons, message, _plugins(evaluation, counts), dominant)


def _plugins(evaluation: Evaluation, counts: Mapping[tuple[str, str], int]) -> tuple[str, ...]:
    """Return the plugins that reject candidates, in the profile's order, extenders before them."""
    found = {plugin for plugin, _ in counts if plugin}
    if len(found) < 2:
        return tuple(found)
    places = {entry.name: at for at, entry in enumerate(evaluation.profile.filter)}
    return tuple(sorted(found, key=lambda name: (places.get(name, -1), name)))


def why_of_status(status: Status, message: str = "") -> Why:
    """Return why ``status`` means no node for a pod as a whole."""
    dominant = NodeRejections(status.plugin, status.reasons[0], 0) if status.reasons else None
    plugins = (status.plugin,) if status.plugin else ()
    reasons, message = status.reasons[:MOST_REASONS], (message or status.message)[:MOST_CHARACTERS]
    return Why(status.code, status.plugin, reasons, message, plugins, dominant)


def rejection_counts(evaluation: Evaluation) -> dict[tuple[str, str], int]:
    """Return how many candidates each (plugin, reason) rejects."""
    counts: dict[tuple[str, str], int] = {}
    for status, count in zip(evaluation.statuses, evaluation.counts, strict=False):
        for reason in status.reasons if count else ():
            rejected = status.plugin, reason
            counts[rejected] = counts.get(rejected, 0) + count
    return counts
