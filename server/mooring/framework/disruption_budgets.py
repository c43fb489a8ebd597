"""Which PodDisruptionBudgets protect a pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.framework.label_selector import NOTHING, LabelMatcher, SelectorError, compiled
from mooring.framework.objects import Pod, PodDisruptionBudget


class DisruptionBudgets:
    """Some budgets by their selectors: an empty one selects all pods of its namespace, an absent one none.

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

    def violated_by(self, pods: Iterable[Pod]) -> tuple[str, ...]:
        """Return the budgets that don't allow all these pods to go, as ``namespace/name``, sorted."""
        going = Counter(
            budget.metadata.key
            for pod in pods
            for budget in self.guarding(pod)
            if pod.metadata.name not in budget.status.disrupted_pods
        )
        allowed = {
            f"{namespace}/{budget.metadata.name}": budget.status.disruptions_allowed
            for namespace, budgets in self._by_namespace.items()
            for budget, _ in budgets
        }
        return tuple(sorted(name for name, count in going.items() if count > allowed[name]))


def matcher_of(budget: PodDisruptionBudget) -> LabelMatcher:
    """Return a matcher of the pods that the budget selects; an unusable selector selects none."""
    try:
        return compiled(budget.spec.selector)
    except SelectorError:
        return NOTHING
