"""Errors of a faulty configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.framework import FieldError


class ConfigError(ValueError):
    """A configuration that cannot be used.

    Attributes:
        errors: Every fault, each with its field path.
        lines: The line of the file, from 1 on, of the paths for which it is known.
    """

    def __init__(self, errors: Iterable[FieldError], lines: Mapping[str, int] | None = None) -> None:
        self.errors = list(errors)
        self.lines = dict(lines or {})
        super().__init__("\n".join(map(str, self.errors)))

    def text(self, file: str) -> str:
        """Return a line for each fault, with the file and the fault's line in front; "" = no file."""
        return "\n".join(f"{self._place(file, fault)}{fault}" for fault in self.errors)

    def _place(self, file: str, fault: FieldError) -> str:
        line = self.lines.get(fault.path)
        return f"{file}{f':{line}' if line else ''}: " if file else ""
