"""Queueing hints for pods that PodTopologySpread rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.framework import (
    ActionType,
    EventResource,
    HintedEvent,
    KubeVersion,
    Node,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import POD_EVENTS_APART_SINCE, HintFunction
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint

_NOMINATED_COUNT_SINCE = KubeVersion(1, 36)
"""The release since which a pod that has a node in prospect counts like one that has it."""

Constraints = Sequence[SpreadConstraint]
ConstraintsOf = Callable[[Pod], Constraints]


def events(constraints_of: ConstraintsOf, version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events; ``constraints_of`` gives the constraints by which a pod's nodes are rejected."""

    def after_pod(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        if not all(_counts(other, pod, version) for other in (old, new) if other is not None):
            return QueueingHint.SKIP
        return QueueingHint.when(_recounts(constraints_of(pod), pod, old, new))

    def after_node(pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        return QueueingHint.when(_redraws(constraints_of(pod), old, new))

    return (
        *_pod_events(version, after_pod),
        HintedEvent.of(
            EventResource.NODE,
            ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
            after_node,
        ),
    )


def _pod_events(version: KubeVersion, after_pod: HintFunction) -> tuple[HintedEvent, ...]:
    others = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL
    own = ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION
    if version < POD_EVENTS_APART_SINCE:
        return (HintedEvent.of(EventResource.POD, others | own, after_pod),)
    return (
        HintedEvent.of(EventResource.ASSIGNED_POD, others, after_pod),
        HintedEvent.of(EventResource.TARGET_POD, own, after_pod),
    )


def _counts(other: Pod, pod: Pod, version: KubeVersion) -> bool:
    """Return whether ``other`` is the pod itself, or is counted where the pod is to be spread."""
    if other.metadata.uid == pod.metadata.uid:
        return True
    nominated = version >= _NOMINATED_COUNT_SINCE and bool(other.status.nominated_node_name)
    return bool(other.spec.node_name or nominated) and other.metadata.namespace == pod.metadata.namespace


def _recounts(constraints: Constraints, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Return whether a constraint counts otherwise after another pod came, went or changed."""
    if old is not None and new is not None:
        tolerates_more = pod.metadata.uid == new.metadata.uid and old.spec.tolerations != new.spec.tolerations
        if tolerates_more and any(constraint.honors_taints for constraint in constraints):
            return True
        return any(_counted(constraint, old) != _counted(constraint, new) for constraint in constraints)
    changed = new or old
    return changed is not None and any(_counted(constraint, changed) for constraint in constraints)


def _counted(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector.matches(pod.metadata.labels)


def _redraws(constraints: Constraints, old: Node | None, new: Node | None) -> bool:
    """Return whether the domains are other ones after a node came, went or changed."""
    keys = [constraint.topology_key for constraint in constraints]
    if old is None or new is None:
        changed = new or old
        return changed is not None and _has_all(keys, changed)
    if _has_all(keys, old) != _has_all(keys, new):
        return True
    before, after = old.metadata.labels, new.metadata.labels
    moved = any(before.get(key) != after.get(key) for key in keys)
    return _has_all(keys, new) and (moved or old.spec.taints != new.spec.taints)


def _has_all(keys: Sequence[str], node: Node) -> bool:
    return all(key in node.metadata.labels for key in keys)
