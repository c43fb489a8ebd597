"""A rule whose answers are kept by the values that it reads."""

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Pure, Status


class NoMaintenance(FilterPlugin[None], Pure):
    """Leaves out nodes that have the label ``maintenance``."""

    name = "NoMaintenance"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("node(s) in maintenance") if "maintenance" in node.labels else SUCCESS
