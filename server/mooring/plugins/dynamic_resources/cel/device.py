"""A device as expressions see it.

Mirrors ``DeviceMatches`` in ``k8s.io/dynamic-resource-allocation/cel`` (compile.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework.objects.devices import Device, DeviceAttribute
from mooring.plugins.dynamic_resources.cel.values import Amount, EvaluationError, Semver, Value

Domains = dict[str, dict[str, Value]]
"""Values by domain and name."""


@dataclass(frozen=True, slots=True)
class DeviceScope:
    """The value of ``device``.

    Attributes:
        driver: ``device.driver``.
        shared: ``device.allowMultipleAllocations``.
        attributes: ``device.attributes``; a name without a domain has the driver's.
        capacity: ``device.capacity``, likewise.
    """

    driver: str
    shared: bool
    attributes: Domains
    capacity: Domains


def device_scope(driver: str, device: Device, *, shared: bool = False) -> DeviceScope:
    """Return the scope of ``device`` and whether it can be shared. Raises EvaluationError if an attribute has
    no value, or an invalid version.
    """
    attributes: Domains = {}
    for name, attribute in device.attributes.items():
        domain, bare = _qualified(name, driver)
        attributes.setdefault(domain, {})[bare] = _attribute_value(name, attribute)
    capacity: Domains = {}
    for name, held in device.capacity.items():
        domain, bare = _qualified(name, driver)
        capacity.setdefault(domain, {})[bare] = Amount.parse(held.value)
    return DeviceScope(driver, shared, attributes, capacity)


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, bare = name.partition("/")
    return (domain, bare) if slash else (driver, name)


def _attribute_value(name: str, attribute: DeviceAttribute) -> Value:
    for value in (attribute.int, attribute.bool, attribute.string):
        if value is not None:
            return value
    if attribute.version is None:
        raise EvaluationError(f"attribute {name} has no value of a supported type")
    return Semver.parse(attribute.version)
