"""Nodes' names without the ending that all of them share, as ``.eu-west-1.compute.internal`` is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.cli.console import NAME_WIDTH, is_width_known, print_line


@dataclass(frozen=True, slots=True)
class ShortNames:
    """How nodes are called in tables. The ``ending`` of each name is left out; "" = nothing is."""

    ending: str = ""

    @classmethod
    def of(cls, names: Iterable[str], *, whole: bool = False) -> ShortNames:
        """Return the short names of all nodes; whole ones with ``whole``, if none is long, or for a pipe."""
        known = list(names)
        if whole or not is_width_known() or not known or max(map(len, known)) <= NAME_WIDTH:
            return cls()
        ending: list[str] = []
        # The part before the first dot always stays.
        for labels in zip(*(reversed(name.split(".")[1:]) for name in known), strict=False):
            if len(set(labels)) > 1:
                break
            ending.append(labels[0])
        return cls("".join(f".{label}" for label in reversed(ending)))

    def print_ending(self) -> None:
        """Print the end that is left out, if there is one."""
        if self.ending:
            print_line(f"the names of nodes go on with {self.ending}")

    def short(self, name: str) -> str:
        """Return the name without the ending."""
        return name.removesuffix(self.ending)
