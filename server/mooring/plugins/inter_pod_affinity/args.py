"""InterPodAffinityArgs.

Mirrors ``InterPodAffinityArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import FieldError


@dataclass(frozen=True, slots=True)
class InterPodAffinityArgs:
    """Arguments of InterPodAffinity.

    Attributes:
        hard_pod_affinity_weight: The weight of an existing pod's required affinity to the incoming pod in the
            score, 0..100.
        ignore_preferred_terms_of_existing_pods: Whether existing pods' preferences are left out, unless the
            incoming pod has inter-pod affinities of its own.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateInterPodAffinityArgs``."""
        if not 0 <= self.hard_pod_affinity_weight <= 100:
            value = self.hard_pod_affinity_weight
            yield FieldError("hardPodAffinityWeight", f"must be within 0 and 100, not {value}")
