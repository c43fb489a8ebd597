"""Queueing hints for pods that NodeUnschedulable rejected."""

from __future__ import annotations

from mooring.framework import (
    ActionType,
    EventResource,
    HintedEvent,
    KubeVersion,
    Node,
    Pod,
    QueueingHint,
    Taint,
)
from mooring.framework.cluster_events import target_pod
from mooring.framework.taints import tolerated

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint whose toleration bears ``spec.unschedulable``."""


def _after_node(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    was_closed = old is None or old.spec.unschedulable
    return QueueingHint.when(was_closed and not new.spec.unschedulable)


def _after_toleration(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.when(pod.metadata.uid == new.metadata.uid and tolerated(CORDON, new.spec.tolerations))


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _after_node),
        HintedEvent.of(target_pod(version), ActionType.UPDATE_POD_TOLERATION, _after_toleration),
    )
