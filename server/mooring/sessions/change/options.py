"""Sets of changes with which a pod or a group fits, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from mooring.framework import Pod, Status
from mooring.framework.preemption import Candidate
from mooring.sessions.change.steps import Step


class Cost(NamedTuple):
    """Orders sets of changes: by their number, then by how many there are of each kind, the most drastic kind
    first, and then by the shares of requests that are given up, added.
    """

    changes: int
    nodes: int = 0
    moves: int = 0
    requests: int = 0
    labels: int = 0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class ChangeOption:
    """A set of changes with which the pod, or the group, fits.

    Attributes:
        steps: The changes: all of them are needed; none if the unchanged pod fits.
        node_name: The node that takes the pod then; "" for a group,
        landings: whose pods, as they are then, each get a node.
        cost: What they cost.
    """

    steps: tuple[Step, ...]
    node_name: str
    cost: Cost
    landings: tuple[tuple[Pod, str], ...] = ()


@dataclass(slots=True)
class NeededChanges:
    """The changes that would make a pod fit.

    Attributes:
        status: The status of the unchanged pod.
        message: The same as a sentence.
        options: Sets of changes, the cheapest first. Each one after the first is the cheapest that does
            without the most drastic kind of change of each one before.
        candidates: The nodes where preemption could make room for the unchanged pod.
        room_on: The node that the scheduler would nominate it for; "" = none.
        warnings: Why the pod would be left alone in a cluster.
        complete: All was tried that could be cheaper; otherwise there was too much of it.
    """

    status: Status
    message: str = ""
    candidates: tuple[Candidate, ...] = ()
    room_on: str = ""
    warnings: tuple[str, ...] = ()
    options: list[ChangeOption] = field(default_factory=list)
    complete: bool = True
