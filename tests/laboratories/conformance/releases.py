"""The releases as cases of a test: the newest is in the inner net, older ones are not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.laboratories.conformance.program import NEWEST


def of(version: str, *values: object, name: str) -> Any:
    """Return a case about a release."""
    return pytest.param(*values, id=name, marks=() if version == NEWEST else pytest.mark.slow)


def each(versions: Iterable[str]) -> list[Any]:
    """Return every release as a case."""
    return [of(version, version, name=version) for version in versions]
