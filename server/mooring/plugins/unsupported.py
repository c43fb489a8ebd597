"""The in-tree plugins of kube-scheduler that a configuration may name, but that are not built.

A pod that needs one of them is rejected by name, instead of being placed as if the plugin had agreed.
Mirrors ``plugins/registry.go`` and the extension points that each plugin there implements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mooring.framework import KubeVersion, ObjectTable, Pod
from mooring.framework.objects import PodGroup
from mooring.framework.upstream import Upstream


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A plugin that is not built, and that takes no arguments.

    Attributes:
        points: The extension points it has in kube-scheduler, as configurations spell them.
        upstream: How kube-scheduler ships it.
        uses: Whether a pod can't be placed rightly without it, given the cluster's objects.
    """

    points: frozenset[str]
    upstream: Upstream
    uses: Callable[[Pod, ObjectTable], bool]


def _has_placements(pod: Pod, objects: ObjectTable) -> bool:
    """Return whether the pods of its group have to share a value of a node label."""
    if pod.group is None:
        return False
    namespace, name = pod.group
    group = objects.get(PodGroup, name, namespace)
    constraints = group.spec.scheduling_constraints if group is not None else None
    return constraints is not None and bool(constraints.topology)


_PLACEMENTS_GATE = "TopologyAwareWorkloadScheduling"
_PLACEMENTS_SINCE = KubeVersion(1, 36)

UNSUPPORTED: Mapping[str, Unsupported] = {
    "TopologyPlacementGenerator": Unsupported(
        frozenset({"placementGenerate"}),
        Upstream(gate=_PLACEMENTS_GATE, since=_PLACEMENTS_SINCE),
        _has_placements,
    ),
    "PodGroupPodsCount": Unsupported(
        frozenset({"placementScore"}),
        Upstream(weight=1, gate=_PLACEMENTS_GATE, since=_PLACEMENTS_SINCE),
        _has_placements,
    ),
}
"""By name, in the order in which kube-scheduler lists them by default."""
