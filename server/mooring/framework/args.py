"""What is wrong with a plugin's arguments, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault in a configuration or a plugin's arguments.

    A plugin's args class yields these from ``validate()``; the configuration loader puts the path of
    the arguments in front and reports all of them together.

    Attributes:
        path: The field's path, relative to the object that was checked, spelt as the user writes it
            (``scoringStrategy.resources[0].weight``). Empty when the fault is not one field's.
        message: What is wrong and what would be right.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message
