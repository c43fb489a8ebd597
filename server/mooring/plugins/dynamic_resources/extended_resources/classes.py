"""The names of resources under which pods may ask for devices of a class.

Mirrors ``k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache``.
"""

from __future__ import annotations

from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import DeviceClass, Object
from mooring.framework.objects.claims import ResourceClaim
from mooring.framework.objects.devices import ResourceSlice

GATE = "DRAExtendedResource"
"""The feature gate, on since 1.36."""

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""The prefix of a class's implicit resource name."""


DEVICE_KINDS: tuple[type[Object], ...] = (DeviceClass, ResourceClaim, ResourceSlice)
"""The kinds of objects that say which devices there are, and which are taken."""


def resource_names(device_class: DeviceClass) -> tuple[str, ...]:
    """Return the names of resources under which pods may ask for devices of the class."""
    explicit = device_class.spec.extended_resource_name
    implicit = IMPLICIT + device_class.metadata.name
    return (explicit, implicit) if explicit is not None else (implicit,)


def classes_by_resource(objects: ObjectTable) -> dict[str, DeviceClass]:
    """Return the class of each such name: the newest of several, or else the first by name."""
    ordered = sorted(objects.all(DeviceClass), key=lambda known: known.metadata.name, reverse=True)
    ordered.sort(key=lambda known: known.metadata.creation_timestamp or "")
    return {name: device_class for device_class in ordered for name in resource_names(device_class)}
