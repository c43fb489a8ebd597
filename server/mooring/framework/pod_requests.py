"""The requests of a pod, as integers.

Mirrors ``k8s.io/component-helpers/resource/helpers.go`` and ``PodInfo.CalculateResource`` in
``pkg/scheduler/framework/types.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from mooring.framework.deadline import timely
from mooring.framework.host_ports import HostPort, host_ports
from mooring.framework.objects import (
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from mooring.framework.quantity import Quantity, millis, units
from mooring.framework.releases import Gates, KubeVersion
from mooring.framework.remembering import MAX_AT_ONCE, MAX_POD_BYTES, MAX_PODS, ByIdentity
from mooring.framework.resources import CPU, MEMORY, PODS, Amounts, counted_amounts, parse_amounts

DEFAULT_MILLI_CPU = 100
"""Thousandths of a CPU that a container without a CPU request counts with when nodes are scored."""

DEFAULT_MEMORY = 200 * 1024 * 1024
"""Bytes that a container without a memory request counts with when nodes are scored."""

DEFAULT_AMOUNTS: Amounts = {CPU: DEFAULT_MILLI_CPU * 1_000_000, MEMORY: DEFAULT_MEMORY * 1_000_000_000}
"""The amounts that a container without these requests counts with when nodes are scored."""

_NO_STATUS = PodStatus()
_STAGES_APART_SINCE = KubeVersion(1, 37)


@dataclass(frozen=True, slots=True)
class ResourceRules:
    """How a pod's requests are counted, which depends on the release and its feature gates.

    Attributes:
        pod_level: The pod's own requests replace its containers' sum.
        resizing: A container that is being resized counts with the maximum of desired and actual requests.
        pod_level_resizing: So do the pod's own requests.
        stages_apart: Requested, actual and allocated amounts are each summed over the containers, and
            the largest sum counts, since Kubernetes 1.37. Before, the largest of each container is summed.
    """

    pod_level: bool = True
    resizing: bool = True
    pod_level_resizing: bool = True
    stages_apart: bool = True

    @classmethod
    def of(cls, gates: Gates) -> ResourceRules:
        """As a release with these gates counts."""
        return cls(
            pod_level=gates.enabled("PodLevelResources"),
            resizing=gates.enabled("InPlacePodVerticalScaling"),
            pod_level_resizing=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            stages_apart=gates.version >= _STAGES_APART_SINCE,
        )


NEWEST_RULES = ResourceRules()
"""As a release with all of these gates on counts: the newest one, unless they are set otherwise."""


class PodUsage(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The amounts that one pod takes from its node. Equal pods share one such record.

    Attributes:
        requests: CPU in thousandths, the others in units, by name; what the filters count.
        non_zero_cpu: Thousandths of a CPU, containers without a request counted at 100.
        non_zero_memory: Bytes, containers without a request counted at 200 MiB.
        host_ports: The host ports it takes.
    """

    requests: tuple[tuple[str, int], ...]
    non_zero_cpu: int
    non_zero_memory: int
    host_ports: tuple[HostPort, ...]

    def request(self, resource: str) -> int:
        """Return the request for ``resource``, 0 when there is none."""
        return dict(self.requests).get(resource, 0)


def pod_usage(pod: Pod, rules: ResourceRules = NEWEST_RULES) -> PodUsage:
    """Return what ``pod`` takes from its node.

    Raises:
        ResourceError: A quantity is malformed or negative, with the field's path.
    """
    return plain_usage(pod) or _usage(pod, rules)


def plain_usage(pod: Pod) -> PodUsage | None:
    """Return ``pod_usage``; None if it depends on the rules."""
    # Many pods have the same spec, and of one that is new several plugins ask.
    return _plain_usage(pod.spec) if _is_plain(pod) else None


def _usage(pod: Pod, rules: ResourceRules) -> PodUsage:
    requests, missing = pod_amounts(pod, rules), DEFAULT_AMOUNTS
    if rules.pod_level and _has_pod_level_requests(pod.spec.resources):
        missing = {name: nanos for name, nanos in missing.items() if name not in requests}
    non_zero = _sum(_without_ignored_status(pod, rules), rules, missing) if missing else requests
    return _counted(requests, non_zero, host_ports(pod.spec))


def _counted(
    requests: Mapping[str, int], non_zero: Mapping[str, int], ports: tuple[HostPort, ...]
) -> PodUsage:
    """Return the usage of a pod with these amounts (billionths), without the defaults and with them."""
    counted = counted_amounts(requests)
    counted.pop(PODS, None)
    if non_zero is requests:
        cpu, memory = counted.get(CPU, 0), counted.get(MEMORY, 0)
    else:
        cpu, memory = millis(non_zero.get(CPU, 0)), units(non_zero.get(MEMORY, 0))
    return PodUsage(tuple(counted.items()), cpu, memory, ports)


def pod_amounts(pod: Pod, rules: ResourceRules) -> Mapping[str, int]:
    """Return the sum of the pod's requests in billionths, for every name that it mentions (upstream's
    ``PodRequests``).

    Raises:
        ResourceError: A quantity is malformed or negative, with the field's path.
    """
    if _is_plain(pod):
        return _plain_amounts(pod.spec)
    return _sum(_without_ignored_status(pod, rules), rules, {})


def _without_ignored_status(pod: Pod, rules: ResourceRules) -> Pod:
    if rules.resizing or pod.status == _NO_STATUS:
        return pod
    return msgspec.structs.replace(pod, status=_NO_STATUS)


def given_amounts(pod: Pod) -> dict[str, int]:
    """Return what the kubelet gives the pod's containers now, in the units of ``PodUsage.requests``: less
    than those while a resize waits.
    """
    return counted_amounts(_container_requests(pod, {}, _given))


def _is_plain(pod: Pod) -> bool:
    """Whether the rules make no difference, and nothing but the spec counts."""
    return pod.spec.resources is None and not _tells_of_resizing(pod.status)


def _tells_of_resizing(status: PodStatus) -> bool:
    """Whether a pod's status may change what counts of its requests."""
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or (status.conditions and _is_infeasible(status))
    )


def _sum(pod: Pod, rules: ResourceRules, missing: Amounts) -> Amounts:
    """Return the sum of the pod's requests; ``missing`` is added for each container that doesn't name a
    resource.
    """
    if rules.stages_apart and _tells_of_resizing(pod.status):
        totals = _most_of_stages(pod, rules, missing)
    else:
        totals = _container_requests(pod, missing, _effective_requests)
    if rules.pod_level and _has_pod_level_requests(pod.spec.resources):
        totals |= _pod_level_requests(pod, pod.spec.resources, rules)
    if pod.spec.overhead:
        _add(totals, parse_amounts(pod.spec.overhead, "spec.overhead"))
    return totals


def _summed(spec: PodSpec) -> Amounts:
    if len(spec.containers) == 1 and not spec.init_containers and not spec.overhead:
        # Nothing has to be summed up, as of most pods.
        [container] = spec.containers
        return parse_amounts(container.resources.requests, "spec.containers[0].resources.requests")
    return _sum(Pod(spec=spec), NEWEST_RULES, {})


def _non_zero(spec: PodSpec, requests: Amounts) -> Amounts:
    """Return CPU and memory of ``requests``, the sum, with the defaults of containers that name neither."""
    names = DEFAULT_AMOUNTS.keys()
    for container in timely((*spec.containers, *spec.init_containers)):
        if not names <= container.resources.requests.keys():
            # A pod may name 60,000 resources.
            return _sum(Pod(spec=_only(names, spec)), NEWEST_RULES, DEFAULT_AMOUNTS)
    return requests


def _only(names: Collection[str], spec: PodSpec) -> PodSpec:
    """Return what ``spec`` asks for of the resources ``names``."""

    def of(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
        return {name: quantities[name] for name in names if name in quantities}

    def asking(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(
            Container(
                restart_policy=container.restart_policy,
                resources=ResourceRequirements(requests=of(container.resources.requests)),
            )
            for container in timely(containers)
        )

    return PodSpec(
        containers=asking(spec.containers),
        init_containers=asking(spec.init_containers),
        overhead=of(spec.overhead),
    )


def _usage_by_spec(spec: PodSpec) -> PodUsage:
    requests = _summed(spec)
    return _counted(requests, _non_zero(spec, requests), host_ports(spec))


_plain_amounts = ByIdentity(_summed, MAX_AT_ONCE, MAX_POD_BYTES)
_plain_usage = ByIdentity(_usage_by_spec, MAX_PODS, MAX_POD_BYTES)


def _most_of_stages(pod: Pod, rules: ResourceRules, missing: Amounts) -> Amounts:
    """Return the maximum of three sums: of the containers' requests, of their allocated and of their actual
    amounts.
    """
    totals: Amounts = {}
    if not _is_infeasible(pod.status):
        totals = _container_requests(pod, missing, _asked)
    given = pod.status.resources
    if rules.pod_level_resizing and pod.status.allocated_resources and given is not None and given.requests:
        _raise_to(totals, parse_amounts(pod.status.allocated_resources, "status.allocatedResources"))
        _raise_to(totals, parse_amounts(given.requests, "status.resources.requests"))
    else:
        _raise_to(totals, _container_requests(pod, missing, _allocated))
        _raise_to(totals, _container_requests(pod, missing, _given))
    return totals


def _container_requests(
    pod: Pod, missing: Amounts, requests_of: Callable[[Pod, Container, str], Amounts]
) -> Amounts:
    """Return the sum over the containers; those that end before the others start count by their peak."""
    totals: Amounts = {}
    for index, container in enumerate(timely(pod.spec.containers)):
        _add(totals, missing | requests_of(pod, container, f"spec.containers[{index}]"))
    if not pod.spec.init_containers:
        return totals
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, container in enumerate(timely(pod.spec.init_containers)):
        requests = missing | requests_of(pod, container, f"spec.initContainers[{index}]")
        if container.restart_policy == "Always":
            _add(totals, requests)
            _add(sidecars, requests)
            _raise_to(peak, sidecars)
        else:
            _add(requests, sidecars)
            _raise_to(peak, requests)
    _raise_to(totals, peak)
    return totals


def _effective_requests(pod: Pod, container: Container, path: str) -> Amounts:
    """Return a container's requests; during a resize, the maximum of desired, actual and allocated ones.

    One that ends before the others start is not resized.
    """
    spec = _asked(pod, container, path)
    if path.startswith("spec.initContainers") and container.restart_policy != "Always":
        return spec
    for statuses in (pod.status.init_container_statuses, pod.status.container_statuses):
        for status in timely(statuses):
            if status.name == container.name and status.resources is not None:
                where = f"status of container {container.name!r}"
                return _resizing(pod, spec, status.resources, status.allocated_resources, where)
    return spec


def _asked(_pod: Pod, container: Container, path: str) -> Amounts:
    return parse_amounts(container.resources.requests, f"{path}.resources.requests")


def _allocated(pod: Pod, container: Container, path: str) -> Amounts:
    """Return what the kubelet has promised the container; where it says nothing, what it asks for."""
    status = _status_of(pod, container)
    if status is not None and status.allocated_resources:
        where = f"status of container {container.name!r}.allocatedResources"
        return parse_amounts(status.allocated_resources, where)
    return {} if _is_infeasible(pod.status) else _asked(pod, container, path)


def _given(pod: Pod, container: Container, path: str) -> Amounts:
    """Return the container's actual amounts; if they are not stated, its allocated ones."""
    status = _status_of(pod, container)
    if status is not None and status.resources is not None and status.resources.requests:
        where = f"status of container {container.name!r}.resources.requests"
        return parse_amounts(status.resources.requests, where)
    return _allocated(pod, container, path)


def _status_of(pod: Pod, container: Container) -> ContainerStatus | None:
    for statuses in (pod.status.container_statuses, pod.status.init_container_statuses):
        for status in timely(statuses):
            if status.name == container.name:
                return status
    return None


def _resizing(
    pod: Pod, spec: Amounts, actuated: ResourceRequirements, allocated: Mapping[str, Quantity], path: str
) -> Amounts:
    amounts = {} if _is_infeasible(pod.status) else dict(spec)
    _raise_to(amounts, parse_amounts(actuated.requests, f"{path}.resources.requests"))
    _raise_to(amounts, parse_amounts(allocated, f"{path}.allocatedResources"))
    return amounts


def _is_infeasible(status: PodStatus) -> bool:
    """Whether the node will never have room for the pod's resized requests."""
    pending = next((c for c in status.conditions if c.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _is_pod_level_resource(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _has_pod_level_requests(resources: ResourceRequirements | None) -> bool:
    return resources is not None and any(map(_is_pod_level_resource, resources.requests))


def _pod_level_requests(pod: Pod, resources: ResourceRequirements | None, rules: ResourceRules) -> Amounts:
    if resources is None:
        return {}
    spec = parse_amounts(resources.requests, "spec.resources.requests")
    amounts = spec
    if rules.pod_level_resizing and pod.status.resources is not None:
        amounts = _resizing(pod, spec, pod.status.resources, pod.status.allocated_resources, "status")
    names = amounts if rules.stages_apart else spec
    return {name: amounts.get(name, 0) for name in names if _is_pod_level_resource(name)}


def _add(totals: Amounts, amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        totals[name] = totals.get(name, 0) + nanos


def _raise_to(totals: Amounts, amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        totals[name] = max(totals.get(name, 0), nanos)
