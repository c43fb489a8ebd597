"""Logs each node that a pod is tried on, and passes it: the smallest Filter plugin there is."""

from __future__ import annotations

import logging

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status

PER_NODE = logging.INFO - 4
"""Level 4, where a line for each pod and node belongs."""


class NodeFilter(FilterPlugin[None]):
    """Passes every node. It is not cacheable: a cached answer would be a line missing in the log."""

    name = "nodeFilter"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.handle.logger.log(
            PER_NODE,
            "nodeFilter filter pod=%s node=%s cpu=%d memory=%d",
            pod.key,
            node.name,
            node.cpu_millicores,
            node.memory_bytes,
        )
        return SUCCESS
