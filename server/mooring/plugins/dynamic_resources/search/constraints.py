"""What the devices of a claim must have alike, or each differently.

Mirrors ``matchAttributeConstraint`` and ``distinctAttributeConstraint`` of
``k8s.io/dynamic-resource-allocation/structured``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from mooring.framework import KubeVersion
from mooring.framework.objects.claims import DeviceConstraint
from mooring.framework.objects.devices import DeviceAttribute
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules

_COMPARED_SINCE = KubeVersion(1, 35)
_ALL_COMPARED_SINCE = KubeVersion(1, 37)


class ConstraintCheck(Protocol):
    """Watches over the devices that are selected one by one."""

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        """Return whether the device may be selected; then it counts until it is removed."""
        ...

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        """Give back the device, which was added last."""
        ...


@dataclass(slots=True)
class Alike:
    """All devices have the same value of an attribute."""

    attribute: str
    requests: frozenset[str]
    _value: DeviceAttribute | None = None
    _count: int = 0

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        if not _concerns(self.requests, choice):
            return True
        value = _attribute(self.attribute, candidate)
        if value is None or (self._count and value != self._value):
            return False
        self._value = value
        self._count += 1
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._count -= 1


@dataclass(slots=True)
class Different:
    """Devices have different values of an attribute.

    As in kube-scheduler before 1.37, of several devices of one request only the last one is remembered.

    Attributes:
        by_value: Values are compared; before 1.35 a device's value is taken for different from any other's.
    """

    attribute: str
    requests: frozenset[str]
    by_value: bool
    _values: dict[str, DeviceAttribute] = field(default_factory=dict)
    _count: int = 0

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        if not _concerns(self.requests, choice):
            return True
        value = _attribute(self.attribute, candidate)
        if value is None or (self.by_value and self._count and value in self._values.values()):
            return False
        self._values[choice.request] = value
        self._count += 1
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._values.pop(choice.request, None)
            self._count -= 1


@dataclass(slots=True)
class AllDifferent:
    """Devices have different values of an attribute, those of one request too: so it is since 1.37."""

    attribute: str
    requests: frozenset[str]
    _values: list[DeviceAttribute] = field(default_factory=list)

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        if not _concerns(self.requests, choice):
            return True
        value = _attribute(self.attribute, candidate)
        if value is None or value in self._values:
            return False
        self._values.append(value)
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._values.pop()


def constraint_of(declared: DeviceConstraint, rules: Rules) -> ConstraintCheck:
    """Return the check that ``declared`` asks for; it sets one of the two attributes."""
    requests = frozenset(declared.requests)
    if declared.match_attribute is not None:
        return Alike(declared.match_attribute, requests)
    if rules.version >= _ALL_COMPARED_SINCE:
        return AllDifferent(declared.distinct_attribute or "", requests)
    return Different(declared.distinct_attribute or "", requests, rules.version >= _COMPARED_SINCE)


def _concerns(requests: frozenset[str], choice: DeviceChoice) -> bool:
    return not requests or choice.request in requests or choice.name in requests


def _attribute(name: str, candidate: CandidateDevice) -> DeviceAttribute | None:
    """Return the device's attribute of that full name; one without a domain has the driver's."""
    attributes = candidate.device.attributes
    domain, slash, bare = name.partition("/")
    if name in attributes or not slash or domain != candidate.id.driver:
        return attributes.get(name)
    return attributes.get(bare)
