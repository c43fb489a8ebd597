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
from mooring.framework.quantity import MAX_INT64, NANO, exact_quantity
from mooring.plugins.dynamic_resources.rules import AMOUNTS_CHECKED_SINCE, Rules

Amounts = Mapping[str, int]
"""Amounts by the capacity's name."""

_NOTHING: Amounts = {}
_MILLI = NANO // 1000


class CapacityError(Exception):
    """A request asks for an amount that can't be reckoned with; the decision fails."""


def consumed(device: Device, asked: Amounts | None, rules: Rules) -> dict[str, int]:
    """Return the amount of each capacity of ``device`` that a request for ``asked`` takes. Raises
    CapacityError if an amount is too large for a device's steps, or finer than they can be, or negative.
    """
    wanted = asked or _NOTHING
    return {name: _taken(wanted.get(name), held, rules) for name, held in device.capacity.items()}


def fits(device: Device, asked: Amounts | None, used: Amounts, rules: Rules) -> bool:
    """Return whether ``device``, with ``used`` taken, has room for a request; raises as ``consumed``."""
    if any(name not in device.capacity for name in asked or ()):
        return False
    amounts = consumed(device, asked, rules)
    if rules.version >= AMOUNTS_CHECKED_SINCE and any(amount < 0 for amount in amounts.values()):
        raise CapacityError("a device has a negative capacity")
    for name, amount in amounts.items():
        held = device.capacity[name]
        if held.request_policy is not None and _violates(amount, held.request_policy, rules):
            return False
        if used.get(name, 0) + amount > exact_quantity(held.value):
            return False
    return True


def _taken(asked: int | None, held: DeviceCapacity, rules: Rules) -> int:
    policy = held.request_policy
    if asked is None:
        default = policy.default if policy is not None else None
        return exact_quantity(held.value if default is None else default)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _up_to_step(asked, policy.valid_range, exact_quantity(policy.valid_range.min), rules)
    return next((value for value in map(exact_quantity, policy.valid_values) if asked <= value), asked)


def _up_to_step(asked: int, valid: CapacityRequestPolicyRange, least: int, rules: Rules) -> int:
    """Return ``asked``, raised to ``least`` plus a whole number of steps."""
    if asked < least:
        return least
    if valid.step is None:
        return asked
    nanos = _finest(valid, rules)
    start, step = _whole(least, nanos), _whole(exact_quantity(valid.step), nanos)
    if rules.version < AMOUNTS_CHECKED_SINCE:
        return _wrapped(start + _steps(_wrapped(_whole(asked, nanos) - start), step) * step) * NANO
    if (nanos == _MILLI and asked % _MILLI) or asked > MAX_INT64 * nanos:
        raise CapacityError(f"an amount of {asked} billionths can't be reckoned with in steps")
    found = start - (start - _whole(asked, nanos)) // step * step
    if found > MAX_INT64:
        raise CapacityError(f"an amount of {asked} billionths is too large in whole steps")
    return found * nanos


def _finest(valid: CapacityRequestPolicyRange, rules: Rules) -> int:
    """In what the amounts of a range are whole numbers, in billionths: thousandths of a unit, or units."""
    given = [exact_quantity(each) for each in (valid.min, valid.max, valid.step) if each is not None]
    in_millis = all(each % _MILLI == 0 and abs(each) <= MAX_INT64 * _MILLI for each in given)
    return _MILLI if rules.fractions and in_millis and exact_quantity(valid.step or 0) >= _MILLI else NANO


def _wrapped(amount: int) -> int:
    """``amount`` as an int64 has it, which wraps around."""
    return (amount + (1 << 63)) % (1 << 64) - (1 << 63)


def _steps(added: int, step: int) -> int:
    """Return how many steps make ``added``: upstream counts one too many for a negative amount."""
    whole = -(-added // step)
    return whole + (added < 0 and added % step != 0)


def _whole(amount: int, nanos: int) -> int:
    """``amount`` in whole units or thousandths, rounded away from zero."""
    return -(-amount // nanos) if amount >= 0 else amount // nanos


def _violates(amount: int, policy: CapacityRequestPolicy, rules: Rules) -> bool:
    if policy.default is not None and amount == exact_quantity(policy.default):
        return False
    valid = policy.valid_range
    if valid is None:
        return bool(policy.valid_values) and amount not in map(exact_quantity, policy.valid_values)
    if valid.max is not None and amount > exact_quantity(valid.max):
        return True
    if valid.step is None:
        return False
    nanos = _finest(valid, rules)
    if nanos == _MILLI and amount % _MILLI:
        return True
    start = _whole(exact_quantity(valid.min or 0), nanos)
    return _wrapped(_whole(amount, nanos) - start) % _whole(exact_quantity(valid.step), nanos) != 0
