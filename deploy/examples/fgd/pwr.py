"""PWR (Lettich et al., CCGrid 2025, arXiv:2412.17484) as a plugin: a pod goes where it costs the least power.

A GPU with any pod takes its full power, and so does a CPU with any busy core; others are idle. The watts are
those of the authors' code, github.com/Fr4nz83/PWR-plugin-kubernetes, which takes G2 for A10, G3 for A100 and
every CPU for an Intel Xeon E5-2682 v4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fgd import Fgd

from mooring.framework import CycleState, Int64s, NodeView, Pod, Status

IDLE, FULL, CORES = 15, 120, 16
"""The watts of an idle CPU and of a busy one, and its cores. A node counts two threads a core."""

GPU_WATTS = {
    "T4": (10, 70),
    "A10": (30, 150),
    "G2": (30, 150),
    "P100": (25, 250),
    "V100M16": (30, 300),
    "V100M32": (30, 300),
    "A100": (50, 400),
    "G3": (50, 400),
}
"""By model, the watts of an idle GPU and of a busy one."""

MOST = 10_000
"""More watts than any pod costs."""


class Pwr(Fgd):
    """Selects the GPUs where a pod makes a node take the least power."""

    name = "PWR"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        begins = not len(self._free)
        status = super().pre_filter(state, pod, nodes)
        if begins:
            self._whole, self._gpus = self._free.copy(), (self._free > 0).sum(1)
            self._cores, self._watts = np.zeros(len(self._free)), np.zeros((len(self._free), 2))
            for row, info in zip(nodes.rows.tolist(), nodes.infos(), strict=True):
                self._cores[row] = np.ceil(info.allocatable["cpu"] / 2_000)
                self._watts[row] = GPU_WATTS.get(info.labels.get("gpu-model", ""), (0, 0))
        return status

    def points(self, saved: Any) -> Int64s:
        """int64[K]: the more, the fewer watts a pod costs."""
        rated: Int64s = saved.astype(np.int64) + MOST
        return rated

    def cost(self, free: Int64s, cpu: Int64s, rows: Any) -> Any:
        """float64[K]: the watts of each node with ``free`` GPUs, int64[K, GPUS], and milli CPU."""
        busy = (free < self._whole[rows]).sum(1)
        idle_watts, full_watts = self._watts[rows].T
        cpus = np.ceil(self._cores[rows] / CORES)
        active = np.ceil((self._cores[rows] - cpu // 2_000) / CORES)
        gpus = idle_watts * (self._gpus[rows] - busy) + full_watts * busy
        return gpus + IDLE * (cpus - active) + FULL * active

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        least, most = scores.min(), scores.max()
        # The first one of equal nodes, as in the published runs.
        normalized = np.minimum((scores - least) * 100 // max(most - least, 1), 99)
        normalized[np.argmax(scores)] = 100
        return normalized
