"""The out-of-tree twin of mooring's own nodeFilter: the same name, a prefix of its own in the log."""

from __future__ import annotations

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status


class NodeFilter(FilterPlugin[None]):
    """Passes every node and logs what it offers: CPU in thousandths, memory in bytes."""

    name = "nodeFilter"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.handle.logger.info(
            "tanjunchen-scheduler nodeFilter filter pod=%s node=%s cpu=%d memory=%d",
            pod.key,
            node.name,
            node.cpu_millicores,
            node.memory_bytes,
        )
        return SUCCESS
