"""Pods without some of their aspects, for plugins whose declarations don't read these."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.framework.objects import Container, Pod
from mooring.framework.objects.pod import ResourceRequirements


def without_amounts(pod: Pod) -> Pod:
    """Return ``pod`` as if it requested 1 of each of its resources, and had no limits."""
    spec = pod.spec
    whole = spec.resources
    return replace(
        pod,
        spec=replace(
            spec,
            containers=_least(spec.containers),
            init_containers=_least(spec.init_containers) if spec.init_containers else (),
            overhead=dict.fromkeys(spec.overhead, "1"),
            resources=None if whole is None else _least_of(whole),
        ),
    )


def amounts(pod: Pod) -> tuple[object, ...]:
    """Return what ``without_amounts`` leaves out of ``pod``, for ``hashable``."""
    spec = pod.spec
    before = [container.resources for container in spec.init_containers] if spec.init_containers else ()
    return [container.resources for container in spec.containers], before, spec.overhead, spec.resources


def may_have_claims(pod: Pod) -> bool:
    """Return whether ``pod`` may have claims, disks or devices, whatever else is in the cluster."""
    return bool(pod.spec.resource_claims) or pod.has_storage or may_ask_for_devices(pod)


def may_ask_for_devices(pod: Pod) -> bool:
    """Return whether the pod asks for a resource that devices could stand for."""
    spec = pod.spec
    for container in (*spec.init_containers, *spec.containers):
        for name in container.resources.requests:
            if "/" in name:
                return True
    whole = () if spec.resources is None else spec.resources.requests
    return "/" in "".join((*whole, *spec.overhead))


def without_group(pod: Pod) -> Pod:
    """Return ``pod`` as if it were in no group; it stays in it if it may have claims on devices."""
    spec = pod.spec
    if spec.scheduling_group is None or spec.resource_claims or may_ask_for_devices(pod):
        return pod
    return replace(pod, spec=replace(spec, scheduling_group=None))


def without_claims(pod: Pod) -> Pod:
    """Return ``pod`` as if it had no claims and no disks."""
    spec, status = pod.spec, pod.status
    if spec.volumes or spec.resource_claims:
        volumes = tuple([volume for volume in spec.volumes if not volume.is_storage])
        spec = replace(spec, volumes=volumes, resource_claims=())
    if status.resource_claim_statuses:
        status = replace(status, resource_claim_statuses=())
    return pod if spec is pod.spec and status is pod.status else replace(pod, spec=spec, status=status)


def _least(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple([replace(container, resources=_least_of(container.resources)) for container in containers])


def _least_of(resources: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(requests=dict.fromkeys(resources.requests, "1"))
