"""How kube-scheduler ships a plugin. Each in-tree plugin's class says it, as its attribute ``upstream``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring.framework.releases import KubeVersion


@dataclass(frozen=True, slots=True)
class Upstream:
    """Facts about a plugin of kube-scheduler, for the defaults and the validation of configurations.

    Mirrors ``pkg/scheduler/apis/config/v1/default_plugins.go``.

    Attributes:
        weight: The weight in the default list; None = the list names none.
        gate: The feature gate without which the default list leaves the plugin out; "" = it is always in.
        since: The first release that has the plugin, or has it as mooring follows it; None = all have it.
        points_since: The first release of each extension point that is younger than the plugin.
        before: The plugin directly before which the default list has it, and the first release that does;
            None = its place is that of its declaration.
        more_points: Extension points at which mooring's plugin has nothing to do and kube-scheduler's has:
            a file may list the plugin there.
    """

    weight: int | None = None
    gate: str = ""
    since: KubeVersion | None = None
    points_since: Mapping[str, KubeVersion] = field(default_factory=dict)
    before: tuple[str, KubeVersion] | None = None
    more_points: tuple[str, ...] = ()
