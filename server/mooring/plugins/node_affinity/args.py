"""NodeAffinityArgs.

Mirrors ``NodeAffinityArgs`` of ``k8s.io/kube-scheduler/config/v1/types_pluginargs.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mooring.framework import FieldError
from mooring.framework.names import is_label_value, is_qualified_name
from mooring.framework.objects import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm

_INT64 = 2**63
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FIELD_OPERATORS = ("In", "NotIn")


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs:
    """Arguments of NodeAffinity.

    Attributes:
        added_affinity: A node affinity that every pod of the profile has besides its own.
    """

    added_affinity: NodeAffinity | None = None

    def validate(self) -> Iterator[FieldError]:
        """Mirrors ``ValidateNodeAffinityArgs``."""
        if self.added_affinity is None:
            return
        path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        required = self.added_affinity.required_during_scheduling_ignored_during_execution
        for index, term in enumerate(required.node_selector_terms if required else ()):
            yield from _check_term(term, f"{path}.nodeSelectorTerms[{index}]")
        path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        preferred = self.added_affinity.preferred_during_scheduling_ignored_during_execution
        for index, weighted in enumerate(preferred):
            if weighted.weight:
                yield from _check_term(weighted.preference, f"{path}[{index}].preference")


def _check_term(term: NodeSelectorTerm, path: str) -> Iterator[FieldError]:
    for index, requirement in enumerate(term.match_expressions):
        yield from _check_expression(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.match_fields):
        yield from _check_field(requirement, f"{path}.matchFields[{index}]")


def _check_expression(requirement: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    if not is_qualified_name(requirement.key):
        yield FieldError(f"{path}.key", f"{requirement.key!r} is no label key")
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                yield FieldError(f"{path}.values", f"must not be empty for {requirement.operator}")
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError(f"{path}.values", f"must be empty for {requirement.operator}")
        case "Gt" | "Lt":
            yield from _check_bound(values, requirement.operator, path)
        case other:
            operators = "In, NotIn, Exists, DoesNotExist, Gt or Lt"
            yield FieldError(f"{path}.operator", f"must be {operators}, not {other!r}")
            return
    for index, value in enumerate(values):
        if not is_label_value(value):
            yield FieldError(f"{path}.values[{index}]", f"{value!r} is no label value")


def _check_bound(values: Sequence[str], operator: str, path: str) -> Iterator[FieldError]:
    if len(values) != 1:
        yield FieldError(f"{path}.values", f"must be exactly one for {operator}")
    for index, value in enumerate(values):
        if not _INTEGER.fullmatch(value) or not -_INT64 <= int(value) < _INT64:
            yield FieldError(f"{path}.values[{index}]", f"must be an integer for {operator}, not {value!r}")


def _check_field(requirement: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    if requirement.operator not in _FIELD_OPERATORS:
        operators = " or ".join(_FIELD_OPERATORS)
        yield FieldError(f"{path}.operator", f"must be {operators}, not {requirement.operator!r}")
    elif len(requirement.values) != 1:
        yield FieldError(f"{path}.values", "must be exactly one")
