"""The in-tree plugins of kube-scheduler that a configuration may name, but that are not built.

A pod that needs one of them is refused by name, instead of being placed as if the plugin had agreed.
Mirrors ``plugins/registry.go`` and the extension points that each plugin there implements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.framework import Pod


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A plugin that is not built.

    Attributes:
        name: Its name in configurations.
        points: The extension points it has in kube-scheduler, as configurations spell them.
        args: The dataclass of its arguments, or None.
        uses: Whether a pod can't be placed rightly without it.
    """

    name: str
    points: frozenset[str]
    args: type[Any] | None
    uses: Callable[[Pod], bool]


def _is_in_group(pod: Pod) -> bool:
    return pod.spec.scheduling_group is not None


def _entry(name: str, points: str, args: type[Any] | None, uses: Callable[[Pod], bool]) -> Unsupported:
    return Unsupported(name, frozenset(points.split()), args, uses)


_ENTRIES = (
    _entry("GangScheduling", "preEnqueue permit", None, _is_in_group),
    _entry("TopologyPlacementGenerator", "placementGenerate", None, _is_in_group),
    _entry("PodGroupPodsCount", "placementScore", None, _is_in_group),
)

UNSUPPORTED: Mapping[str, Unsupported] = {entry.name: entry for entry in _ENTRIES}
"""By name, in the order in which kube-scheduler lists them by default."""
