"""DynamicResourcesArgs.

Mirrors ``DynamicResourcesArgs`` of ``k8s.io/kube-scheduler/config/v1/types.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from mooring.framework import FieldError


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs:
    """Arguments of DynamicResources.

    Attributes:
        filter_timeout: How long filtering one node may take; 0 = without limit; None while the feature gate
            DRASchedulerFilterTimeout is off.
        binding_timeout: How long to wait for devices to be ready, 1 s or more; None while one of its feature
            gates is off.
    """

    filter_timeout: timedelta | None = field(
        default=timedelta(seconds=10), metadata={"gates": ("DRASchedulerFilterTimeout",)}
    )
    binding_timeout: timedelta | None = field(
        default=timedelta(minutes=10),
        metadata={"gates": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")},
    )

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateDynamicResourcesArgs``."""
        if self.filter_timeout is not None and self.filter_timeout < timedelta(0):
            yield FieldError("filterTimeout", "must not be negative")
        if self.binding_timeout is not None and self.binding_timeout < timedelta(seconds=1):
            yield FieldError("bindingTimeout", "must be at least 1s")
