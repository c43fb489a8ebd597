"""UnderlayIPArgs: how many IPs a node has, and which pods use one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mooring.framework import FieldError, NodeAmount
from mooring.framework.names import is_qualified_name

SCHEDULER_NAME = "blueking-ip-scheduler"
"""Pods with this schedulerName use an IP unless the arguments say otherwise."""


@dataclass(frozen=True, slots=True)
class Consumers:
    """Which pods use an IP: exactly one of the three. Pods in their node's network never do.

    Attributes:
        scheduler_name: Those whose ``spec.schedulerName`` is this.
        label: Those with this label, ``KEY`` or ``KEY=VALUE``.
        resource: Those with a container that names this resource in its requests or limits.
    """

    scheduler_name: str = ""
    label: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class UnderlayIPArgs:
    """Arguments of UnderlayIP.

    Attributes:
        ips_per_node: How many underlay IPs each node has, ``--ip-resource`` of blueking-ip-scheduler.
        node_ips: The place of a node's own number; without a valid one it has ``ips_per_node``.
        consumers: Which pods use one.
    """

    ips_per_node: int = 10
    node_ips: NodeAmount = field(default_factory=NodeAmount)
    consumers: Consumers = Consumers(scheduler_name=SCHEDULER_NAME)

    def validate(self) -> Iterator[FieldError]:
        """Yield the errors that types can't express."""
        if self.ips_per_node < 0:
            yield FieldError("ipsPerNode", f"must be 0 or more, not {self.ips_per_node}")
        yield from self.node_ips.faults("nodeIps")
        given = self.consumers
        if sum(map(bool, (given.scheduler_name, given.label, given.resource))) != 1:
            yield FieldError("consumers", "must have exactly one of schedulerName, label and resource")
        key = given.label.partition("=")[0]
        if given.label and not is_qualified_name(key):
            yield FieldError("consumers.label", f"{key!r} is not a label key; write KEY or KEY=VALUE")
        if given.resource and not is_qualified_name(given.resource):
            yield FieldError("consumers.resource", f"{given.resource!r} is not a name of a resource")
