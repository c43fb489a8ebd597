"""Resources: their names, and amounts of them as integers, summed exactly and rounded up once, at the end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from mooring.framework.deadline import timely
from mooring.framework.names import is_qualified_name
from mooring.framework.quantity import Quantity, QuantityError, millis, parse_quantity, units

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")

Amounts = dict[str, int]
"""Billionths of a unit by resource name."""


class ResourceError(ValueError):
    """A quantity of an object can't be used.

    Attributes:
        path: The field's path within the object.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def is_native_resource(name: str) -> bool:
    """Return whether ``name`` has no domain, or Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache
def is_extended_resource(name: str) -> bool:
    """Return whether ``name`` is well-formed and in another domain than Kubernetes' (``example.com/gpu``)."""
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


@lru_cache
def is_scalar_resource(name: str) -> bool:
    """Return whether nodes count the resource in addition to CPU, memory, ephemeral storage and pods."""
    return (
        is_extended_resource(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )


def amount(resource: str, value: int) -> str:
    """Return an amount as the scheduler counts it (CPU in thousandths) as text: ``15.2``, ``1.5Gi``."""
    if resource == CPU:
        return f"{value / 1000:g}"
    if resource not in (MEMORY, EPHEMERAL_STORAGE) and not resource.startswith("hugepages-"):
        return str(value)
    size, unit = float(value), 0
    while abs(size) >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.4g}{_UNITS[unit]}"


def counted_amounts(amounts: Mapping[str, int]) -> dict[str, int]:
    """``amounts`` (billionths) as the scheduler counts them: CPU in thousandths, the others in units.

    Names that the scheduler doesn't count are left out.
    """
    counted = {}
    for name, nanos in timely(amounts.items()):
        if name == CPU:
            counted[name] = millis(nanos)
        elif name in (MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource(name):
            counted[name] = units(nanos)
    return counted


def parse_amounts(quantities: Mapping[str, Quantity], path: str) -> Amounts:
    """``quantities`` in billionths.

    Raises:
        ResourceError: One is malformed or negative; its path is ``path[name]``.
    """
    amounts = {}
    for name, text in timely(quantities.items()):
        try:
            nanos = parse_quantity(text)
        except QuantityError as error:
            raise ResourceError(f"{path}[{name}]", str(error)) from None
        if nanos < 0:
            raise ResourceError(f"{path}[{name}]", f"{text!r} is negative; it must be 0 or more")
        amounts[name] = nanos
    return amounts


def allocatable(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Return a node's allocatable as the scheduler counts it.

    Raises:
        ResourceError: A quantity is malformed or negative.
    """
    return counted_amounts(parse_amounts(quantities, "status.allocatable"))
