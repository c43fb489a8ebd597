"""DefaultPreemptionArgs.

Mirrors ``DefaultPreemptionArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import FieldError


@dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs:
    """Arguments of DefaultPreemption: how many candidate nodes a dry run looks for.

    Attributes:
        min_candidate_nodes_percentage: Share of the nodes, in percent, 0..100.
        min_candidate_nodes_absolute: Number of nodes, 0 or more; the larger of the two counts.
    """

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateDefaultPreemptionArgs``."""
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        if not 0 <= percentage <= 100:
            yield FieldError("minCandidateNodesPercentage", f"must be within 0 and 100, not {percentage}")
        if absolute < 0:
            yield FieldError("minCandidateNodesAbsolute", f"must be 0 or more, not {absolute}")
        if percentage == 0 and absolute == 0:
            yield FieldError("minCandidateNodesPercentage", "must not be 0 together with the absolute number")
            yield FieldError("minCandidateNodesAbsolute", "must not be 0 together with the percentage")
