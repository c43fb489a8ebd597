"""Logs each node that a pod is tried on, and passes it: the smallest Filter plugin there is."""

from __future__ import annotations

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status


class NodeFilter(FilterPlugin[None]):
    """Passes every node. It has no ``sign``: a reused answer would be a line missing in the log."""

    name = "nodeFilter"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.handle.logger.info(
            "nodeFilter filter pod=%s node=%s cpu=%d memory=%d",
            pod.key,
            node.name,
            node.cpu_millicores,
            node.memory_bytes,
        )
        return SUCCESS
