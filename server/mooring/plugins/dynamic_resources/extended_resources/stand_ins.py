"""Devices that count as if they were a resource of the node, for the plugins that count resources."""

from __future__ import annotations

from mooring.framework import Handle, KubeVersion, NodeView, Part
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass, Object
from mooring.framework.resources import is_scalar_resource
from mooring.plugins.dynamic_resources.extended_resources.classes import (
    DEVICE_KINDS,
    GATE,
    classes_by_resource,
)
from mooring.plugins.dynamic_resources.extended_resources.totals import NodesWithDevices, device_totals
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
