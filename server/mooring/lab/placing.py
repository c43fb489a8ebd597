"""The nodes of pending pods, and how full the nodes are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mooring.app.offline import Outcome
from mooring.framework import Int64s, NodeTable
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.resources import PODS
from mooring.kernels.arrays import Float64s
from mooring.lab.frames import AnswerTable, Columns, Tabular

FULL = 95.0
"""From how many percent of a resource on a node is full."""


@dataclass(frozen=True, eq=False)
class Placed(Tabular):
    """The nodes of the pending pods, and how full the nodes are then.

    Attributes:
        pods: The P pods, as "namespace/name", in the order in which they were tried.
        nodes: Per pod its node; None without one.
        messages: Per pod why it has none; "" with one.
        preempted: The pods that these preempted, some of these among them.
        node_names: The N nodes.
        resources: The R resources of the next two.
        allocatable: int64[R, N], CPU in thousandths, pods as a number, the others in units.
        requested: int64[R, N], in the same units.
    """

    pods: Sequence[str]
    nodes: Sequence[str | None]
    messages: Sequence[str]
    preempted: Sequence[str]
    node_names: Sequence[str]
    resources: Sequence[str]
    allocatable: Int64s
    requested: Int64s

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], table: NodeTable) -> Placed:
        """Return what became of the pods, whose nodes are in the table."""
        rows, index = table.rows(), table.resource_index
        preempted = [outcome.pod for outcome in outcomes if outcome.preempted_by]
        outcomes = [outcome for outcome in outcomes if not outcome.bound]
        amounts = np.ix_(np.array([*index.values()]), rows)
        return cls(
            [outcome.pod for outcome in outcomes],
            [outcome.node for outcome in outcomes],
            ["" if outcome.node else outcome.message for outcome in outcomes],
            preempted,
            [table.names[row] for row in rows.tolist()],
            list(index),
            table.allocatable[amounts],
            table.requested[amounts],
        )

    def used(self, resource: str) -> Float64s:
        """Return float64[N], the percentage of a resource that the nodes' pods request; 0 for nodes without
        it.

        Raises:
            InvalidArgumentError: No node offers the resource.
        """
        if resource not in self.resources:
            known = ", ".join(self.resources)
            raise InvalidArgumentError.at("resource", f"{resource!r} is not one of {known}")
        at = self.resources.index(resource)
        offered = self.allocatable[at]
        used = np.zeros(len(offered))
        np.divide(100.0 * self.requested[at], offered, out=used, where=offered > 0)
        return used

    @property
    def pods_on_node(self) -> Int64s:
        """int64[N]: how many pods each node has."""
        counts: Int64s = self.requested[self.resources.index(PODS)]
        return counts

    @property
    def columns(self) -> Columns:
        """A row for each pod. Columns: ``pod``, ``node`` and ``message``."""
        return {"pod": self.pods, "node": self.nodes, "message": self.messages}

    def __repr__(self) -> str:
        placed = [node for node in self.nodes if node is not None]
        used = f"{len(set(placed))} of {len(self.node_names)} nodes"
        preempted = f", {len(self.preempted)} preempted" if self.preempted else ""
        return f"{len(placed)} of {len(self.pods)} pods placed on {used}{preempted}"


def usage_of(table: NodeTable) -> AnswerTable:
    """Return how full the nodes of a table are, the fullest first: a row for each resource of a node."""
    rows = [
        (table.names[row], name, requested, allocatable, 100 * requested / allocatable)
        for name, at in table.resource_index.items()
        for row in table.rows().tolist()
        if (allocatable := int(table.allocatable[at, row]))
        for requested in (int(table.requested[at, row]),)
    ]
    rows.sort(key=lambda row: (-row[4], row[0], row[1]))
    full = len({node for node, *_, percent in rows if percent >= FULL})
    dtypes = {"node": "str", "resource": "str", "requested": "int64", "allocatable": "int64"}
    said = f"{full} of {len({row[0] for row in rows})} nodes are full"
    return AnswerTable.of(said, {**dtypes, "percent": "float64"}, rows)
