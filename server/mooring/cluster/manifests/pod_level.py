"""The API server's defaults of a pod's own requests and limits.

Mirrors ``defaultHugePagePodLimits`` and ``defaultPodRequests`` in pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Container, Pod, ResourceRequirements
from mooring.framework.pod_requests import ResourceRules, pod_amounts
from mooring.framework.quantity import NANO, Quantity
from mooring.framework.resources import CPU, MEMORY, ResourceError, parse_amounts


def check_limits(pod: Pod) -> None:
    """Limits become requests, so they must be usable as well.

    Raises:
        InvalidArgumentError: One is malformed or negative; has the field's path.
    """
    for resources, path in _all_resources(pod):
        try:
            parse_amounts(resources.limits, f"{path}.limits")
        except ResourceError as error:
            raise InvalidArgumentError([FieldError(error.path, str(error))]) from None


def default_pod_level(pod: Pod) -> Pod:
    """Return a pod with resources of its own, completed from its containers, whose defaults are filled in
    already.

    Limits of huge pages come from the containers' limits. A pod with limits also gets requests: for CPU and
    memory what the containers request together, else its own limit.
    """
    own = pod.spec.resources
    if own is None or not (own.requests or own.limits):
        return pod
    limits, requests = dict(own.limits), dict(own.requests)
    for name, nanos in _limited(pod).items():
        if _is_huge(name) and name not in requests:
            limits.setdefault(name, _quantity(nanos))
    if limits:
        for name, nanos in _requested(pod).items():
            if name in (CPU, MEMORY):
                requests.setdefault(name, _quantity(nanos))
        for name, limit in limits.items():
            if name in (CPU, MEMORY) or _is_huge(name):
                requests.setdefault(name, limit)
    return replace(pod, spec=replace(pod.spec, resources=ResourceRequirements(requests, limits)))


def _all_resources(pod: Pod) -> Iterator[tuple[ResourceRequirements, str]]:
    for field, containers in (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
    ):
        for index, container in enumerate(containers):
            yield container.resources, f"spec.{field}[{index}].resources"
    if pod.spec.resources is not None:
        yield pod.spec.resources, "spec.resources"


def _is_huge(name: str) -> bool:
    return name.startswith("hugepages-")


def _requested(pod: Pod) -> Mapping[str, int]:
    """Return what the containers request together."""
    alone = replace(pod, spec=replace(pod.spec, overhead={}))
    return pod_amounts(alone, ResourceRules(pod_level=False, resizing=False))


def _limited(pod: Pod) -> Mapping[str, int]:
    """Return what the containers may use together: their limits, added up as requests are."""
    spec = pod.spec
    asking = replace(
        spec,
        containers=tuple(map(_asking_its_limits, spec.containers)),
        init_containers=tuple(map(_asking_its_limits, spec.init_containers)),
    )
    return _requested(replace(pod, spec=asking))


def _asking_its_limits(container: Container) -> Container:
    return replace(container, resources=ResourceRequirements(requests=container.resources.limits))


def _quantity(nanos: int) -> Quantity:
    return f"{nanos}n" if nanos % NANO else nanos // NANO
