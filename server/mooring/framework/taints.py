"""Taints and tolerations. Mirrors ``k8s.io/api/core/v1/toleration.go``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from mooring.framework.deadline import timely
from mooring.framework.objects import Taint, Toleration

_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_INT64_LENGTH = 20

_OF_CONDITION = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
)
"""Prefixes of the taints that controllers set: the node lifecycle controller, cloud controllers, and
autoscalers that remove nodes."""


def tolerates(toleration: Toleration, taint: Taint, *, comparing: bool = False) -> bool:
    """Return whether ``toleration`` tolerates ``taint``. An empty effect or key of the toleration matches
    all.

    Args:
        toleration: The pod's side.
        taint: The node's side.
        comparing: Gt and Lt compare the taint's value with the toleration's; else they bear nothing.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in ("Gt", "Lt"):
        return comparing and _compares(toleration, taint)
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(taint: Taint, tolerations: Collection[Toleration], *, comparing: bool = False) -> bool:
    """Return whether one of ``tolerations`` tolerates ``taint``; ``comparing`` as in ``tolerates``."""
    return any(tolerates(toleration, taint, comparing=comparing) for toleration in timely(tolerations))


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *, comparing: bool = False
) -> Taint | None:
    """Return the first of ``taints`` that ``tolerations`` don't tolerate; None when they tolerate all."""
    hard = (taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))
    return next((taint for taint in hard if not tolerated(taint, tolerations, comparing=comparing)), None)


def is_of_condition(taint: Taint) -> bool:
    """Return whether a controller sets the taint and takes it away, by the state of its node.

    A new node has no such taint. A pod that tolerates it would go to a node that is dead, not ready or about
    to go.
    """
    return taint.key.startswith(_OF_CONDITION)


def comparison_fault(toleration: Toleration, taint: Taint) -> str:
    """Return why a toleration with Gt or Lt, which compares, does not tolerate ``taint``."""
    for value, whose in ((toleration.value, "the toleration"), (taint.value, "the taint")):
        if not value:
            return f"{whose} has no value to compare"
        if _integer(value) is None:
            return f'the value "{value}" of {whose} is not an integer in its canonical form'
    relation = "greater" if toleration.operator == "Gt" else "less"
    return f"{taint.value} is not {relation} than {toleration.value}"


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Both values must be int64 as people write them: no plus sign, no leading zeros, no -0."""
    limit, value = _integer(toleration.value), _integer(taint.value)
    if limit is None or value is None:
        return False
    return value > limit if toleration.operator == "Gt" else value < limit


def _integer(text: str) -> int | None:
    # Python raises for thousands of digits, and int64 has nineteen.
    if len(text) > _INT64_LENGTH or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
