"""The in-tree plugins of kube-scheduler that a configuration may name, but that are not built.

A pod that needs one of them is rejected by name, instead of being placed as if the plugin had agreed.
Mirrors ``plugins/registry.go`` and the extension points that each plugin there implements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mooring.framework import KubeVersion, ObjectTable, Pod
from mooring.framework.upstream import Upstream


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A plugin that mooring doesn't have, and that takes no arguments.

    Attributes:
        points: The extension points it has in kube-scheduler, as configurations spell them.
        upstream: How kube-scheduler ships it.
        uses: Whether a pod can't be scheduled correctly without it, given the cluster's objects.
    """

    points: frozenset[str]
    upstream: Upstream
    uses: Callable[[Pod, ObjectTable], bool]


def _waits_for_resize(pod: Pod, _objects: ObjectTable) -> bool:
    """Return whether the node has no room yet for the pod's resized requests."""
    return any(
        condition.type == "PodResizePending" and condition.reason == "Deferred"
        for condition in pod.status.conditions
    )


_RESIZE_GATE = "InPlacePodVerticalScalingSchedulerPreemption"
_RESIZE_SINCE = KubeVersion(1, 37)

UNSUPPORTED: Mapping[str, Unsupported] = {
    "DeferredPodScheduling": Unsupported(
        frozenset({"preFilter", "filter", "permit"}),
        Upstream(gate=_RESIZE_GATE, since=_RESIZE_SINCE, before=("NodeResourcesFit", _RESIZE_SINCE)),
        _waits_for_resize,
    ),
}
"""By name, in the order in which kube-scheduler lists them by default."""
