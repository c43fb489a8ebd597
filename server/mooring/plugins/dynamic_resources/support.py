"""What DynamicResources can't decide yet: pods that need it are refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import Handle, KubeVersion
from mooring.framework.object_table import ObjectTable
from mooring.plugins.dynamic_resources.cel import UnsupportedExpressionError, compile_selector
from mooring.plugins.dynamic_resources.extended import ExtendedResources
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate
from mooring.plugins.dynamic_resources.rules import Rules

MAX_CLAIMS = 8
"""So many claims can be allocated at once; the search goes as deep as they have devices."""

_SHARED = "allowMultipleAllocations"
_OLDEST = KubeVersion(1, 34)
_NEWEST = KubeVersion(1, 36)
_UNPROVEN = (
    "DRADeviceTaintRules",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAWorkloadResourceClaims",
)
_UNPROVEN_EARLIER = (
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
)


def unsupported_setting(handle: Handle) -> str | None:
    """The release or feature gate under which allocation is not proven; None when there is none."""
    if handle.kube_version < _OLDEST:
        return f"devices of Kubernetes {handle.kube_version}"
    for gate in _UNPROVEN + (_UNPROVEN_EARLIER if handle.kube_version < _NEWEST else ()):
        if handle.gates.enabled(gate):
            return f"the feature gate {gate}=true"
    return None


def unsupported_claims(
    claims: Sequence[ClaimToAllocate], extended: ExtendedResources | None, objects: ObjectTable, rules: Rules
) -> str | None:
    """What of the claims that need devices can't be decided; None when they can be allocated."""
    if len(claims) > MAX_CLAIMS:
        return f"allocating more than {MAX_CLAIMS} claims of one pod"
    if extended is not None and extended.has_claim(objects):
        return "a claim for extended resources that was made before"
    whole = () if extended is None else extended.claim(extended.classes).requests
    for request in (*(request for claim in claims for request in claim.requests), *whole):
        for choice in request.choices:
            for text in choice.expressions:
                if _SHARED in text and not rules.shares:
                    return f"device.{_SHARED} in selectors while DRAConsumableCapacity is off"
                try:
                    compile_selector(text)
                except UnsupportedExpressionError as error:
                    return f"the selector {text!r} of request {choice.name} ({error})"
    return None
