"""Plugins that fail, one of them with its whole process."""

import os

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, ReservePlugin, Status


class Dying(ReservePlugin[None]):
    """Ends the process at the pod called `deadly`."""

    name = "Dying"

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        if pod.metadata.name == "deadly":
            os._exit(1)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        pass


class Raising(FilterPlugin[None]):
    """Raises."""

    name = "Raising"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        raise RuntimeError("no licence")
