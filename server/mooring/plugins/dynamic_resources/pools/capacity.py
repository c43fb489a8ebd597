"""How much of a device's capacity a request takes, and whether there is as much left.

Mirrors ``consumable_capacity.go`` of ``k8s.io/dynamic-resource-allocation/structured``. Amounts are in
billionths of a unit.
"""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.objects.devices import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Device,
    DeviceCapacity,
)
from mooring.framework.quantity import NANO, parse_quantity, units

Amounts = Mapping[str, int]
"""Amounts by the capacity's name."""

_NOTHING: Amounts = {}


def consumed(device: Device, asked: Amounts | None) -> dict[str, int]:
    """Return what a request for ``asked`` takes of each capacity of ``device``."""
    wanted = asked or _NOTHING
    return {name: _taken(wanted.get(name), held) for name, held in device.capacity.items()}


def fits(device: Device, asked: Amounts | None, used: Amounts) -> bool:
    """Return whether ``device``, of which ``used`` is taken, has room for a request for ``asked``."""
    if any(name not in device.capacity for name in asked or ()):
        return False
    for name, amount in consumed(device, asked).items():
        held = device.capacity[name]
        if held.request_policy is not None and _violates(amount, held.request_policy):
            return False
        if used.get(name, 0) + amount > parse_quantity(held.value):
            return False
    return True


def _taken(asked: int | None, held: DeviceCapacity) -> int:
    policy = held.request_policy
    if asked is None:
        default = policy.default if policy is not None else None
        return parse_quantity(held.value if default is None else default)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _up_to_step(asked, policy.valid_range, parse_quantity(policy.valid_range.min))
    return next((value for value in map(parse_quantity, policy.valid_values) if asked <= value), asked)


def _up_to_step(asked: int, valid: CapacityRequestPolicyRange, least: int) -> int:
    """``asked``, at least ``least`` and a whole number of steps above it."""
    if asked < least:
        return least
    if valid.step is None:
        return asked
    start, step = units(least), units(parse_quantity(valid.step))
    return (start - (start - units(asked)) // step * step) * NANO


def _violates(amount: int, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == parse_quantity(policy.default):
        return False
    valid = policy.valid_range
    if valid is None:
        return bool(policy.valid_values) and amount not in map(parse_quantity, policy.valid_values)
    if valid.max is not None and amount > parse_quantity(valid.max):
        return True
    if valid.step is None:
        return False
    start = units(parse_quantity(valid.min or 0))
    return (units(amount) - start) % units(parse_quantity(valid.step)) != 0
