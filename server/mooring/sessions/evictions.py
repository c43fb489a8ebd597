"""Whether pods may be evicted, by the rules of the Eviction API and of programs that drain nodes.

Mirrors ``checkAndDecrement`` in ``pkg/registry/core/pod/storage/eviction.go``: the budgets' own selectors and
what their status allows. The annotations are those of Cluster Autoscaler and Karpenter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.framework import Pod
from mooring.framework.disruption_budgets import DisruptionBudgets
from mooring.framework.objects import PodDisruptionBudget
from mooring.runtime.commit.controllers import controller_of

_MIRROR = "kubernetes.io/config.mirror"
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"

Used = Counter[tuple[str, str]]
"""How many evictions each budget has granted, by its namespace and name."""


class Evictions:
    """The disruption budgets of a cluster at one moment."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._budgets = DisruptionBudgets(budgets)

    def obstacle(self, pod: Pod, used: Used) -> str:
        """Return why ``pod`` can't be evicted, "" if it can; then ``used`` has its eviction, too."""
        meta = pod.metadata
        if meta.annotations.get(_DO_NOT_DISRUPT) == "true":
            return f"it has the annotation {_DO_NOT_DISRUPT}"
        if meta.annotations.get(_SAFE_TO_EVICT) == "false":
            return f"its annotation {_SAFE_TO_EVICT} is false"
        if not controller_of(pod):
            return "no controller would recreate it"
        guards = self._budgets.guarding(pod)
        if len(guards) > 1:
            return "it has more than one PodDisruptionBudget, which the Eviction API doesn't support"
        for budget in guards:
            key = (meta.namespace, budget.metadata.name)
            if used[key] >= budget.status.disruptions_allowed:
                return f"it would violate PodDisruptionBudget {budget.metadata.name}"
            used[key] += 1
        return ""

    def exhausted(self, pods: Iterable[Pod]) -> tuple[str, ...]:
        """Return the budgets of ``pods`` that allow no disruption now, as ``namespace/name``, sorted."""
        budgets = [budget for pod in pods for budget in self._budgets.guarding(pod)]
        closed = (each.metadata for each in budgets if each.status.disruptions_allowed <= 0)
        return tuple(sorted({f"{meta.namespace}/{meta.name}" for meta in closed}))


def ends_with_node(pod: Pod) -> bool:
    """Return whether ``pod`` never gets another node: it is one of a DaemonSet, or static."""
    if _MIRROR in pod.metadata.annotations:
        return True
    return any(owner.controller and owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
