"""The more pods of a group get a node, the better.

Mirrors ``plugins/podgrouppodscount/podgroup_pods_count.go``.
"""

from __future__ import annotations

from mooring.framework import (
    MAX_NODE_SCORE,
    CycleState,
    Int64s,
    KubeVersion,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
)
from mooring.framework.upstream import Upstream

_PLUGIN_SINCE = KubeVersion(1, 36)


class PodGroupPodsCount(PlacementScorePlugin[None]):
    """Counts the pods of the group that have a node, in proportion to the placement with the most."""

    name = "PodGroupPodsCount"
    upstream = Upstream(weight=1, gate="TopologyAwareWorkloadScheduling", since=_PLUGIN_SINCE)

    def score_placement(self, state: CycleState, group: PodGroupInfo, found: PodGroupAssignments) -> int:
        before = state.get(self.name, int)
        if before is None:
            before = len(group.scheduled(found.nodes.snapshot))
            state.write(self.name, before)
        return before + len(found.pods)

    def normalize_placement_scores(self, state: CycleState, group: PodGroupInfo, scores: Int64s) -> Int64s:
        most = int(scores.max(initial=0))
        if not most:
            raise ValueError("no pods from pod group are assigned to any of the candidate placements")
        return scores * MAX_NODE_SCORE // most
