"""PodTopologySpreadArgs.

Mirrors ``PodTopologySpreadArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mooring.framework import FieldError
from mooring.framework.names import is_qualified_name
from mooring.framework.objects import TopologySpreadConstraint

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class Defaulting(StrEnum):
    """The source of the constraints of a pod without its own."""

    SYSTEM = "System"
    LIST = "List"


@dataclass(frozen=True, slots=True)
class PodTopologySpreadArgs:
    """Arguments of PodTopologySpread.

    Attributes:
        default_constraints: Constraints for pods that have none, without a label selector: that is made
            from the pod's services and owners. Only with ``List``.
        defaulting_type: ``System``: kube-scheduler's own, over hosts and zones; ``List``: those above.
    """

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Defaulting = Defaulting.SYSTEM

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidatePodTopologySpreadArgs``."""
        if self.default_constraints and self.defaulting_type is Defaulting.SYSTEM:
            yield FieldError("defaultingType", "must be List, as defaultConstraints are given")
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            path = f"defaultConstraints[{index}]"
            yield from _check(constraint, path)
            kind = (constraint.topology_key, constraint.when_unsatisfiable)
            if kind in seen:
                yield FieldError(path, f"a second constraint for {kind[0]} and {kind[1]}")
            seen.add(kind)


def _check(constraint: TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield FieldError(f"{path}.maxSkew", f"must be greater than 0, not {constraint.max_skew}")
    if not constraint.topology_key:
        yield FieldError(f"{path}.topologyKey", "is required")
    elif not is_qualified_name(constraint.topology_key):
        yield FieldError(f"{path}.topologyKey", f"{constraint.topology_key!r} is not a label key")
    if not constraint.when_unsatisfiable:
        yield FieldError(f"{path}.whenUnsatisfiable", "is required")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        actions = " or ".join(_ACTIONS)
        yield FieldError(
            f"{path}.whenUnsatisfiable", f"must be {actions}, not {constraint.when_unsatisfiable!r}"
        )
    if constraint.label_selector is not None:
        yield FieldError(f"{path}.labelSelector", "must be absent; it is made for each pod")
