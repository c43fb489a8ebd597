"""Constraints on a claim's devices: equal or distinct attributes, and tolerated taints.

Mirrors ``matchAttributeConstraint``, ``distinctAttributeConstraint`` and ``taintPreventsAllocation`` of
``k8s.io/dynamic-resource-allocation/structured``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from mooring.framework import KubeVersion, hashable
from mooring.framework.objects.claims import DeviceConstraint, DeviceToleration
from mooring.framework.objects.devices import Device, DeviceAttribute, DeviceTaint
from mooring.plugins.dynamic_resources.pools.inventory import CandidateDevice
from mooring.plugins.dynamic_resources.requests import DeviceChoice
from mooring.plugins.dynamic_resources.rules import Rules

_KEPT_AWAY = frozenset({"NoSchedule", "NoExecute"})
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

    def state(self) -> Hashable:
        """Return a value that is equal where the same devices may be added."""
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
        value = attribute_of(self.attribute, candidate)
        if value is None or (self._count and value != self._value):
            return False
        self._value = value
        self._count += 1
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._count -= 1

    def state(self) -> Hashable:
        return hashable(self._value) if self._count else None

    def concerns(self, request: str) -> bool:
        """Return whether all devices of the request ``request`` have to be alike."""
        return not self.requests or request in self.requests

    def would_take(self, candidate: CandidateDevice) -> bytes | None:
        """Return the device's value, encoded, if the selected devices have the same; None otherwise."""
        value = attribute_of(self.attribute, candidate)
        return None if value is None or (self._count and value != self._value) else hashable(value)


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
        value = attribute_of(self.attribute, candidate)
        if value is None or (self.by_value and self._count and value in self._values.values()):
            return False
        self._values[choice.request] = value
        self._count += 1
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._values.pop(choice.request, None)
            self._count -= 1

    def state(self) -> Hashable:
        return hashable(sorted(self._values.items())), self._count


@dataclass(slots=True)
class AllDifferent:
    """Devices have different values of an attribute, those of one request too: so it is since 1.37."""

    attribute: str
    requests: frozenset[str]
    _values: list[DeviceAttribute] = field(default_factory=list)

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        if not _concerns(self.requests, choice):
            return True
        value = attribute_of(self.attribute, candidate)
        if value is None or value in self._values:
            return False
        self._values.append(value)
        return True

    def remove(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        if _concerns(self.requests, choice):
            self._values.pop()

    def state(self) -> Hashable:
        return tuple(sorted([hashable(value) for value in self._values]))

    def concerns(self, request: str) -> bool:
        """Return whether all devices of the request ``request`` have to differ."""
        return not self.requests or request in self.requests

    def would_take(self, candidate: CandidateDevice) -> bytes | None:
        """Return the device's value, encoded, if no selected device has it; None otherwise."""
        value = attribute_of(self.attribute, candidate)
        return None if value is None or value in self._values else hashable(value)


class ConstraintChecks(list[ConstraintCheck]):
    """Those of one claim."""

    def add(self, choice: DeviceChoice, candidate: CandidateDevice) -> bool:
        """Return whether each of them takes the device; if not, none of them has it."""
        for at, check in enumerate(self):
            if not check.add(choice, candidate):
                for earlier in reversed(self[:at]):
                    earlier.remove(choice, candidate)
                return False
        return True

    def give_back(self, choice: DeviceChoice, candidate: CandidateDevice) -> None:
        """Undo ``add``."""
        for check in reversed(self):
            check.remove(choice, candidate)


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


def attribute_of(name: str, candidate: CandidateDevice) -> DeviceAttribute | None:
    """Return the device's attribute of that full name; one without a domain has the driver's."""
    attributes = candidate.device.attributes
    domain, slash, bare = name.partition("/")
    if name in attributes or not slash or domain != candidate.id.driver:
        return attributes.get(name)
    return attributes.get(bare)


def is_kept_away(device: Device, choice: DeviceChoice) -> bool:
    """Return whether a taint of ``device`` keeps ``choice`` from having it."""
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
