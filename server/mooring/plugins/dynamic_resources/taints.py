"""Taints of devices, and the requests that tolerate them.

Mirrors ``taintPreventsAllocation`` of ``k8s.io/dynamic-resource-allocation/structured``.
"""

from __future__ import annotations

from mooring.framework.objects.claims import DeviceToleration
from mooring.framework.objects.devices import Device, DeviceTaint
from mooring.plugins.dynamic_resources.requests import Choice

_KEPT_AWAY = frozenset({"NoSchedule", "NoExecute"})


def is_kept_away(device: Device, choice: Choice) -> bool:
    """Whether a taint of ``device`` keeps ``choice`` from having it."""
    return any(
        taint.effect in _KEPT_AWAY and not any(_tolerates(each, taint) for each in choice.tolerations)
        for taint in device.taints
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
