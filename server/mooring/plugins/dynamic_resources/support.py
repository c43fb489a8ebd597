"""What DynamicResources can't decide yet: pods that need it are refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mooring.framework import Handle, KubeVersion, Pod
from mooring.framework.objects.devices import DeviceClass
from mooring.framework.resources import NEWEST_RULES, pod_amounts
from mooring.plugins.dynamic_resources.allocator import ClaimToAllocate
from mooring.plugins.dynamic_resources.cel import UnsupportedExpressionError, compile_selector
from mooring.plugins.extended_resources import resource_names

MAX_CLAIMS = 8
"""So many claims can be allocated at once; the search goes as deep as they have devices."""

_PROVEN = KubeVersion(1, 36)
_GATES: Mapping[str, bool] = {
    "DRAAdminAccess": True,
    "DRAConsumableCapacity": True,
    "DRADeviceBindingConditions": True,
    "DRADeviceTaintRules": False,
    "DRADeviceTaints": True,
    "DRAExtendedResource": True,
    "DRAListTypeAttributes": False,
    "DRANodeAllocatableResources": False,
    "DRAPartitionableDevices": True,
    "DRAPrioritizedList": True,
    "DRAResourceClaimDeviceStatus": True,
    "DRAWorkloadResourceClaims": False,
}


def unsupported_setting(handle: Handle) -> str | None:
    """The release or feature gate under which allocation is not proven; None when there is none."""
    if handle.kube_version != _PROVEN:
        return f"devices of Kubernetes {handle.kube_version}"
    for gate, default in _GATES.items():
        if handle.feature_gates.get(gate, default) != default:
            return f"the feature gate {gate}={str(not default).lower()}"
    return None


def extended_resources(pod: Pod) -> set[str]:
    """The names of the resources that ``pod`` asks for and that are nobody's own."""
    return {name for name, amount in pod_amounts(pod, NEWEST_RULES).items() if amount and "/" in name}


def unsupported_extended_resource(pod: Pod, classes: Iterable[DeviceClass]) -> str | None:
    """The extended resource of ``pod`` that devices may stand for; None when there is none."""
    asked = extended_resources(pod)
    for device_class in classes if asked else ():
        for name in resource_names(device_class):
            if name in asked:
                return f"the extended resource {name} backed by devices"
    return None


def unsupported_claims(claims: Sequence[ClaimToAllocate]) -> str | None:
    """What of ``claims`` that need devices can't be decided; None when they can be allocated."""
    if len(claims) > MAX_CLAIMS:
        return f"allocating more than {MAX_CLAIMS} claims of one pod"
    for request in (request for claim in claims for request in claim.requests):
        for choice in request.choices:
            for text in choice.expressions:
                try:
                    compile_selector(text)
                except UnsupportedExpressionError as error:
                    return f"the selector {text!r} of request {choice.name} ({error})"
    return None
