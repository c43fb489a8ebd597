"""Devices that pods ask for as if they were a resource of the node.

Mirrors ``k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache``.
"""

from __future__ import annotations

from mooring.framework import Handle, KubeVersion, NodeView
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass
from mooring.framework.resources import is_scalar_resource
from mooring.plugins.device_totals import NodesWithDevices, device_totals
from mooring.plugins.dynamic_resources.rules import Rules
from mooring.plugins.resource_uses import Requests

GATE = "DRAExtendedResource"
"""The feature gate, on since 1.36."""

_DELEGATION_SINCE = KubeVersion(1, 35)
"""Before, plugins that count resources do not act on the gate."""

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""What the implicit resource name of a class begins with."""


def resource_names(device_class: DeviceClass) -> tuple[str, ...]:
    """The names of resources under which pods may ask for devices of the class."""
    explicit = device_class.spec.extended_resource_name
    implicit = IMPLICIT + device_class.metadata.name
    return (explicit, implicit) if explicit is not None else (implicit,)


def classes_by_resource(objects: ObjectTable) -> dict[str, DeviceClass]:
    """The class of each such name; of several the newest one, or else the first by name."""
    ordered = sorted(objects.all(DeviceClass), key=lambda known: known.metadata.name, reverse=True)
    ordered.sort(key=lambda known: known.metadata.creation_timestamp or "")
    return {name: device_class for device_class in ordered for name in resource_names(device_class)}


class DevicesInstead:
    """Which resources devices may stand for, under a release and its gates. May be shared between threads.

    Mirrors ``shouldDelegateResourceToDRA`` in ``plugins/noderesources/fit.go``.
    """

    def __init__(self, handle: Handle) -> None:
        self._enabled = handle.kube_version >= _DELEGATION_SINCE and handle.gates.enabled(GATE)
        self._rules = Rules.of(handle.gates)

    def of(self, requests: Requests, objects: ObjectTable) -> frozenset[str]:
        """Those of ``requests``."""
        names = {name for name, amount in requests if amount and is_scalar_resource(name)}
        return frozenset(names & classes_by_resource(objects).keys() if names and self._enabled else ())

    def among(self, requests: Requests, nodes: NodeView) -> NodeView:
        """``nodes`` as scores see them: such devices count where a node has none of the resource itself."""
        objects = nodes.snapshot.objects
        names = [name for name in self.of(requests, objects) if not nodes.allocatable(name).all()]
        if not names:
            return nodes
        classes = classes_by_resource(objects)
        totals = {name: device_totals(classes[name], nodes, self._rules) for name in names}
        return NodesWithDevices(nodes.snapshot, nodes.rows, totals)
