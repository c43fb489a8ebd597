"""NodeAffinityArgs.

Mirrors ``NodeAffinityArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import FieldError
from mooring.framework.node_selector import preferred_errors, selector_errors
from mooring.framework.objects import NodeAffinityTerms


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs:
    """Arguments of NodeAffinity.

    Attributes:
        added_affinity: A node affinity that every pod of the profile has besides its own.
    """

    added_affinity: NodeAffinityTerms | None = None

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateNodeAffinityArgs``."""
        if self.added_affinity is None:
            return
        required = self.added_affinity.required_during_scheduling_ignored_during_execution
        if required is not None:
            path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            yield from selector_errors(required, path)
        preferred = self.added_affinity.preferred_during_scheduling_ignored_during_execution
        path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        yield from preferred_errors(preferred, path)
