"""Extended resources that a pod asks for and that devices may stand for.

Mirrors ``plugins/dynamicresources/extendeddynamicresources.go``: on each node, what no device plugin offers
is asked for by one more claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mooring.framework import NodeView, Pod, Status
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import Container, DeviceClass, ResourceClaim
from mooring.framework.objects.claims import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from mooring.framework.quantity import parse_quantity
from mooring.framework.resources import ResourceRules, is_extended_resource, pod_amounts
from mooring.framework.view import NodesChangedError
from mooring.plugins.dynamic_resources.extended_resources.classes import IMPLICIT, classes_by_resource
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, requests_of

CANNOT_FIT = Status.unresolvable("cannot fit resource")
_MADE_BEFORE = "resource.kubernetes.io/extended-resource-claim"
_RULES = ResourceRules(resizing=False, pod_level_resizing=False)
_WHOLE = 10**9


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

    def claim_on(self, nodes: NodeView, position: int) -> ClaimToAllocate | Status:
        """Return the claim for what devices must provide on the node, often nothing; or why it can't take the
        pod.
        """
        node = nodes.table.nodes[int(nodes.rows[position])]
        if node is None:
            raise NodesChangedError
        if any(name not in node.status.allocatable for name in timely(self.others)):
            return CANNOT_FIT
        lacking = {
            name: device_class
            for name, device_class in timely(self.classes.items())
            if not parse_quantity(node.status.allocatable.get(name, 0))
        }
        return self.claim(lacking)

    def needs_devices(self, node: NodeView) -> bool:
        """Return whether the pod can't be on the one node of the view without devices."""
        claim = self.claim_on(node, 0) if len(node) else CANNOT_FIT
        return isinstance(claim, Status) or bool(claim.requests)

    def claim(self, classes: Mapping[str, DeviceClass]) -> ClaimToAllocate:
        """Return a claim for the resources of ``classes``, with a request per container."""
        requests = sorted(_requests(self.pod, classes), key=lambda request: request.name)
        asked = ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests))))
        by_name = {device_class.metadata.name: device_class for device_class in classes.values()}
        key = f"{self.pod.metadata.namespace}/<extended-resources>"
        return ClaimToAllocate(key=key, requests=requests_of(asked, by_name), constraints=())

    def has_claim(self, objects: ObjectTable) -> bool:
        """Return whether an earlier decision left a claim for the pod's extended resources."""
        return any(
            claim.metadata.annotations.get(_MADE_BEFORE) == "true"
            and any(owner.uid == self.pod.metadata.uid for owner in claim.metadata.owner_references)
            for claim in objects.in_namespace(ResourceClaim, self.pod.metadata.namespace)
        )


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
    return ExtendedResources(pod, classes, tuple(name for name in names if name not in known))


def may_ask_for_devices(pod: Pod) -> bool:
    """Return whether the pod asks for a resource that devices could stand for."""
    return any("/" in name for name in _resource_names(pod))


def _resource_names(pod: Pod) -> Iterator[str]:
    """All that the pod asks for, without the amounts, which take longer to add up."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield from container.resources.requests
    if pod.spec.resources is not None:
        yield from pod.spec.resources.requests
    yield from pod.spec.overhead


def _requests(pod: Pod, classes: Mapping[str, DeviceClass]) -> Iterator[DeviceRequest]:
    """Containers that run side by side need devices each; those that run before them share these."""
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    before = {
        number for number, init in enumerate(pod.spec.init_containers) if init.restart_policy != "Always"
    }
    for resource, device_class in timely(classes.items()):
        asked = {number: _count(container, resource) for number, container in enumerate(containers)}
        most, most_number = 0, -1
        for number in timely(sorted(before)):
            later = sum(count for other, count in asked.items() if other > number and other not in before)
            if asked[number] - later > most:
                most, most_number = asked[number] - later, number
        if most:
            yield _request(containers, most_number, resource, device_class, most)
        for number, count in asked.items():
            if count and number not in before:
                yield _request(containers, number, resource, device_class, count)


def _request(
    containers: list[Container], number: int, resource: str, device_class: DeviceClass, count: int
) -> DeviceRequest:
    """Named after the container and the place of the resource among all that it asks for."""
    place = sorted(containers[number].resources.requests).index(resource)
    exactly = ExactDeviceRequest(
        device_class_name=device_class.metadata.name, allocation_mode="ExactCount", count=count
    )
    return DeviceRequest(name=f"container-{number}-request-{place}", exactly=exactly)


def _count(container: Container, resource: str) -> int:
    """How many devices; a fraction is not a number of devices."""
    whole, rest = divmod(parse_quantity(container.resources.requests.get(resource, 0)), _WHOLE)
    return 0 if rest else whole
