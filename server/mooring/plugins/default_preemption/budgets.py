"""Disruption budgets: which of some pods may not all go.

Mirrors ``FilterVictimsWithPDBViolation`` in ``framework/preemption/util.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.framework import KubeVersion, Pod
from mooring.framework.disruption_budgets import DisruptionBudgets, matcher_of
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.releases import NEWEST
from mooring.plugins.default_preemption.units import VictimUnit

_FIRST_DECIDES_SINCE = KubeVersion(1, 37)


class Budgets:
    """The disruption budgets of a cluster. Immutable."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], version: KubeVersion = NEWEST) -> None:
        self._first_decides = version >= _FIRST_DECIDES_SINCE
        # To kube-scheduler an empty selector selects nothing.
        self._budgets = DisruptionBudgets(each for each in budgets if not matcher_of(each).empty)

    def guarding(self, template: Pod) -> list[PodDisruptionBudget]:
        """Return the budgets that protect pods of ``template``; none protects a pod without labels."""
        return self._budgets.guarding(template) if template.metadata.labels else []

    def protected_first(self, units: Iterable[VictimUnit]) -> list[tuple[VictimUnit, int]]:
        """Return ``units``, first those with an eviction that violates a budget, each with its violations.

        One pod after another uses up what the budgets allow, so the order counts; either sort keeps it. Since
        Kubernetes 1.37 a pod uses up no further budgets after the first that it violates.
        """
        used: Counter[tuple[str, str]] = Counter()
        counted = [(unit, sum(self.violates(pod, used) for pod in unit.pods)) for unit in units]
        return sorted(counted, key=lambda pair: not pair[1])

    def violates(self, pod: Pod, used: Counter[tuple[str, str]]) -> bool:
        """Return whether evicting the pod violates a budget, after the evictions in ``used``."""
        return self.violates_any(self.guarding(pod), pod.metadata.name, used)

    def violates_any(
        self, guarding: Iterable[PodDisruptionBudget], name: str, used: Counter[tuple[str, str]]
    ) -> bool:
        """As ``violates``, of the pod ``name``, which the budgets ``guarding`` it protect."""
        violated = False
        for budget in guarding:
            if name not in budget.status.disrupted_pods:
                key = (budget.metadata.namespace, budget.metadata.name)
                used[key] += 1
                violated |= used[key] > budget.status.disruptions_allowed
                if violated and self._first_decides:
                    return True
        return violated
