"""The more pods of a group get a node, the better.

Mirrors ``plugins/podgrouppodscount/podgroup_pods_count.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    MAX_NODE_SCORE,
    CycleState,
    Int64s,
    KubeVersion,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
)
from mooring.framework.groups import AssignedEverywhere
from mooring.framework.upstream import Upstream

_PLUGIN_SINCE = KubeVersion(1, 37)


class PodGroupPodsCount(PlacementScorePlugin[None]):
    """Counts the pods of the group that have a node, in proportion to the placement with the most."""

    name = "PodGroupPodsCount"
    upstream = Upstream(weight=1, gate="TopologyAwareWorkloadScheduling", since=_PLUGIN_SINCE)

    def score_placements(
        self, state: CycleState, group: PodGroupInfo, found: Sequence[PodGroupAssignments]
    ) -> Int64s:
        if isinstance(found, AssignedEverywhere):
            return np.full(len(found), len(group.scheduled(found.snapshot)) + len(found.pods), np.int64)
        before = len(group.scheduled(found[0].snapshot)) if found else 0
        return np.array([before + len(one.pods) for one in found], np.int64)

    def normalize_placement_scores(self, state: CycleState, group: PodGroupInfo, scores: Int64s) -> Int64s:
        most = int(scores.max(initial=0))
        if not most:
            raise ValueError("no pods from pod group are assigned to any of the candidate placements")
        return scores * MAX_NODE_SCORE // most
