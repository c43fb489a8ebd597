"""Queueing hints for pods that NodePorts rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import assigned_pod
from mooring.framework.host_ports import host_ports


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    held_a_node = bool(old.spec.node_name or old.status.nominated_node_name)
    return QueueingHint.when(
        held_a_node
        and any(one.collides_with(two) for one in host_ports(pod.spec) for two in host_ports(old.spec))
    )


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(assigned_pod(version), ActionType.DELETE, _after_deletion),
        HintedEvent.of(EventResource.NODE, ActionType.ADD),
    )
