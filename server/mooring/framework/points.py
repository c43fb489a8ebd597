"""The extension points in one table, from which all other lists of them are derived.

Mirrors ``k8s.io/kube-scheduler/config/v1`` (type Plugins).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from mooring.framework.groups import (
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
)
from mooring.framework.interface import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from mooring.framework.releases import KubeVersion

_PLACEMENTS_SINCE = KubeVersion(1, 36)
_GROUP_POST_FILTER_SINCE = KubeVersion(1, 37)


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """An extension point.

    Attributes:
        name: Its name in configurations.
        base: The base class of its plugins.
        evaluates: Whether it is part of an evaluation, the plugins' answers about nodes for a pod.
        commits: Whether it comes after a node was selected.
        since: The first release whose configurations have it; None = all have it.
        attribute: Its name in Python, ``pre_filter`` for preFilter.
    """

    name: str
    base: type[Plugin[Any]]
    evaluates: bool = False
    commits: bool = False
    since: KubeVersion | None = None
    attribute: str = field(init=False)

    def __post_init__(self) -> None:
        words = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", self.name)
        object.__setattr__(self, "attribute", words)


POINTS: Mapping[str, ExtensionPoint] = {
    point.name: point
    for point in (
        ExtensionPoint("preEnqueue", PreEnqueuePlugin, evaluates=True),
        ExtensionPoint("queueSort", QueueSortPlugin),
        ExtensionPoint("preFilter", PreFilterPlugin, evaluates=True),
        ExtensionPoint("filter", FilterPlugin, evaluates=True),
        ExtensionPoint("postFilter", PostFilterPlugin),
        ExtensionPoint("preScore", PreScorePlugin, evaluates=True),
        ExtensionPoint("score", ScorePlugin, evaluates=True),
        ExtensionPoint("reserve", ReservePlugin, commits=True),
        ExtensionPoint("permit", PermitPlugin, commits=True),
        ExtensionPoint("preBind", PreBindPlugin, commits=True),
        ExtensionPoint("bind", BindPlugin, commits=True),
        ExtensionPoint("postBind", PostBindPlugin, commits=True),
        ExtensionPoint("placementGenerate", PlacementGeneratePlugin, since=_PLACEMENTS_SINCE),
        ExtensionPoint("placementScore", PlacementScorePlugin, since=_PLACEMENTS_SINCE),
        ExtensionPoint("podGroupPostFilter", PodGroupPostFilterPlugin, since=_GROUP_POST_FILTER_SINCE),
    )
}
"""The extension points by their name in configurations, in the order of the cycle; those of groups last."""


def points_of(plugin: type[Plugin[Any]] | Plugin[Any]) -> Sequence[str]:
    """Return the names of the points that ``plugin`` implements, in the order of the cycle."""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return [name for name, point in POINTS.items() if issubclass(kind, point.base)]


def calls_of(base: type[Any]) -> Mapping[str, Sequence[str]]:
    """Return the methods that a base class of plugins declares, each with the names of its arguments."""
    return {
        name: list(inspect.signature(member).parameters)[1:]
        for name, member in vars(base).items()
        if isinstance(member, FunctionType) and not name.startswith("_")
    }
