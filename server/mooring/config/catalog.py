"""What the configuration has to know about plugins; the caller passes it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)
"""Every extension point that a profile may list plugins at, spelt as in the file."""

MULTI_POINT = "multiPoint"
"""The section whose plugins serve every point that they implement."""


@dataclass(frozen=True, slots=True)
class PluginDescription:
    """A plugin, as far as a configuration file can name it.

    Attributes:
        name: The name in the file.
        points: The extension points it implements, out of ``POINTS``.
        args: The dataclass of its arguments; None when it takes none, or takes them as they were written.
        in_tree: Whether kube-scheduler ships a plugin of this name.
        supported: False for an in-tree plugin that is accepted by name only.
    """

    name: str
    points: frozenset[str]
    args: type[Any] | None = None
    in_tree: bool = False
    supported: bool = True


Catalog = Mapping[str, PluginDescription]
"""The plugins that a configuration may name, by name."""
