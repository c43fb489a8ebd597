"""Devices and claims of older versions of resource.k8s.io, as the newest has them.

Mirrors pkg/apis/resource/{v1beta1,v1beta2}/conversion.go: v1beta1 has a device's fields in ``basic``, and a
request's next to its name. The removed v1alpha3 had sizes without a field around them as well.
"""

from __future__ import annotations

from mooring.cluster.manifests.fields import Manifest, mapping, mappings

_GROUP, _NEWEST = "resource.k8s.io/", "resource.k8s.io/v1"

_OF_REQUESTS = ("name", "firstAvailable", "exactly")
"""The fields of a request that all versions have in the same place."""


def as_newest(manifest: Manifest) -> Manifest:
    """Return a manifest of the group in its newest version, and any other unchanged."""
    version = str(manifest.get("apiVersion") or "")
    if not version.startswith(_GROUP) or version == _NEWEST:
        return manifest
    spec = mapping(manifest, "spec")
    match manifest.get("kind"):
        case "ResourceSlice":
            spec = {**spec, "devices": [_device(device) for device in mappings(spec, "devices")]}
        case "ResourceClaim":
            spec = _claim(spec)
        case "ResourceClaimTemplate":
            spec = {**spec, "spec": _claim(mapping(spec, "spec"))}
    return {**manifest, "apiVersion": _NEWEST, "spec": spec}


def _device(device: Manifest) -> Manifest:
    basic = mapping(device, "basic")
    capacity = {
        name: {"value": amount} if isinstance(amount, str | int) else amount
        for name, amount in mapping(basic, "capacity").items()
    }
    kept = {name: value for name, value in device.items() if name != "basic"}
    return {**kept, **basic, **({"capacity": capacity} if capacity else {})}


def _claim(spec: Manifest) -> Manifest:
    devices = mapping(spec, "devices")
    requests = [_request(request) for request in mappings(devices, "requests")]
    return {**spec, "devices": {**devices, "requests": requests}} if requests else spec


def _request(request: Manifest) -> Manifest:
    exactly = {name: value for name, value in request.items() if name not in _OF_REQUESTS}
    kept = {name: value for name, value in request.items() if name in _OF_REQUESTS}
    return {**kept, "exactly": exactly} if exactly else kept
