"""The extension points by name. Mirrors ``k8s.io/kube-scheduler/config/v1`` (type Plugins)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

POINTS: dict[str, type[Plugin[Any]]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
"""The extension points by their name in configurations, in the order of the cycle."""


def points_of(plugin: type[Plugin[Any]] | Plugin[Any]) -> Sequence[str]:
    """The names of the points that ``plugin`` implements, in the order of the cycle."""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return [name for name, point in POINTS.items() if issubclass(kind, point)]
