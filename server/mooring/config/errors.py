"""What a faulty configuration raises."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework import FieldError


class ConfigError(ValueError):
    """A configuration that cannot be used; ``errors`` names every fault, each with its field path."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("\n".join(map(str, self.errors)))
