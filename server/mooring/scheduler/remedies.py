"""Carries out what a PostFilter plugin proposed for a pod that no node takes.

Mirrors ``RunPostFilterPlugins`` in ``framework/runtime/framework.go``, whose plugins act themselves.
"""

from __future__ import annotations

from dataclasses import replace

from mooring.framework import ClusterApi, Remedy, Status
from mooring.framework.errors import MooringError
from mooring.runtime.evaluation import Evaluation


def carry_out(evaluation: Evaluation, cluster: ClusterApi) -> None:
    """Make the proposed change, if there is one; what PostFilter said then says how that ended."""
    remedy = evaluation.state.get(Remedy, Remedy)
    if remedy is None:
        return
    try:
        remedy.carry_out(cluster)
    except MooringError as error:
        evaluation.post_filter = Status.error(error.message)
        return
    said = evaluation.post_filter
    reasons = (remedy.done if reason == remedy.proposal else reason for reason in said.reasons)
    evaluation.post_filter = replace(said, reasons=tuple(reasons))
