"""Extended resources that a pod asks for and that devices may stand for.

Mirrors ``plugins/dynamicresources/extendeddynamicresources.go``: on each node, what no device plugin offers
is asked for by one more claim.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from mooring.framework import NodeView, Pod, Status, hashable
from mooring.framework.deadline import timely
from mooring.framework.internal import may_ask_for_devices
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass, ResourceClaim
from mooring.framework.objects.claims import DeviceClaim, ResourceClaimSpec
from mooring.framework.quantity import parse_quantity
from mooring.framework.resources import ResourceRules, is_extended_resource, pod_amounts
from mooring.framework.view import NodesChangedError
from mooring.plugins.dynamic_resources.claims.extended_claim import ANNOTATION
from mooring.plugins.dynamic_resources.extended_resources.classes import IMPLICIT, classes_by_resource
from mooring.plugins.dynamic_resources.extended_resources.container_requests import container_requests
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, requests_of

CANNOT_FIT = Status.unresolvable("cannot fit resource")

_RULES = ResourceRules(resizing=False, pod_level_resizing=False)


@dataclass(frozen=True, slots=True)
class ExtendedResources:
    """What ``pod`` asks for.

    Attributes:
        pod: The pod.
        classes: The device class of each resource that devices may stand for; at least one.
        others: The resources that they may not stand for.
    """

    pod: Pod
    classes: Mapping[str, DeviceClass]
    others: tuple[str, ...]

    @property
    def asks(self) -> Hashable:
        """Equal for pods that need the same devices on each node."""
        spec = self.pod.spec
        return hashable(spec.containers, spec.init_containers, spec.overhead, spec.resources)

    def lacking_on(self, nodes: NodeView, position: int) -> Mapping[str, DeviceClass] | Status:
        """Return the resources for which devices must stand on the node; or why it can't take the pod."""
        node = nodes.table.nodes[int(nodes.rows[position])]
        if node is None:
            raise NodesChangedError
        if any(name not in node.status.allocatable for name in timely(self.others)):
            return CANNOT_FIT
        return {
            name: device_class
            for name, device_class in timely(self.classes.items())
            if not parse_quantity(node.status.allocatable.get(name, 0))
        }

    def claim(self, classes: Mapping[str, DeviceClass]) -> ClaimToAllocate:
        """Return a claim for the resources of ``classes``, with a request per container."""
        requests, _ = container_requests(self.pod, classes)
        asked = ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests))))
        by_name = {device_class.metadata.name: device_class for device_class in classes.values()}
        key = f"{self.pod.metadata.namespace}/<extended-resources>"
        return ClaimToAllocate(key=key, requests=requests_of(asked, by_name), constraints=())


def extended_resources_of(pod: Pod, objects: ObjectTable) -> ExtendedResources | None:
    """None when the pod asks for no resource that devices may stand for."""
    if not may_ask_for_devices(pod):
        return None
    names = [
        name
        for name, amount in timely(pod_amounts(pod, _RULES).items())
        if amount and (is_extended_resource(name) or name.startswith(IMPLICIT))
    ]
    known = classes_by_resource(objects) if names else {}
    classes = {name: known[name] for name in names if name in known}
    if not classes:
        return None
    others = tuple(name for name in names if name not in known)
    return ExtendedResources(pod, classes, others)


def made_before(pod: Pod, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Return which of ``claims`` is left of an earlier decision whose binding failed; None = none is."""
    meta = pod.metadata
    for claim in claims:
        if claim.metadata.annotations.get(ANNOTATION) == "true" and any(
            owner.controller and owner.name == meta.name and owner.uid == meta.uid
            for owner in claim.metadata.owner_references
        ):
            return claim
    return None
