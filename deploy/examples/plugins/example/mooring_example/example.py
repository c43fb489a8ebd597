"""A plugin with three extension points, each of which leaves a line in the log."""

from __future__ import annotations

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Pod,
    PreBindPlugin,
    PreFilterPlugin,
    Status,
)


class Example(PreFilterPlugin[None], FilterPlugin[None], PreBindPlugin[None]):
    """Lets everything pass."""

    name = "example"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        self.handle.logger.info("tanjunchen-scheduler example preFilter pod=%s nodes=%d", pod.key, len(nodes))
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        self.handle.logger.info(
            "tanjunchen-scheduler example filter pod=%s node=%s cpu=%d memory=%d",
            pod.key,
            node.name,
            node.cpu_millicores,
            node.memory_bytes,
        )
        return SUCCESS

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.handle.logger.info("tanjunchen-scheduler example preBind pod=%s node=%s", pod.key, node_name)
        return SUCCESS
