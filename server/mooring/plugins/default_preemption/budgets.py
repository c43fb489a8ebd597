"""Disruption budgets: which of some pods may not all go.

Mirrors ``FilterVictimsWithPDBViolation`` in ``framework/preemption/util.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from mooring.framework import KubeVersion, Pod
from mooring.framework.label_selector import NOTHING, LabelMatcher, SelectorError, compiled
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.releases import NEWEST
from mooring.plugins.default_preemption.units import VictimUnit

_FIRST_DECIDES_SINCE = KubeVersion(1, 37)


class Budgets:
    """The disruption budgets of a cluster. Immutable."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], version: KubeVersion = NEWEST) -> None:
        self._first_decides = version >= _FIRST_DECIDES_SINCE
        self._guarding: dict[str, list[tuple[PodDisruptionBudget, LabelMatcher]]] = {}
        for budget in budgets:
            matcher = _matcher(budget)
            if not matcher.nothing:
                self._guarding.setdefault(budget.metadata.namespace, []).append((budget, matcher))

    def guarding(self, template: Pod) -> list[PodDisruptionBudget]:
        """Return the budgets that protect pods of ``template``."""
        labels = template.metadata.labels
        found = self._guarding.get(template.metadata.namespace, ()) if labels else ()
        return [budget for budget, matcher in found if matcher.matches(labels)]

    def protected_first(
        self, units: Iterable[VictimUnit], count: Callable[[Iterable[bool]], int] = sum
    ) -> list[tuple[VictimUnit, int]]:
        """Return ``units``, first those with an eviction that violates a budget, each with its violations.

        Each pod in turn uses up what the budgets allow, so the order counts; either sort keeps it. Since
        Kubernetes 1.37 a pod uses up no further budgets after the first that it violates. With ``any`` as
        ``count`` the pods of a unit use up nothing after the first protected one.
        """
        used: Counter[tuple[str, str]] = Counter()
        counted = [(unit, count(self.violates(pod, used) for pod in unit.pods)) for unit in units]
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


def _matcher(budget: PodDisruptionBudget) -> LabelMatcher:
    """Return a matcher of the pods that the budget protects; of none for an empty or unusable selector."""
    try:
        matcher = compiled(budget.spec.selector)
    except SelectorError:
        return NOTHING
    return NOTHING if matcher.empty else matcher
