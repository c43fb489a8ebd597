"""Devices that pods ask for as if they were a resource of the node.

Mirrors ``k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache``.
"""

from __future__ import annotations

from mooring.framework.objects import DeviceClass

_IMPLICIT = "deviceclass.resource.kubernetes.io/"


def resource_names(device_class: DeviceClass) -> tuple[str, ...]:
    """The names of resources under which pods may ask for devices of the class."""
    explicit = device_class.spec.extended_resource_name
    implicit = _IMPLICIT + device_class.metadata.name
    return (explicit, implicit) if explicit is not None else (implicit,)
