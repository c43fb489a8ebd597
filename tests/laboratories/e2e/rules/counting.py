"""Rules that count pods, as people write them after the tutorial alone: they declare nothing."""

from collections import Counter

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Pod,
    PreFilterPlugin,
    Status,
)

RACK = "example.com/rack"


class FewPerRack(PreFilterPlugin[None], FilterPlugin[None]):
    """At most two pods of an app in a rack."""

    name = "FewPerRack"
    most = 2

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        racks: Counter[str] = Counter()
        for node in nodes.infos():
            alike = [other for other in node.pods if other.metadata.labels.get("app") == app_of(pod)]
            racks[node.labels[RACK]] += len(alike)
        state.write(self.name, frozenset(rack for rack, count in racks.items() if count >= self.most))
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        if node.labels[RACK] in state.read(self.name, frozenset):
            return Status.unschedulable("node(s) were in racks with enough pods of the app")
        return SUCCESS


class OnePerNode(FilterPlugin[None]):
    """Never two pods of a ReplicaSet on a node."""

    name = "OnePerNode"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        mine = {owner.uid for owner in pod.metadata.owner_references}
        for other in node.pods:
            if not mine.isdisjoint(owner.uid for owner in other.metadata.owner_references):
                return Status.unschedulable("node(s) had a pod of the same ReplicaSet")
        return SUCCESS


def app_of(pod: Pod) -> str | None:
    """Return the app that the pod is one of."""
    return pod.metadata.labels.get("app")
