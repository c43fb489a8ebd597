"""Kubernetes quantities, exactly: ``100m``, ``1.5Gi``, ``2e3``.

Mirrors ``k8s.io/apimachinery/pkg/api/resource`` (quantity.go): parsing rounds up to one billionth,
values round up, and what is larger than int64 can hold counts as its largest value.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

Quantity = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
"""A quantity as manifests spell it; as a number it is within 64 bits."""

NANO = 1_000_000_000
"""Billionths in one unit."""

MAX_INT64 = 2**63 - 1

# Only ASCII digits: the class \d would let others in.
_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?[0-9]{1,4})|([KMGTPE]i|[numkMGTPE]))?")
_SCALES = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_EXPONENT = 400
_MAX_DIGITS = 400


class QuantityError(ValueError):
    """A text is not a quantity."""


@lru_cache(maxsize=1 << 16)
def parse_quantity(text: Quantity) -> int:
    """Return the quantity in billionths of a unit, rounded away from zero, within int64 units.

    Raises:
        QuantityError: ``text`` is not a quantity.
    """
    return max(-MAX_INT64 * NANO, min(exact_quantity(text), MAX_INT64 * NANO))


@lru_cache(maxsize=1 << 12)
def exact_quantity(text: Quantity) -> int:
    """Return the quantity in billionths of a unit; only one with a binary suffix stays within int64 units.

    This is how quantities compare and add up upstream. Most plugins count in int64: see ``parse_quantity``.

    Raises:
        QuantityError: ``text`` is not a quantity.
    """
    form = _FORM.fullmatch(str(text))
    if form is None or not form[0]:
        raise QuantityError(f"{str(text)[:80]!r} is not a quantity; write for example 500m, 1.5 or 2Gi")
    sign, whole, fraction, _, exponent, suffix = form.groups(default="")
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise QuantityError(f"a quantity of {len(whole) + len(fraction)} digits; use at most {_MAX_DIGITS}")
    digits = int(whole + fraction or "0")  # upstream reads "m" as nothing, too
    power = 9 - len(fraction) + (int(exponent) if exponent else _SCALES.get(suffix, 0))
    digits <<= _BINARY.get(suffix, 0)
    power = min(power, _MAX_EXPONENT)
    nanos = digits * int(10**power) if power >= 0 else -(-digits // int(10**-power))
    if suffix in _BINARY:
        nanos = min(nanos, MAX_INT64 * NANO)
    return -nanos if sign == "-" else nanos


def units(nanos: int) -> int:
    """``nanos`` in whole units, rounded away from zero, at most int64 (upstream's ``Value``).

    Sums above int64, of several containers, stay at its largest value; upstream keeps their lower 64 bits.
    """
    return min(-(-nanos // NANO), MAX_INT64) if nanos >= 0 else nanos // NANO


def millis(nanos: int) -> int:
    """``nanos`` in thousandths, rounded away from zero, within int64 (upstream's ``MilliValue``)."""
    return min(-(-nanos // 1_000_000), MAX_INT64) if nanos >= 0 else max(nanos // 1_000_000, -MAX_INT64)
