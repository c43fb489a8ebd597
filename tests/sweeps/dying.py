"""A plugin whose process dies."""

import os

from mooring.framework import SUCCESS, CycleState, Pod, ReservePlugin, Status


class Dying(ReservePlugin[None]):
    """Ends the process at the pod called `deadly`."""

    name = "Dying"

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        if pod.metadata.name == "deadly":
            os._exit(1)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        pass
