"""Static scores of pods that differ in their labels: on top of those that they share.

Each StatefulSet and Deployment has labels of its own, at which few plugins look.
"""

from __future__ import annotations

import numpy as np

from mooring.framework import Int32s, Pod
from mooring.framework.state import ClusterState
from mooring.runtime.cache.profile_parts import Halves
from mooring.runtime.cache.ranking import OUT
from mooring.runtime.cache.static_scores import StaticScores, find_static_scores
from mooring.runtime.cycle.plugin_calls import PluginCalls
from mooring.runtime.profiles.profile import Profile


def find_static_above(
    below: StaticScores,
    profile: Profile,
    above: Profile,
    cluster: ClusterState,
    pod: Pod,
    version: int,
    calls: PluginCalls,
    halves: Halves,
) -> StaticScores:
    """Return the static scores by all plugins of ``profile``, of which those of ``above`` alone are asked.

    What the others say is ``below``, true for ``version``, and at least one node is open there.

    Raises:
        NotCachedError: As ``find_static_scores``.
    """
    found = find_static_scores(above, cluster, pod, version, calls, halves, below)
    found.base = _sum(below, found)
    found.rows, found.evaluated, found.below = below.rows, below.evaluated, below
    found.scaled = (*below.scaled, *found.scaled)
    if below.has_dynamic:
        # What its dynamic plugins wrote is as old as it is.
        found.version = below.version
        found.timeless &= below.timeless
        dynamic = frozenset(map(id, (*below.dynamic.evaluating, *found.dynamic.evaluating)))
        _, found.dynamic = halves.of(profile, dynamic)
    return found


def _sum(below: StaticScores, found: StaticScores) -> Int32s:
    """int32[capacity]: the sum of the totals of both, ``OUT`` where one of them rejects a node."""
    rows = found.open.at
    if found.open.rows is below.open.rows and not found.base[rows].any():
        return below.base
    total = np.full(len(found.base), OUT, np.int32)
    total[rows] = found.base[rows] + below.base[rows]
    return total
