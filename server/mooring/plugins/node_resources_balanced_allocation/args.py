"""NodeResourcesBalancedAllocationArgs: which resources should fill up evenly.

Mirrors ``NodeResourcesBalancedAllocationArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework import FieldError
from mooring.plugins.node_resources_fit.args import DEFAULT_RESOURCES, ResourceSpec


@dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocationArgs:
    """Arguments of NodeResourcesBalancedAllocation.

    Attributes:
        resources: The resources compared, each once and with weight 1; without any, cpu and memory.
    """

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES

    def __post_init__(self) -> None:
        if not self.resources:
            object.__setattr__(self, "resources", DEFAULT_RESOURCES)

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateNodeResourcesBalancedAllocationArgs``."""
        seen: set[str] = set()
        for index, resource in enumerate(self.resources):
            if resource.name in seen:
                yield FieldError(f"resources[{index}].name", f"{resource.name} is listed twice")
            seen.add(resource.name)
            if resource.weight != 1:
                yield FieldError(f"resources[{index}].weight", f"must be 1, not {resource.weight}")
