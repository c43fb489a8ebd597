"""Taints and tolerations. Mirrors ``k8s.io/api/core/v1/toleration.go``."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework.objects import Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """True when ``toleration`` bears ``taint``. An empty effect or key of the toleration fits all."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """True when one of ``tolerations`` bears ``taint``."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
