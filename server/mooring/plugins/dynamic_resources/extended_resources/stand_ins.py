"""Devices that count as if they were a resource of the node, for the plugins that count resources.

Mirrors ``calculateDRAResourceTotals`` in ``plugins/noderesources/resource_allocation.go``: outdated and
incomplete pools count as well, and where something can't be evaluated a node has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mooring.framework import Bools, Handle, Int64s, KubeVersion, NodeView, Part
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass, Object
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.objects.devices import Device, ResourceSlice, ResourceSliceSpec
from mooring.framework.resources import is_scalar_resource
from mooring.plugins.dynamic_resources.cel import EvaluationError, compile_selector
from mooring.plugins.dynamic_resources.cel.device import device_scope
from mooring.plugins.dynamic_resources.extended_resources.classes import (
    DEVICE_KINDS,
    GATE,
    classes_by_resource,
)
from mooring.plugins.dynamic_resources.pools.inventory import DeviceID
from mooring.plugins.dynamic_resources.pools.ledger import allocated_by
from mooring.plugins.dynamic_resources.pools.reach import NodeSelectorError, Reach
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.resource_uses import Requests

_DELEGATION_SINCE = KubeVersion(1, 35)
"""Before, plugins that count resources do not act on the gate."""


class DevicesInstead:
    """Which resources devices may stand for, under a release and its gates. May be shared between threads.

    Mirrors ``shouldDelegateResourceToDRA`` in ``plugins/noderesources/fit.go``.
    """

    def __init__(self, handle: Handle) -> None:
        self._enabled = handle.kube_version >= _DELEGATION_SINCE and handle.gates.enabled(GATE)
        self._rules = Rules.of(handle.gates)
        self._known: tuple[int, dict[str, DeviceClass]] = 0, {}

    def of(self, requests: Requests, objects: ObjectTable) -> frozenset[str]:
        """Those of ``requests``."""
        names = {name for name, amount in timely(requests) if amount and is_scalar_resource(name)}
        return frozenset(names & self._classes(objects).keys() if names and self._enabled else ())

    def concern(self, requests: Requests) -> bool:
        """Return whether devices of some class could stand for one of ``requests``."""
        return self._enabled and any(amount and is_scalar_resource(name) for name, amount in timely(requests))

    def read_by_scores(self, requests: Requests) -> tuple[Part, tuple[type[Object], ...]]:
        """Return the parts of the cluster, and the kinds of objects, that scores of ``requests`` read."""
        if self.concern(requests):
            return Part.RESOURCES | Part.OBJECTS | Part.NODES_BUT_IMAGES, DEVICE_KINDS
        return Part.RESOURCES, ()

    def among(self, requests: Requests, nodes: NodeView) -> NodeView:
        """``nodes`` as scores see them: such devices count where a node has none of the resource itself."""
        objects = nodes.snapshot.objects
        names = [name for name in self.of(requests, objects) if not nodes.allocatable(name).all()]
        if not names:
            return nodes
        classes = self._classes(objects)
        totals = {name: device_totals(classes[name], nodes, self._rules) for name in names}
        return NodesWithDevices(nodes.snapshot, nodes.rows, totals)

    def _classes(self, objects: ObjectTable) -> dict[str, DeviceClass]:
        """Return ``classes_by_resource``, computed again once there are other classes."""
        version = objects.version(DeviceClass)
        known, classes = self._known
        if version != known:
            classes = classes_by_resource(objects)
            if objects.version(DeviceClass) == version:
                self._known = version, classes
        return classes


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
    """Return the devices of ``device_class`` on each of ``nodes``. Raises UnsupportedExpressionError if a
    selector of the class is outside the supported part of CEL.
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
        """bool[K]; raises NodeSelectorError if a node selector can't be used."""
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
