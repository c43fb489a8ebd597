"""Making room for a pod that no node takes: what a PostFilter plugin may ask, and what preemption answers.

Mirrors ``framework/preemption`` and the part of ``framework.Handle`` that it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from mooring.framework.objects import Pod
from mooring.framework.pod_requests import PodUsage
from mooring.framework.row_versions import AsOf
from mooring.framework.status import Status
from mooring.framework.view import Snapshot
from mooring.kernels.arrays import Int32s, Int64s


class WhatIf(Protocol):
    """Some nodes as they would be with other pods on them. For one thread; the state does not change."""

    def add(self, node_name: str, pod: Pod) -> None:
        """Count ``pod`` on the node."""
        ...

    def remove(self, node_name: str, pod: Pod) -> None:
        """Take ``pod`` off the node."""
        ...

    def statuses(self, node_names: Sequence[str]) -> list[Status]:
        """Return the Filter plugins' statuses of each node as it is now, with the pods nominated for it."""
        ...


class NodeSums(Protocol):
    """Nodes as they would be if their pods took other amounts. For one thread; the state stays as it is.

    Amounts are int64[R + 2] for each: of each resource, as in the node table, and of CPU and memory at least.
    """

    def taken(self, rows: Int32s) -> Int64s:
        """int64[R + 2, K]: what the pods on ``rows`` take."""
        ...

    def amounts(self, usage: PodUsage) -> Int64s:
        """int64[R + 2]: what one pod takes."""
        ...

    def statuses(self, rows: Int32s, taken: Int64s, *, again: bool) -> tuple[Int32s, Sequence[Status]]:
        """Return the Filter plugins' statuses if the pods on ``rows`` took ``taken`` (int64[R + 2, K]).

        It is int32[K], an index into the statuses, whose number 0 is Success. With ``again`` the nodes
        have passed already, and only filters that depend on amounts are called.
        """
        ...


class RejectedNodes(Protocol):
    """The nodes that were evaluated for a pod and, as a rule, all rejected.

    Attributes:
        snapshot: The tables that were read.
        rows: int32[N], the rows of the nodes.
        start: The first row of a search that stops early; any int >= 0, the same for the same pod and seed.
        independent: Whether the pods of a node change nothing for the others, so that several can be tried
            at once.
        lasting: They are independent, and a node's verdict stays true until the node, its pods, those
            nominated for it, or an object that is neither changes.
        as_of: The versions of the pod and the state before anything was read.
    """

    snapshot: Snapshot
    rows: Int32s
    start: int
    independent: bool
    lasting: bool
    as_of: AsOf

    def status(self, node_name: str) -> Status:
        """Return the status of the node; UnschedulableAndUnresolvable when it was not evaluated."""
        ...

    def resolvable(self) -> Int32s:
        """int32[M]: the rows of the nodes that were found Unschedulable, ascending."""
        ...

    def what_if(self, node_names: Sequence[str]) -> AbstractContextManager[WhatIf]:
        """Return the nodes to try changes on; at the end of the ``with`` block the changes are undone.

        Only one at a time while they are not independent.
        """
        ...

    def sums(self) -> NodeSums | None:
        """Return the nodes to try other amounts on; None if filters depend on more than the pods' amounts."""
        ...

    def after_extenders(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Return what the scheduler's extenders leave of the candidates that were found, at least one.

        Raises:
            PluginFailureError: An extender failed; the attempt fails with it.
        """
        ...


class Candidate:
    """A node with room after preemption, and the victims. Immutable.

    Attributes:
        node_name: The node.
        violations: How many victims violate a disruption budget.
        budgets: The budgets that they violate, as ``namespace/name``; empty unless they were looked for.
    """

    __slots__ = ("_victims", "budgets", "node_name", "violations")

    def __init__(
        self,
        node_name: str,
        victims: tuple[Pod, ...] | Callable[[], tuple[Pod, ...]],
        violations: int = 0,
        budgets: tuple[str, ...] = (),
    ) -> None:
        self.node_name = node_name
        self.violations = violations
        self.budgets = budgets
        self._victims = victims

    @property
    def victims(self) -> tuple[Pod, ...]:
        """The victims, most important first; for most candidates they are never read."""
        if callable(self._victims):
            self._victims = self._victims()
        return self._victims

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.node_name, self.violations))

    def __repr__(self) -> str:
        return f"Candidate{self._parts()}"

    def _parts(self) -> tuple[str, tuple[Pod, ...], int]:
        return self.node_name, self.victims, self.violations


@dataclass(frozen=True, slots=True)
class Preemption:
    """The result of a preempting plugin.

    Attributes:
        status: Success when there is a candidate, else why not.
        candidates: In row order, or in the order of the given ones.
        best: The nodes of the best candidates, equally good, in the same order.
        eligible: The pod may preempt others; else no candidate was sought or extenders left none, and the pod
            keeps its nominated node.
        without_room: Returns, for explanations, the other searched rows with the status of each.
    """

    status: Status
    candidates: tuple[Candidate, ...] = ()
    best: tuple[str, ...] = ()
    eligible: bool = True
    without_room: Callable[[], Mapping[int, Status]] = field(default=dict, compare=False, repr=False)
