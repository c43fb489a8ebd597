"""The devices that containers need for their extended resources, and which container uses which of them.

Mirrors ``createRequestsAndMappings`` of ``plugins/dynamicresources/extendeddynamicresources.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mooring.framework import Pod
from mooring.framework.deadline import timely
from mooring.framework.objects import Container, ContainerExtendedResourceRequest, DeviceClass
from mooring.framework.objects.claims import DeviceRequest, ExactDeviceRequest
from mooring.framework.quantity import NANO, parse_quantity


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
