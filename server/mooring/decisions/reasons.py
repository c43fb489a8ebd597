"""Why pods have no node: of one decision, and of many."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mooring.decisions.records import NodeRejections, Why
from mooring.framework import Status
from mooring.runtime.cycle.evaluation import Evaluation


def why_of(evaluation: Evaluation) -> Why:
    """Return why no candidate of ``evaluation`` takes the pod."""
    status, rejection = evaluation.status, evaluation.rejection
    if not rejection.ok:
        return why_of_status(rejection, evaluation.message)
    counts = rejection_counts(evaluation)
    places = {entry.name: at for at, entry in enumerate(evaluation.profile.filter)}
    plugins = sorted({plugin for plugin, _ in counts}, key=lambda name: (places.get(name, -1), name))
    dominant = None
    if counts:
        (plugin, reason), count = counts.most_common(1)[0]
        dominant = NodeRejections(plugin, reason, count)
    return Why(
        status.code, "", status.reasons, evaluation.message, tuple(name for name in plugins if name), dominant
    )


def why_of_status(status: Status, message: str = "") -> Why:
    """Return why ``status`` means no node for a pod as a whole."""
    dominant = NodeRejections(status.plugin, status.reasons[0], 0) if status.reasons else None
    plugins = (status.plugin,) if status.plugin else ()
    return Why(status.code, status.plugin, status.reasons, message or status.message, plugins, dominant)


def rejection_counts(evaluation: Evaluation) -> Counter[tuple[str, str]]:
    """Return how many candidates each (plugin, reason) rejects."""
    counts: Counter[tuple[str, str]] = Counter()
    for status, count in zip(evaluation.statuses, np.bincount(evaluation.codes).tolist(), strict=False):
        for reason in status.reasons if count else ():
            counts[status.plugin, reason] += count
    return counts
