"""The pods of a group share a topology domain. Mirrors ``plugins/topologyaware/topology_placement.go``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework import (
    CycleState,
    GroupPlacement,
    KubeVersion,
    NodeView,
    ObjectTable,
    PlacementGeneratePlugin,
    Pod,
    PodGroupInfo,
    Status,
)
from mooring.framework.internal import PlacesTogether
from mooring.framework.objects import PodGroup
from mooring.framework.upstream import Upstream

_PLUGIN_SINCE = KubeVersion(1, 36)


class TopologyPlacementGenerator(PlacementGeneratePlugin[None], PlacesTogether):
    """Makes a placement of the nodes of each value of the group's topology label.

    Where pods of the group have a node already, the domain of that node is the only one.
    """

    name = "TopologyPlacementGenerator"
    upstream = Upstream(gate="TopologyAwareWorkloadScheduling", since=_PLUGIN_SINCE)
    reads = (PodGroup,)

    def alone(self, pod: Pod, objects: ObjectTable) -> str:
        if pod.group is None:
            return ""
        namespace, name = pod.group
        group = objects.get(PodGroup, name, namespace)
        constraints = group.spec.scheduling_constraints if group is not None else None
        if constraints is None or not constraints.topology:
            return ""
        together = "they are placed together, by ScheduleGroups"
        return f"pods of group {namespace}/{name} share a topology domain: {together}"

    def generate_placements(
        self, state: CycleState, group: PodGroupInfo, nodes: NodeView
    ) -> Sequence[GroupPlacement] | Status:
        constraints = group.group.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return [GroupPlacement("", nodes.rows)]
        key = constraints.topology[0].key
        required = _domain_of_scheduled(group, key, nodes)
        if isinstance(required, Status):
            return required
        column = nodes.label(key)
        ids = column.ids[nodes.rows]
        present = [number for number in np.unique(ids).tolist() if number]
        named = sorted((column.values[number], number) for number in present)
        return [
            GroupPlacement(domain, nodes.rows[ids == number])
            for domain, number in named
            if required in (None, domain)
        ]


def _domain_of_scheduled(group: PodGroupInfo, key: str, nodes: NodeView) -> str | Status | None:
    """Return the domain that the group is in already; None where none of its pods has a node."""
    found: str | None = None
    for pod in group.scheduled(nodes.snapshot):
        row = nodes.table.index.get(pod.spec.node_name)
        if row is None:
            missing = f'nodeinfo not found for node name "{pod.spec.node_name}"'
            return _undetermined(f"getting node for pod {pod.key}: {missing}")
        column = nodes.label(key)
        if not column.ids[row]:
            return _undetermined(f"no topology domain found for pod {pod.key}")
        domain = column.values[int(column.ids[row])]
        # As there, an empty value does not stand against another one that comes after it.
        if found and found != domain:
            return _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
        found = domain
    return found


def _undetermined(why: str) -> Status:
    return Status.error(f"cannot determine domain for already scheduled pods: {why}")
