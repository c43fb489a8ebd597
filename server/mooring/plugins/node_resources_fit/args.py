"""NodeResourcesFitArgs: which resources count, and how they score.

Mirrors ``NodeResourcesFitArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go`` with its defaults
and its validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mooring.framework import FieldError
from mooring.framework.names import is_qualified_name

MAX_SHAPE_SCORE = 10
"""The highest score of a shape's point; the plugin brings it to 0..100."""


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """A resource that counts in the score; ``weight`` 1..100, 0 stands for 1."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            object.__setattr__(self, "weight", 1)


DEFAULT_RESOURCES = (ResourceSpec("cpu"), ResourceSpec("memory"))


@dataclass(frozen=True, slots=True)
class UtilizationShapePoint:
    """A corner of the score function: ``utilization`` in percent, 0..100; ``score`` 0..10."""

    utilization: int = 0
    score: int = 0


@dataclass(frozen=True, slots=True)
class RequestedToCapacityRatioParam:
    """The score as a function of utilization; ``shape`` in rising utilization, linear between its points."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategyType(StrEnum):
    """How utilization becomes a score."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    """The strategy and its resources; without resources, cpu and memory with equal weights."""

    type: ScoringStrategyType
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            object.__setattr__(self, "resources", DEFAULT_RESOURCES)


@dataclass(frozen=True, slots=True)
class NodeResourcesFitArgs:
    """Arguments of NodeResourcesFit.

    Attributes:
        ignored_resources: Extended resources that the filter ignores.
        ignored_resource_groups: The same for whole groups, the part of a name before ``/``.
        scoring_strategy: How nodes are scored.
    """

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(ScoringStrategyType.LEAST_ALLOCATED)

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateNodeResourcesFitArgs``."""
        for index, name in enumerate(self.ignored_resources):
            if not is_qualified_name(name):
                yield FieldError(f"ignoredResources[{index}]", f"{name!r} is not a resource name")
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group or not is_qualified_name(group):
                yield FieldError(
                    f"ignoredResourceGroups[{index}]", f"{group!r} is not a group; it has no '/'"
                )
        yield from self._check_strategy()

    def _check_strategy(self) -> Iterator[FieldError]:
        path, strategy = "scoringStrategy", self.scoring_strategy
        for index, resource in enumerate(strategy.resources):
            if not 1 <= resource.weight <= 100:
                where = f"{path}.resources[{index}].weight"
                yield FieldError(where, f"must be within 1 and 100, not {resource.weight}")
        path += ".requestedToCapacityRatio"
        ratio = strategy.requested_to_capacity_ratio
        if strategy.type is not ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
            if ratio is not None:
                yield FieldError(path, f"must be absent, as type is {strategy.type.value}")
        elif ratio is None:
            yield FieldError(path, "is required, as type is RequestedToCapacityRatio")
        else:
            yield from check_shape(ratio.shape, f"{path}.shape")


def check_shape(shape: Sequence[UtilizationShapePoint], path: str) -> Iterator[FieldError]:
    """Faults of a score function; mirrors ``validateFunctionShape``."""
    if not shape:
        yield FieldError(path, "needs at least one point")
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield FieldError(
                f"{path}[{index}].utilization", f"must be within 0 and 100, not {point.utilization}"
            )
        if not 0 <= point.score <= MAX_SHAPE_SCORE:
            yield FieldError(
                f"{path}[{index}].score", f"must be within 0 and {MAX_SHAPE_SCORE}, not {point.score}"
            )
    for index in range(1, len(shape)):
        if shape[index].utilization <= shape[index - 1].utilization:
            yield FieldError(f"{path}[{index}].utilization", "must be greater than the point's before")
            break
