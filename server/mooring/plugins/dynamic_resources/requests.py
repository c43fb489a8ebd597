"""The requests of claims in one form: each is a list of choices, tried in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.framework.objects.claims import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from mooring.framework.objects.devices import DeviceClass, DeviceSelector
from mooring.framework.quantity import exact_quantity
from mooring.plugins.dynamic_resources.rules import Rules

ALL = "All"
"""The allocation mode that takes every device that fits."""


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """Devices of one class.

    Attributes:
        name: The request's name, ``request/subrequest`` for one of several choices.
        request: The request's own name.
        expressions: The expressions that a device must fulfil: the class's, then the request's.
        everything: All devices that fit, instead of ``count`` of them.
        admin: For administration: devices in use can be had as well.
        amounts: The requested part of a shared device's capacity, in billionths; None = it names none.
    """

    name: str
    request: str
    expressions: tuple[str, ...]
    everything: bool
    count: int
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    amounts: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class DeviceChoices:
    """One request: its choices, the first that can be had wins.

    Attributes:
        listed: The choices are a list of alternatives, which counts in scores.
    """

    choices: tuple[DeviceChoice, ...]
    listed: bool


@dataclass(frozen=True, slots=True)
class ClaimToAllocate:
    """A claim without devices."""

    key: str
    requests: tuple[DeviceChoices, ...]
    constraints: tuple[DeviceConstraint, ...]


def asked_though_off(claim: ClaimToAllocate, rules: Rules) -> str | None:
    """Return a feature that ``claim`` asks for and ``rules`` don't have; None when they have all."""
    choices = [choice for request in claim.requests for choice in request.choices]
    if not rules.administration and any(choice.admin for choice in choices):
        return "admin access"
    if rules.newest_search:
        asks_for_share = any(choice.amounts is not None for choice in choices)
        return "capacity" if asks_for_share and not rules.shares else None
    return "distinct attributes" if any(each.match_attribute is None for each in claim.constraints) else None


def class_names(request: DeviceRequest) -> Sequence[tuple[str, str]]:
    """(name of the choice, its device class) for each choice of ``request``."""
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]


def requests_of(claim: ResourceClaim, classes: dict[str, DeviceClass]) -> tuple[DeviceChoices, ...]:
    """Return the requests of ``claim``; ``classes`` has every class that they name."""
    return tuple(_request(request, classes) for request in claim.spec.devices.requests)


def _request(request: DeviceRequest, classes: dict[str, DeviceClass]) -> DeviceChoices:
    exactly = request.exactly
    if exactly is not None:
        choice = _choice(request.name, request.name, exactly, bool(exactly.admin_access), classes)
        return DeviceChoices((choice,), listed=False)
    choices = (
        _choice(f"{request.name}/{sub.name}", request.name, sub, False, classes)
        for sub in request.first_available
    )
    return DeviceChoices(tuple(choices), listed=True)


def _choice(
    name: str,
    request: str,
    asked: ExactDeviceRequest | DeviceSubRequest,
    admin: bool,
    classes: dict[str, DeviceClass],
) -> DeviceChoice:
    everything = asked.allocation_mode == ALL
    selectors = (*classes[asked.device_class_name].spec.selectors, *asked.selectors)
    return DeviceChoice(
        name=name,
        request=request,
        expressions=_expressions(selectors),
        everything=everything,
        # The API server makes of an absent count 1.
        count=0 if everything else asked.count or 1,
        admin=admin,
        tolerations=asked.tolerations,
        amounts=_amounts(asked.capacity),
    )


def _amounts(asked: CapacityRequirements | None) -> dict[str, int] | None:
    if asked is None:
        return None
    return {name: exact_quantity(amount) for name, amount in asked.requests.items()}


def _expressions(selectors: Sequence[DeviceSelector]) -> tuple[str, ...]:
    return tuple(selector.cel.expression for selector in selectors if selector.cel is not None)
