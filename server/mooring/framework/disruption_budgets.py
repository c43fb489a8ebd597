"""Which PodDisruptionBudgets protect a pod."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework.label_selector import NOTHING, LabelMatcher, SelectorError, compiled
from mooring.framework.objects import Pod, PodDisruptionBudget


class DisruptionBudgets:
    """Some budgets by what they select: an empty selector all pods of its namespace, an absent one none.

    Immutable.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, LabelMatcher]]] = {}
        for budget in budgets:
            matcher = matcher_of(budget)
            if not matcher.nothing:
                self._by_namespace.setdefault(budget.metadata.namespace, []).append((budget, matcher))

    def guarding(self, pod: Pod) -> list[PodDisruptionBudget]:
        """Return the budgets that protect ``pod``."""
        found = self._by_namespace.get(pod.metadata.namespace, ())
        return [budget for budget, matcher in found if matcher.matches(pod.metadata.labels)]


def matcher_of(budget: PodDisruptionBudget) -> LabelMatcher:
    """Return a matcher of the pods that the budget selects; an unusable selector selects none."""
    try:
        return compiled(budget.spec.selector)
    except SelectorError:
        return NOTHING
