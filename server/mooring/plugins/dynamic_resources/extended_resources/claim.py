"""Extended resources that a pod asks for and that devices may stand for.

Mirrors ``plugins/dynamicresources/extendeddynamicresources.go``: on each node, one more claim
requests the resources that no device plugin offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mooring.framework import NodeView, Pod, Status, hashable
from mooring.framework.deadline import timely
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import (
    Container,
    ContainerExtendedResourceRequest,
    DeviceClass,
    PodSpec,
    ResourceClaim,
)
from mooring.framework.objects.claims import DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaimSpec
from mooring.framework.pod_aspects import may_ask_for_devices
from mooring.framework.pod_requests import ResourceRules, pod_amounts
from mooring.framework.quantity import NANO, parse_quantity
from mooring.framework.remembering import MAX_AT_ONCE, MAX_POD_BYTES, ByIdentity
from mooring.framework.resources import is_extended_resource
from mooring.framework.view import NodesChangedError
from mooring.plugins.dynamic_resources.claims.extended_claim import ANNOTATION
from mooring.plugins.dynamic_resources.extended_resources.classes import IMPLICIT, classes_by_resource
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate, requests_of

CANNOT_FIT = Status.unresolvable("cannot fit resource")

_RULES = ResourceRules(resizing=False, pod_level_resizing=False)

_MOST_KNOWN = 1 << 8
"""The number of kinds of pods whose requests are remembered; beyond that all are forgotten."""

_MOST_BYTES = 1 << 14
"""A kind with a larger encoding is worked out each time."""


@dataclass(frozen=True, slots=True)
class DevicesAsked:
    """The requests that devices must meet on nodes that offer equal amounts of them.

    Attributes:
        claim: For all of it, with a request per container.
        requests: The same requests as an object has them.
        mappings: The containers and resources that they are for.
    """

    claim: ClaimToAllocate
    requests: Sequence[DeviceRequest]
    mappings: Sequence[ContainerExtendedResourceRequest]


@dataclass(frozen=True, slots=True)
class ExtendedResources:
    """The requests of pods like ``pod``.

    Attributes:
        pod: One of them.
        asks: Equal for pods that need the same devices on each node.
        classes: The device class of each resource that devices may stand for; at least one.
        others: The resources that they may not stand for.
    """

    pod: Pod
    asks: Hashable
    classes: Mapping[str, DeviceClass]
    others: tuple[str, ...]
    _known: dict[tuple[str, ...], DevicesAsked] = field(default_factory=dict)

    def lacking_on(self, nodes: NodeView, position: int) -> DevicesAsked | Status:
        """Return the requests that devices must meet on the node, or why it can't take the pod."""
        node = nodes.table.nodes[int(nodes.rows[position])]
        if node is None:
            raise NodesChangedError
        offered = node.status.allocatable
        if self.others and any(name not in offered for name in timely(self.others)):
            return CANNOT_FIT
        lacking = [
            name for name in timely(self.classes) if name not in offered or not parse_quantity(offered[name])
        ]
        return self.devices_for(tuple(lacking))

    def devices_for(self, names: tuple[str, ...]) -> DevicesAsked:
        """Return what devices must provide that stand for all these resources."""
        known = self._known.get(names)
        if known is None:
            known = self._known[names] = self._asked(names)
        return known

    def _asked(self, names: tuple[str, ...]) -> DevicesAsked:
        classes = {name: self.classes[name] for name in names}
        requests, mappings = container_requests(self.pod, classes)
        asked = ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests))))
        by_name = {device_class.metadata.name: device_class for device_class in classes.values()}
        key = f"{self.pod.metadata.namespace}/<extended-resources>"
        claim = ClaimToAllocate(key=key, requests=requests_of(asked, by_name), constraints=())
        return DevicesAsked(claim, requests, mappings)


class ExtendedAsks:
    """The requests of pods, computed once for those of a namespace with equal ones.

    Safe from any thread.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, ExtendedResources | None] = {}

    def of(self, pod: Pod, objects: ObjectTable) -> ExtendedResources | None:
        """None when the pod asks for no resource that devices may stand for."""
        # Without classes no device stands for anything: most clusters have GPUs, but none.
        if not objects.version(DeviceClass) or not may_ask_for_devices(pod) or not objects.all(DeviceClass):
            return None
        asks = _asked_by(pod.spec)
        key = objects.version(DeviceClass), pod.metadata.namespace, asks
        known = self._known
        if key not in known:
            found = _extended_resources(pod, asks, objects)
            if len(asks) > _MOST_BYTES:
                return found
            if len(known) >= _MOST_KNOWN:
                known = self._known = {}
            known[key] = found
        return known[key]


def _encoded_asks(spec: PodSpec) -> bytes:
    """Return all that pods differ in which ask for different devices, or for other containers."""
    containers = [
        (container.name, container.restart_policy, container.resources)
        for container in (*spec.init_containers, *spec.containers)
    ]
    return hashable(len(spec.init_containers), containers, spec.overhead, spec.resources)


_asked_by = ByIdentity(_encoded_asks, MAX_AT_ONCE, MAX_POD_BYTES)


def _extended_resources(pod: Pod, asks: Hashable, objects: ObjectTable) -> ExtendedResources | None:
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
    return ExtendedResources(pod, asks, classes, others)


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


def container_requests(
    pod: Pod, classes: Mapping[str, DeviceClass]
) -> tuple[Sequence[DeviceRequest], Sequence[ContainerExtendedResourceRequest]]:
    """Return the requests for the resources of ``classes``, by name, and the containers that use them."""
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    before = [
        number for number, init in enumerate(pod.spec.init_containers) if init.restart_policy != "Always"
    ]
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in timely(sorted(classes)):
        asked = {number: _count(container, resource) for number, container in enumerate(containers)}
        counts, used = _shared(asked, before)
        names = {number: _name(containers[number], number, resource) for number in counts}
        class_name = classes[resource].metadata.name
        requests += [_request(names[number], class_name, count) for number, count in counts.items()]
        mappings += [
            ContainerExtendedResourceRequest(containers[number].name, resource, names[request])
            for number, request in used
        ]
    return sorted(requests, key=lambda request: request.name), mappings


def _shared(
    asked: Mapping[int, int], before: Sequence[int]
) -> tuple[Mapping[int, int], list[tuple[int, int]]]:
    """Return how many devices the request of each container has, and which container uses whose request.

    Containers that run side by side need devices each; those that run before them, one after the other,
    share these. The largest additional need of the latter is requested once, for all of them.
    """
    counts = {number: count for number, count in asked.items() if count and number not in before}
    used = [(number, number) for number in counts]
    additional: dict[int, int] = {}
    for number in timely(before):
        missing = asked[number]
        for later in [later for later in counts if later > number]:
            if missing > 0:
                missing -= counts[later]
                used.append((number, later))
        if missing > 0:
            additional[number] = missing
    if additional:
        most = max(additional, key=lambda number: additional[number])
        used += [(number, most) for number in additional]
        counts[most] = additional[most]
    return counts, used


def _name(container: Container, number: int, resource: str) -> str:
    """Return the request's name: the container, and the place of the resource among all that it asks for."""
    return f"container-{number}-request-{sorted(container.resources.requests).index(resource)}"


def _request(name: str, class_name: str, count: int) -> DeviceRequest:
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode="ExactCount", count=count)
    return DeviceRequest(name=name, exactly=exactly)


def _count(container: Container, resource: str) -> int:
    """How many devices; a fraction is not a number of devices."""
    whole, rest = divmod(parse_quantity(container.resources.requests.get(resource, 0)), NANO)
    return 0 if rest else whole
