"""Faults of a plugin's arguments, each with its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

SECRET: Final[Mapping[str, bool]] = MappingProxyType({"secret": True})
"""Metadata of a field whose value is never shown: ``token: str = field(default="", metadata=SECRET)``.

Logs, ``config show``, /configz and ListProfiles have ``HIDDEN`` in its place. A file's name needs no hiding,
and is the better place for a secret.
"""

HIDDEN: Final = "REDACTED"
"""The text shown instead of a secret."""


MAX_PATH_CHARACTERS = 300
MAX_MESSAGE_CHARACTERS = 700
"""The most characters of a fault's path and message; together less than a kilobyte."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault in a configuration or a plugin's arguments.

    A plugin's args class yields these from ``validate()``; the configuration loader puts the path of
    the arguments in front and reports all of them together.

    Attributes:
        path: The field's path, relative to the object that was checked, spelt as the user writes it
            (``scoringStrategy.resources[0].weight``). Empty when the fault is not one field's. Cut at 300
            characters.
        message: The fault, and a valid value. Cut at 700 characters.
    """

    path: str
    message: str

    def __post_init__(self) -> None:
        """Cut what is quoted from the object, which may have megabytes."""
        for name, most in (("path", MAX_PATH_CHARACTERS), ("message", MAX_MESSAGE_CHARACTERS)):
            text = getattr(self, name)
            if len(text) > most:
                object.__setattr__(self, name, f"{text[: most - 4]} ...")

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message
