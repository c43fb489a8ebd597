"""Keeps pods to nodes that have an underlay IP left for them, and prefers those with the most.

Follows the rules of blueking-ip-scheduler.
"""

from __future__ import annotations

from mooring.framework import Ledger, Node, Pod, Status
from mooring.plugins.underlay_ip.args import Consumers, UnderlayIPArgs

REASON_NONE_FREE = "node(s) had no free underlay IP"
REASON_MASTER = "node(s) were masters, which have no underlay IPs"

MASTER_LABELS = ("node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane")
"""Nodes with one of these labels are out of scope."""


class UnderlayIP(Ledger[UnderlayIPArgs]):
    """Passes only nodes with a free underlay IP for a pod that uses one; those with the most free IPs win."""

    name = "UnderlayIP"
    Args = UnderlayIPArgs
    full = REASON_NONE_FREE

    def amount(self, pod: Pod) -> int:
        return int(uses_ip(pod, self.args.consumers))

    def capacity(self, node: Node) -> int | Status:
        if not node.metadata.labels.keys().isdisjoint(MASTER_LABELS):
            return Status.unresolvable(REASON_MASTER)
        own = self.args.node_ips.of(node)
        return self.args.ips_per_node if own is None else own


def uses_ip(pod: Pod, consumers: Consumers) -> bool:
    """Return whether ``pod`` uses an underlay IP while it is on a node."""
    if pod.spec.host_network:
        return False
    if consumers.scheduler_name:
        return pod.spec.scheduler_name == consumers.scheduler_name
    if consumers.label:
        key, equals, value = consumers.label.partition("=")
        labels = pod.metadata.labels
        return key in labels and (not equals or labels[key] == value)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(
        consumers.resource in container.resources.requests or consumers.resource in container.resources.limits
        for container in containers
    )
