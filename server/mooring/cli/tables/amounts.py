"""Amounts of resources, as people write them."""

from __future__ import annotations

from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


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


def lacking_resource(reason: str) -> str:
    """Return the resource that a reason of NodeResourcesFit is about; "" for other reasons."""
    if reason == "Too many pods":
        return PODS
    word, _, name = reason.partition(" ")
    return name if word == "Insufficient" and " " not in name else ""
