"""Amounts of resources in the spellings that Kubernetes accepts."""

from __future__ import annotations

from random import Random

MIB = 1 << 20


def cpu(rng: Random, milli: int) -> str:
    """Spell an amount of CPU, given in millicores."""
    spellings = [
        f"{milli}m",
        f"{milli}m",
        f"{milli * 1000}u",
        f"{milli * 10**6}n",
        f"{milli}e-3",
        f"{milli / 1000:.3f}",
        f"{milli}E-3",
        f"+{milli}m",
    ]
    if milli % 1000 == 0:
        spellings += [str(milli // 1000)] * 3
    if milli % 1000 == 0 and milli:
        spellings.append(f"{milli // 1000}.")
    if milli < 1000:
        spellings.append(f".{milli:03}")
    if milli % 100 == 0:
        spellings.append(f"{milli // 1000}.{milli % 1000 // 100}")
    return rng.choice(spellings)


def size(rng: Random, mib: int) -> str:
    """Spell an amount of bytes, near or exactly `mib` MiB."""
    spellings = [
        f"{mib}Mi",
        f"{mib}Mi",
        f"{mib * MIB}",
        f"{mib * 1024}Ki",
        f"{mib}M",
        f"{mib}e6",
        f"{mib * 1000}k",
        f"{mib}.5Mi",
        f"{mib * 1024}.5Ki",
        f"{mib * MIB / 1e9}G",
    ]
    if mib % 1024 == 0:
        spellings += [f"{mib // 1024}Gi"] * 3
    if mib % 512 == 0:
        spellings.append(f"{mib / 1024:.1f}Gi")
    if rng.random() < 0.02:
        # Fractions of a byte are rounded up, never down.
        spellings = [f"{mib * MIB * 1000 + 1}m", f"{mib * MIB}.25"]
    return rng.choice(spellings)


def count(rng: Random, number: int) -> str:
    """Spell a whole number."""
    spellings = [str(number), str(number), f"{number}000m", f"{number}e0"]
    if number % 1000 == 0 and number:
        spellings.append(f"{number // 1000}k")
    return rng.choice(spellings)
