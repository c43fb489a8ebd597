"""Durations as Go writes them: ``1h30m``, ``10m0s``, ``500ms``."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

_UNITS = {
    "ns": Decimal("0.001"),
    "us": Decimal(1),
    "µs": Decimal(1),
    "μs": Decimal(1),
    "ms": Decimal(1_000),
    "s": Decimal(1_000_000),
    "m": Decimal(60_000_000),
    "h": Decimal(3_600_000_000),
}
_PART = r"(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"([-+]?)(0|(?:{_PART})+)")
_PARTS = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_MAX = timedelta(microseconds=(2**63 - 1) // 1000)


def parse_duration(text: str) -> timedelta:
    """Read a Go duration; less than a microsecond is cut off. Raises ValueError if the text is not a
    duration, or a longer one than Go can hold (292 years).
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write it like 15s, 1m30s or 500ms")
    parts = _PARTS.findall(match[2])
    try:
        value = timedelta(microseconds=int(sum((Decimal(n) * _UNITS[unit] for n, unit in parts), Decimal(0))))
    except OverflowError:
        value = timedelta.max
    if value > _MAX:
        raise ValueError(f"{text!r} is too long a duration; the most is 292 years")
    return -value if match[1] == "-" else value


def format_duration(value: timedelta) -> str:
    """Write a duration as Go does: whole hours and minutes first, zero units after the first kept."""
    sign = "-" if value < timedelta(0) else ""
    micros = abs(value) // timedelta(microseconds=1)
    if micros == 0:
        return "0s"
    if micros < 1_000:
        return f"{sign}{micros}µs"
    if micros < 1_000_000:
        return f"{sign}{_decimal(micros, 1_000)}ms"
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 1_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, unit: int) -> str:
    """``value / unit`` without trailing zeros."""
    text = f"{Decimal(value) / unit:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
