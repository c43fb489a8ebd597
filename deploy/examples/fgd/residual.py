"""The score that AlphaEvolve found for Borg (Novikov et al., 2025, arXiv:2506.13131, Figure 6), as a plugin.

With c and m, the shares of a node's free CPU and memory that the pod takes, it is -(c + m + m/c + c/m).
"""

from __future__ import annotations

import numpy as np

from mooring.framework import CycleState, Int64s, NodeView, Pod, ScorePlugin
from mooring.framework.pod_requests import pod_usage

LEAST = 1e-9
"""Takes the place of a share of nothing."""

DIGITS = 1_000_000
"""Scores are whole numbers: millionths."""


class Residual(ScorePlugin[None]):
    """Prefers nodes on which a pod takes a small share, and equal shares of CPU and memory."""

    name = "Residual"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        requests = dict(pod_usage(pod).requests)
        cpu, memory = (
            np.maximum(
                requests.get(name, 0) / np.maximum(nodes.allocatable(name) - nodes.requested(name), 1), LEAST
            )
            for name in ("cpu", "memory")
        )
        score = -(cpu + memory + memory / cpu + cpu / memory)
        rated: Int64s = np.round(np.clip(score * DIGITS, -(2.0**60), 0)).astype(np.int64)
        return rated

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        # Equal nodes: take the first, like the other policies of this example.
        normalized = np.zeros(len(scores), np.int64)
        normalized[np.argmax(scores)] = 100
        return normalized
