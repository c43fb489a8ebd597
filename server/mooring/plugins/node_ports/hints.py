"""Queueing hints for pods that NodePorts rejected."""

from __future__ import annotations

from mooring.framework import ActionType, EventResource, HintedEvent, KubeVersion, Pod, QueueingHint
from mooring.framework.cluster_events import assigned_pod
from mooring.framework.host_ports import ANY_ADDRESS, HostPort, host_ports


def _after_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    held_a_node = bool(old.spec.node_name or old.status.nominated_node_name)
    return QueueingHint.when(
        held_a_node
        and any(_collide(one, two) for one in host_ports(pod.spec) for two in host_ports(old.spec))
    )


def _collide(one: HostPort, two: HostPort) -> bool:
    same_address = one.host_ip == two.host_ip or ANY_ADDRESS in (one.host_ip, two.host_ip)
    return same_address and (one.protocol, one.port) == (two.protocol, two.port)


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""
    return (
        HintedEvent.of(assigned_pod(version), ActionType.DELETE, _after_deletion),
        HintedEvent.of(EventResource.NODE, ActionType.ADD),
    )
