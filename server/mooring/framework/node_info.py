"""One node as a plugin's ``filter`` and ``score`` see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mooring.framework.measurements import NodeMeasurements
from mooring.framework.objects import Node, Pod, Taint
from mooring.framework.pod_counter import PodCounter
from mooring.framework.pod_table import PodRecord
from mooring.framework.resources import CPU, MEMORY, PODS

if TYPE_CHECKING:
    from mooring.framework.view import Snapshot


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """An immutable record of a node, made from its row.

    Attributes:
        name: The node's name.
        node: The object.
        allocatable: The amounts for pods; CPU in thousandths, ``pods`` as a number, the rest in units.
        requested: The amounts that the pods on it request, same units; ``pods`` counts them. Resources that
            no node of the cluster offers are missing.
        records: The pods on it, assumed ones included, as the state keeps them.
        snapshot: The tables that it was made from.
    """

    name: str
    node: Node
    allocatable: Mapping[str, int]
    requested: Mapping[str, int]
    records: tuple[PodRecord, ...]
    snapshot: Snapshot

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on it, assumed ones included; built on each access."""
        return tuple(record.pod for record in self.records)

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """The node's annotations."""
        return self.node.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The node's taints."""
        return self.node.spec.taints

    @property
    def measurements(self) -> Mapping[str, int | None]:
        """The values that sources outside of the cluster measured of it, by the name of the source.

        None under a name without recent values, or if the source has none of this node.
        """
        return NodeMeasurements(self.snapshot.objects, self.node, self.requested.get(PODS, 0))

    def count_pods(self, counter: PodCounter, pod: Pod) -> int:
        """Return what ``counter`` counts for ``pod`` in the node's domain; call the counter instead."""
        return counter.by_row(self.snapshot, pod).item(self.snapshot.nodes.index[self.name])

    @property
    def cpu_millicores(self) -> int:
        """Allocatable CPU in thousandths."""
        return self.allocatable.get(CPU, 0)

    @property
    def memory_bytes(self) -> int:
        """Allocatable memory in bytes."""
        return self.allocatable.get(MEMORY, 0)
