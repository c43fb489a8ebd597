"""Features that DynamicResources doesn't support yet: pods that need them are rejected by name."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import Handle, KubeVersion, Status
from mooring.framework.remembering import ByIdentity
from mooring.plugins.dynamic_resources.cel import UnsupportedExpressionError, compile_selector
from mooring.plugins.dynamic_resources.extended_resources.claim import DevicesAsked, ExtendedResources
from mooring.plugins.dynamic_resources.requests import ClaimToAllocate
from mooring.plugins.dynamic_resources.search.allocator import MAX_DEVICES

MAX_DEPTH = 600
"""The greatest depth of the search in calls; Python's limit is 1,000, and callers need some of them."""

_MAX_KINDS = 1 << 8
"""The number of kinds of extended resources whose support is remembered."""

_UNPROVEN = (
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
)
_PROVEN_SINCE = {
    "DRAConsumableCapacity": KubeVersion(1, 36),
    "DRADeviceBindingConditions": KubeVersion(1, 36),
    "DRADeviceTaints": KubeVersion(1, 36),
    "DRAExtendedResource": KubeVersion(1, 36),
    "DRAPartitionableDevices": KubeVersion(1, 36),
}
"""The release in which each of these gates became beta; before, it is off by default."""


def not_supported(what: str) -> Status:
    """Return the status of pods that need ``what``."""
    return Status.unresolvable(f"plugin DynamicResources does not support {what} yet")


def unsupported_setting(handle: Handle) -> str | None:
    """Return the feature gate with which allocation is not proven; None when there is none."""
    too_early = [gate for gate, since in _PROVEN_SINCE.items() if handle.kube_version < since]
    for gate in (*_UNPROVEN, *too_early):
        if handle.gates.enabled(gate):
            return f"the feature gate {gate}=true"
    return None


def unsupported_claims(claims: Sequence[ClaimToAllocate], extended: ExtendedResources | None) -> str | None:
    """Return what about the claims can't be decided; None when they can be allocated."""
    if extended is None:
        return _unsupported(claims)
    whole = extended.devices_for(tuple(extended.classes))
    return _unsupported((*claims, whole.claim)) if claims else _unsupported_alone(whole)


def _unsupported(claims: Sequence[ClaimToAllocate]) -> str | None:
    if sum(map(_depth, claims)) > MAX_DEPTH:
        return f"claims of one pod that need a search more than {MAX_DEPTH} calls deep"
    for request in (request for claim in claims for request in claim.requests):
        for choice in request.choices:
            for text in choice.expressions:
                try:
                    compile_selector(text)
                except UnsupportedExpressionError as error:
                    return f"the selector {text!r} of request {choice.name} ({error})"
    return None


_unsupported_alone: ByIdentity[DevicesAsked, str | None] = ByIdentity(
    lambda asked: _unsupported((asked.claim,)), most=_MAX_KINDS
)


def _depth(claim: ClaimToAllocate) -> int:
    """How many calls of the search ``claim`` may need at once: two for itself, each request, each device."""
    most = [
        max(MAX_DEVICES if choice.everything else choice.count for choice in request.choices)
        for request in claim.requests
    ]
    return 2 * (1 + len(most) + min(sum(most), MAX_DEVICES))
