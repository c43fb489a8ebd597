"""Faults of a plugin, each with its line and its remedy; and which code is the plugin's own."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A fault of a plugin.

    Attributes:
        place: ``FILE:LINE``, as editors open it.
        fault: The fault.
        remedy: The advice.
    """

    place: str
    fault: str
    remedy: str

    @classmethod
    def at(cls, code: CodeType, fault: str, remedy: str, line: int = 0) -> Finding:
        """Return a fault in a function, at a line; 0 = its first."""
        return cls(f"{code.co_filename}:{line or code.co_firstlineno}", fault, remedy)


def home_of(kind: type) -> str:
    """Return the package whose code counts as the author's: a plugin's folder in the tree, else all of it."""
    module = kind.__module__
    in_tree = is_below(module, "mooring")
    return module.rpartition(".")[0] if in_tree else module.partition(".")[0]


def is_below(module: object, home: str) -> bool:
    """Return whether a module's name is ``home``, or that of a part of it."""
    return isinstance(module, str) and f"{module}.".startswith(f"{home}.")
