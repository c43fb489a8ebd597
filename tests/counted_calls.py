"""Counts calls, where a time would depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(action: Callable[[], object], *, in_c: bool = False) -> int:
    """Return how many functions in Python, and in C if wanted, ``action`` calls."""
    events = {"call", "c_call"} if in_c else {"call"}
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in events

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls
