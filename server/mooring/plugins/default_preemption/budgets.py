"""Disruption budgets: which of some pods may not all go.

Mirrors ``filterPodsWithPDBViolation`` in ``defaultpreemption/default_preemption.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mooring.framework import KubeVersion, Pod
from mooring.framework.label_selector import NOTHING, LabelMatcher, SelectorError, compiled
from mooring.framework.objects import PodDisruptionBudget
from mooring.framework.releases import NEWEST

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

    def split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        """Those of ``pods`` whose going violates a budget, and the others.

        Each pod in turn uses up what the budgets allow, so the order counts; it is kept. Since Kubernetes
        1.37 a pod uses up nothing of the budgets after the first that it violates.
        """
        used: Counter[tuple[str, str]] = Counter()
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod in pods:
            (violating if self.violates(pod, used) else others).append(pod)
        return violating, others

    def violates(self, pod: Pod, used: Counter[tuple[str, str]]) -> bool:
        """Return whether the pod's going violates a budget, of which ``used`` says how much is gone."""
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
