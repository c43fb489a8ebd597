"""How many devices of a class each node has, and how many of them are taken.

Mirrors ``calculateDRAResourceTotals`` in ``plugins/noderesources/resource_allocation.go``: outdated and
incomplete pools count as well, and where something can't be evaluated a node has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mooring.framework import Bools, Int64s, NodeView
from mooring.framework.objects import DeviceClass
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.objects.devices import Device, ResourceSlice, ResourceSliceSpec
from mooring.plugins.dynamic_resources.cel import EvaluationError, compile_selector
from mooring.plugins.dynamic_resources.cel.device import device_scope
from mooring.plugins.dynamic_resources.pools.inventory import DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import allocated_by
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError, Reach
from mooring.plugins.dynamic_resources.rules import Rules


@dataclass(frozen=True)
class DeviceTotals:
    """Devices per node.

    Attributes:
        all: int64[K], how many there are.
        taken: int64[K], how many of them some claim has, or has a share of.
    """

    all: Int64s
    taken: Int64s


@dataclass(frozen=True, slots=True)
class NodesWithDevices(NodeView):
    """Nodes that offer devices as resources where they offer none of these themselves."""

    totals: Mapping[str, DeviceTotals] = field(default_factory=dict)

    def allocatable(self, resource: str, *, live: bool = False) -> Int64s:
        """Return the amounts of ``NodeView``, or the devices where those are 0."""
        offered = NodeView.allocatable(self, resource, live=live)
        found = self.totals.get(resource)
        return offered if found is None else np.where(offered == 0, found.all, offered)

    def requested(self, resource: str, *, live: bool = False) -> Int64s:
        """As in ``NodeView``; taken devices where ``allocatable`` has devices."""
        requested = NodeView.requested(self, resource, live=live)
        found = self.totals.get(resource)
        if found is None:
            return requested
        stand_in = (NodeView.allocatable(self, resource) == 0) & (found.all > 0)
        return np.where(stand_in, found.taken, requested)


def device_totals(device_class: DeviceClass, nodes: NodeView, rules: Rules) -> DeviceTotals:
    """Return the devices of ``device_class`` on each of ``nodes``.

    Raises:
        UnsupportedExpressionError: A selector of the class is outside the supported part of CEL.
    """
    objects = nodes.snapshot.objects
    allocated = allocated_by(objects.all(ResourceClaim), rules)
    totals = DeviceTotals(*np.zeros((2, len(nodes)), np.int64))
    failed = np.zeros(len(nodes), np.bool_)
    reached = _Reached(nodes)
    for spec in (announced.spec for announced in objects.all(ResourceSlice)):
        for device in spec.devices:
            try:
                where = reached.by(device if spec.per_device_node_selection else spec)
            except NodeSelectorError:
                failed[:] = True
                continue
            try:
                belongs = _belongs(device, spec.driver, device_class)
            except EvaluationError:
                failed |= where
                continue
            if belongs:
                name = DeviceID(spec.driver, spec.pool.name, device.name)
                totals.all[where] += 1
                totals.taken[where] += name in allocated.dedicated or name in allocated.shared
    totals.all[failed] = 0
    return totals


def _belongs(device: Device, driver: str, device_class: DeviceClass) -> bool:
    # Upstream leaves out that a device can be shared.
    scope = device_scope(driver, device)
    expressions = [selector.cel.expression for selector in device_class.spec.selectors if selector.cel]
    return all(compile_selector(text).matches(scope) for text in expressions)


class _Reached:
    """Which of the nodes reach what."""

    def __init__(self, nodes: NodeView) -> None:
        self._reach = Reach(nodes)
        self._nodes = nodes
        self._positions = {name: position for position, name in enumerate(nodes.names)}

    def by(self, where: ResourceSliceSpec | Device) -> Bools:
        """bool[K].

        Raises:
            SelectorError: A node selector can't be used.
        """
        found = np.zeros(len(self._nodes), np.bool_)
        if where.node_name:
            position = self._positions.get(where.node_name)
            if position is not None:
                found[position] = True
        elif where.all_nodes:
            found[:] = True
        elif where.node_selector is not None:
            found[:] = [
                self._reach.selected(where.node_selector, position) for position in range(len(self._nodes))
            ]
        return found
