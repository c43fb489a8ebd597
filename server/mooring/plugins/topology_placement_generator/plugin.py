"""The pods of a group share a topology domain. Mirrors ``plugins/topologyaware/topology_placement.go``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework import (
    CycleState,
    GroupPlacement,
    Handle,
    Int32s,
    KubeVersion,
    NodeView,
    ObjectTable,
    PlacementGeneratePlugin,
    Pod,
    PodGroupInfo,
    Status,
)
from mooring.framework.columns import LabelColumn
from mooring.framework.groups import GroupOnly, PlacementColumns
from mooring.framework.objects import PodGroup
from mooring.framework.upstream import Upstream

_PLUGIN_SINCE = KubeVersion(1, 37)

MAX_LABELS = 16
"""The number of topology labels whose domains are remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class _Domains:
    """The domains of some nodes by a label.

    Attributes:
        column: The label's column.
        rows: int32[K], the nodes.
        ids: int32[K], their values.
        placements: The placements for these.
    """

    column: LabelColumn
    rows: Int32s
    ids: Int32s
    placements: PlacementColumns

    def is_of(self, column: LabelColumn, rows: Int32s, ids: Int32s) -> bool:
        """Return whether it is true for these."""
        return column is self.column and np.array_equal(ids, self.ids) and np.array_equal(rows, self.rows)


class TopologyPlacementGenerator(PlacementGeneratePlugin[None], GroupOnly):
    """Makes a placement of the nodes of each value of the group's topology label.

    If pods of the group have a node already, the domain of that node is the only one.
    """

    name = "TopologyPlacementGenerator"
    upstream = Upstream(gate="TopologyAwareWorkloadScheduling", since=_PLUGIN_SINCE)
    reads = (PodGroup,)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._known: dict[str, _Domains] = {}

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
        domains = self._domains_of(nodes, key)
        return domains if required is None else [domain for domain in domains if domain.name == required]

    def _domains_of(self, nodes: NodeView, key: str) -> Sequence[GroupPlacement]:
        """Return a placement for each value of a label, in their order; those of before while true."""
        column = nodes.label(key)
        ids = nodes.take(column.ids)
        known = self._known.get(key)
        if known is not None and known.is_of(column, nodes.rows, ids):
            return known.placements
        present = [number for number in np.unique(ids).tolist() if number]
        named = sorted((column.values[number], number) for number in present)
        if not named:
            return ()
        found = PlacementColumns(
            [GroupPlacement(domain, nodes.rows[ids == number]) for domain, number in named]
        )
        if len(self._known) >= MAX_LABELS:
            self._known.clear()
        self._known[key] = _Domains(column, nodes.rows, ids, found)
        return found


def _domain_of_scheduled(group: PodGroupInfo, key: str, nodes: NodeView) -> str | Status | None:
    """Return the domain that the group is in already; None if none of its pods has a node."""
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
        # An empty value doesn't conflict with a later one (topologyaware/topology_placement.go).
        if found and found != domain:
            return _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
        found = domain
    return found


def _undetermined(why: str) -> Status:
    return Status.error(f"cannot determine domain for already scheduled pods: {why}")
