"""Keeps pods off nodes where a host port is taken. Mirrors ``plugins/nodeports/node_ports.go``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Finding,
    HintedEvent,
    NodeInfo,
    NodeTable,
    NodeView,
    Part,
    Pod,
    PodChange,
    PreFilterPlugin,
    ReasonCode,
    Status,
    Verdicts,
)
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.deadline import timely
from mooring.framework.findings import pod_holder
from mooring.framework.host_ports import ANY_ADDRESS, HostPort, host_ports
from mooring.framework.upstream import Upstream
from mooring.plugins.node_ports.hints import events

REASON = "node(s) didn't have free ports for the requested pod ports"

_PRE_FILTER = "PreFilterNodePorts"


@dataclass(frozen=True, slots=True)
class _Note:
    """The ports that the pod wants, and those that pods gave back in a what-if, each with its node's name."""

    wanted: tuple[HostPort, ...]
    given_back: frozenset[tuple[str, HostPort]] = frozenset()


class NodePorts(PreFilterPlugin[None], FilterPlugin[None], CacheablePlugin):
    """Rejects nodes where a pod already has one of the host ports; 0.0.0.0 collides with every address."""

    name = "NodePorts"
    upstream = Upstream()
    aspects = Aspect.NONE

    def dependencies(self, pod: Pod) -> Dependencies:
        ports = host_ports(pod.spec)
        return Dependencies(signature=ports, parts=Part.PODS if ports else Part.NONE)

    def update(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        # PreFilter's state is about the pod alone.
        return True

    def events_to_register(self) -> Sequence[HintedEvent]:
        return events(self.handle.kube_version)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        wanted = host_ports(pod.spec)
        if not wanted:
            return Status.skip()
        state.write(_PRE_FILTER, _Note(wanted))
        return SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Its ports are taken again."""
        note = state.read(_PRE_FILTER, _Note)
        state.write(_PRE_FILTER, replace(note, given_back=note.given_back - _ports_of(other, node)))
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status:
        """Its ports are free, even those that a second pod of the node has: kube-scheduler doesn't count."""
        note = state.read(_PRE_FILTER, _Note)
        state.write(_PRE_FILTER, replace(note, given_back=note.given_back | _ports_of(other, node)))
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        note = state.read(_PRE_FILTER, _Note)
        taken = np.zeros(nodes.table.capacity, np.bool_)
        for port in timely(note.wanted):
            taken[_rows_with(port, nodes.table, note.given_back)] = True
        return Verdicts.reject_where(nodes.take(taken), Status.unschedulable(REASON))

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        records = node.records if node is not None else ()
        ports = [(each, record) for record in records for each in record.kind.usage.host_ports]
        found = []
        for wanted in host_ports(pod.spec):
            users = [
                pod_holder(record, note="" if each == wanted else _written(each))
                for each, record in ports
                if wanted.collides_with(each)
            ]
            if users:
                finding = Finding(
                    ReasonCode.PORT_TAKEN,
                    _written(wanted),
                    f"host port {_written(wanted)} is taken",
                    asked=_written(wanted),
                    present=", ".join(dict.fromkeys(each.note or _written(wanted) for each in users)),
                    pod_change="use another host port, or none",
                    node_change=f"remove {', '.join(each.name for each in users)} from the node",
                )
                found.append(finding.held_by(users))
        return found


def _written(port: HostPort) -> str:
    """Return a port as people write it; every address goes without saying."""
    address = "" if port.host_ip == ANY_ADDRESS else f"{port.host_ip}:"
    return f"{address}{port.port}/{port.protocol}"


def _ports_of(pod: Pod, node: NodeInfo) -> set[tuple[str, HostPort]]:
    return {(node.name, port) for port in host_ports(pod.spec)}


def _rows_with(port: HostPort, table: NodeTable, given_back: frozenset[tuple[str, HostPort]]) -> list[int]:
    """Return the rows where a pod has this port, on an address that collides with the wanted one."""
    free: dict[int, set[str]] = {}
    for name, each in given_back:
        if (each.protocol, each.port) == (port.protocol, port.port):
            free.setdefault(table.index.get(name, -1), set()).add(each.host_ip)
    # Copied in one step, because the writer may add to it meanwhile.
    users = list(table.ports.get((port.protocol, port.port), {}).items())
    taken = [(row, set(addresses) - free[row] if row in free else addresses) for row, addresses in users]
    if port.host_ip == ANY_ADDRESS:
        return [row for row, addresses in taken if addresses]
    collide = {ANY_ADDRESS, port.host_ip}
    return [row for row, addresses in taken if not collide.isdisjoint(addresses)]
