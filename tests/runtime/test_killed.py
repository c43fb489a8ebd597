"""A12: a binding process is killed wherever something is under way; the next one finds its way."""

from __future__ import annotations

from .killed import POINTS
from .killing import kill_at


def test_bind_kill9() -> None:
    kill_at(POINTS)
