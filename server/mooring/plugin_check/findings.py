"""Faults of a plugin, each with its line and its remedy; and which code is the plugin's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import CodeType


@dataclass(frozen=True, slots=True, order=True)
class PluginFault:
    """A fault of a plugin. Its place is ``FILE:LINE``, as editors open it."""

    place: str
    fault: str
    remedy: str

    @classmethod
    def at(cls, code: CodeType, fault: str, remedy: str, line: int = 0) -> PluginFault:
        """Return a fault in a function, at a line; 0 = its first."""
        return cls(f"{code.co_filename}:{line or code.co_firstlineno}", fault, remedy)


Home = tuple[str, ...]
"""Packages and modules: the author's own code is below them."""


def home_of(kind: type) -> Home:
    """Return the home of a class and its bases: a plugin's folder in the tree, else whole packages."""
    modules = {base.__module__ for base in kind.__mro__ if not is_below(base.__module__, "mooring.framework")}
    in_tree = {module.rpartition(".")[0] for module in modules if is_below(module, "mooring")}
    others = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"mooring"}
    return (*in_tree, *others)


def is_below(module: object, *homes: str) -> bool:
    """Return whether a module's name is one of ``homes``, or that of a part of one."""
    return isinstance(module, str) and any(f"{module}.".startswith(f"{home}.") for home in homes)
