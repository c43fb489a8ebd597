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
    """One node as it would be with other pods on it. For one thread; nothing real changes."""

    def add(self, pod: Pod) -> None:
        """Count ``pod`` on the node."""
        ...

    def remove(self, pod: Pod) -> None:
        """Take ``pod`` off the node."""
        ...

    def status(self) -> Status:
        """What the Filter plugins say of the node as it is now, the pods nominated for it included."""
        ...


class RefusedNodes(Protocol):
    """The nodes that were looked at, most often all of them refused.

    Attributes:
        snapshot: The tables that were read.
        rows: int32[N], the rows of the nodes.
        start: Where a search that stops early begins; any int >= 0, the same for the same pod and seed.
    """

    snapshot: Snapshot
    rows: Int32s
    start: int

    def status(self, node_name: str) -> Status:
        """What was said of the node; UnschedulableAndUnresolvable when it was not looked at."""
        ...

    def resolvable(self) -> Sequence[str]:
        """The names of the nodes that were found Unschedulable, in row order."""
        ...

    def what_if(self, node_name: str) -> AbstractContextManager[WhatIf]:
        """The node, to try things on; at the end of the ``with`` block it is as before."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which there would be room, and at what price.

    Attributes:
        node_name: The node.
        victims: The pods that would have to go, most important first.
        violations: How many of them a disruption budget protects.
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
        eligible: The pod may make room; else nothing was looked for, and a node that is being cleared for it
            stays its own.
    """

    status: Status
    candidates: tuple[Candidate, ...] = ()
    best: tuple[str, ...] = ()
    eligible: bool = True
