"""Queueing hints for pods that NodeDeclaredFeatures rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Node, Pod, QueueingHint
from mooring.framework.cluster_events import target_pod
from mooring.plugins.node_declared_features.needs import needed_features


def _after_node(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    return QueueingHint.when(old is None or old.status.declared_features != new.status.declared_features)


def _after_own_update(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.when(
        pod.metadata.uid == new.metadata.uid and needed_features(old) != needed_features(new)
    )


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(
            EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE, _after_node
        ),
        HintedEvent.of(target_pod(version), ActionType.UPDATE, _after_own_update),
    )
