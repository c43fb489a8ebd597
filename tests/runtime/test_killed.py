"""A12: a binding process is killed wherever something is under way; the next one finds its way."""

from __future__ import annotations

import pytest

from .killed import POINTS
from .killing import kill_at


@pytest.mark.slow
def test_bind_kill9() -> None:
    kill_at(POINTS)
