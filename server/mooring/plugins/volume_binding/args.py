"""VolumeBindingArgs.

Mirrors ``VolumeBindingArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mooring.framework import FieldError
from mooring.plugins.node_resources_fit.args import UtilizationShapePoint, check_shape

_DEFAULT_SHAPE = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))


@dataclass(frozen=True, slots=True)
class VolumeBindingArgs:
    """Arguments of VolumeBinding.

    Attributes:
        bind_timeout_seconds: How long to wait for volumes to be bound, in seconds, 0 or more.
        shape: The score as a function of how full a storage class is; None while the feature gate
            StorageCapacityScoring is off.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        default=_DEFAULT_SHAPE, metadata={"gates": ("StorageCapacityScoring",)}
    )

    def __post_init__(self) -> None:
        if self.shape == ():
            object.__setattr__(self, "shape", _DEFAULT_SHAPE)

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateVolumeBindingArgs``."""
        if self.bind_timeout_seconds < 0:
            yield FieldError("bindTimeoutSeconds", f"must be 0 or more, not {self.bind_timeout_seconds}")
        if self.shape is not None:
            yield from check_shape(self.shape, "shape")
