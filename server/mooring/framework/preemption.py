"""Making room for a pod that no node takes: what a PostFilter plugin may ask, and what preemption answers.

Mirrors ``framework/preemption`` and the part of ``framework.Handle`` that it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from mooring.framework.columns import Int32s
from mooring.framework.objects import Pod
from mooring.framework.status import Status
from mooring.framework.view import Snapshot


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


class RejectedNodes(Protocol):
    """The nodes that were evaluated for a pod and, as a rule, all rejected.

    Attributes:
        snapshot: The tables that were read.
        rows: int32[N], the rows of the nodes.
        start: Where a search that stops early begins; any int >= 0, the same for the same pod and seed.
        independent: Whether the pods of a node change nothing for the others, so that several can be tried
            at once.
        lasting: They are, and what is said of a node stays true until the node, its pods, those nominated for
            it, or an object that is neither changes.
    """

    snapshot: Snapshot
    rows: Int32s
    start: int
    independent: bool
    lasting: bool

    def status(self, node_name: str) -> Status:
        """Return the status of the node; UnschedulableAndUnresolvable when it was not evaluated."""
        ...

    def resolvable(self) -> Int32s:
        """int32[M]: the rows of the nodes that were found Unschedulable, ascending."""
        ...

    def what_if(self, node_names: Sequence[str]) -> AbstractContextManager[WhatIf]:
        """Return the nodes to try changes on; at the end of the ``with`` block they are as before.

        Only one at a time while they are not independent.
        """
        ...

    def after_extenders(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Return what the scheduler's extenders leave of the candidates that were found, at least one.

        Raises:
            PluginFailureError: An extender failed; the attempt fails with it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which there would be room, and at what price.

    Attributes:
        node_name: The node.
        victims: The pods that would have to go, most important first.
        violations: How many of them violate a disruption budget.
    """

    node_name: str
    victims: tuple[Pod, ...]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class Preemption:
    """What a preempting plugin found.

    Attributes:
        status: Success when there is a candidate, else why not.
        candidates: In row order, or in the order of the given ones.
        best: The nodes of the best candidates, equally good, in the same order.
        eligible: The pod may preempt others; else no candidate was sought or extenders left none, and the pod
            keeps its nominated node.
    """

    status: Status
    candidates: tuple[Candidate, ...] = ()
    best: tuple[str, ...] = ()
    eligible: bool = True
