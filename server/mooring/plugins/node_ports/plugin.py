"""Keeps pods off nodes where a host port is taken. Mirrors ``plugins/nodeports/node_ports.go``."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeTable,
    NodeView,
    Pod,
    PreFilterPlugin,
    Scope,
    Status,
    Verdicts,
)
from mooring.framework.resources import ANY_ADDRESS, HostPort, host_ports

REASON = "node(s) didn't have free ports for the requested pod ports"

_PRE_FILTER = "PreFilterNodePorts"


class NodePorts(PreFilterPlugin[None], FilterPlugin[None]):
    """Refuses nodes where a pod already has one of the host ports; 0.0.0.0 collides with every address."""

    name = "NodePorts"
    scope = Scope.NODE

    def sign(self, pod: Pod) -> Hashable:
        return host_ports(pod)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        wanted = host_ports(pod)
        if not wanted:
            return Status.skip()
        state.write(_PRE_FILTER, wanted)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        wanted: tuple[HostPort, ...] = state.read(_PRE_FILTER, tuple)
        taken = np.zeros(nodes.table.capacity, np.bool_)
        for port in wanted:
            taken[_rows_with(port, nodes.table)] = True
        return Verdicts.reject_where(nodes.take(taken), Status.unschedulable(REASON))


def _rows_with(port: HostPort, table: NodeTable) -> list[int]:
    """The rows where a pod has this port, on an address that collides with the wanted one."""
    # Copied in one step, because the writer may add to it meanwhile.
    users = list(table.ports.get((port.protocol, port.port), {}).items())
    if port.host_ip == ANY_ADDRESS:
        return [row for row, addresses in users if addresses]
    return [row for row, addresses in users if ANY_ADDRESS in addresses or port.host_ip in addresses]
