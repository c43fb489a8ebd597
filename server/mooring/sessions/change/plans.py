"""Sets of changes that may let a pod fit, before they are tried: what they are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mooring.framework.pod_table import PodRecord
from mooring.sessions.change.needs import Needs
from mooring.sessions.change.steps import Cost, Kind, LowerRequest


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A set of changes that may do.

    Attributes:
        needs: The needs that the node shares with others.
        at: Which of these nodes it is.
        way: Which of the sets of labels it gets.
        moved: The pods that leave it, or another node.
        ending: The pods leave as they end; otherwise each finds another node.
    """

    needs: Needs
    at: int = 0
    way: int = 0
    moved: tuple[PodRecord, ...] = ()
    requests: tuple[LowerRequest, ...] = ()
    ending: bool = False

    @property
    def cost(self) -> Cost:
        labels, requests, leaving = len(self.needs.ways[self.way]), len(self.requests), len(self.moved)
        changes = len(self.needs.taints) + labels + requests + leaving + self.needs.new
        share = sum(each.share for each in self.requests)
        moves, ends = (0, leaving) if self.ending else (leaving, 0)
        return Cost(changes, int(self.needs.new), moves, requests, labels, ends, share)

    @property
    def helps(self) -> bool:
        """Whether the pod still requests something of each resource."""
        return all(each.amount for each in self.requests)

    @property
    def kinds(self) -> frozenset[Kind]:
        there = {
            Kind.TOLERATION: self.needs.taints,
            Kind.LABEL: self.needs.ways[self.way],
            Kind.REQUEST: self.requests,
            (Kind.END if self.ending else Kind.MOVE): self.moved,
            Kind.NODE: self.needs.new,
        }
        return frozenset(kind for kind, some in there.items() if some)


@dataclass(frozen=True, slots=True)
class MovingPlans:
    """All plans in which pods leave a node, before they are tried one by one.

    Attributes:
        needs: As in ``ChangePlan``.
        count: How many pods leave.
        short: How many resources there is too little of even without the largest pods.
        ending: As in ``ChangePlan``.
        at: As in ``ChangePlan``.
        left: The plans that were not tried yet, once the first was.
    """

    needs: Needs
    count: int
    short: int
    ending: bool = False
    at: int = 0
    left: Iterator[ChangePlan] | None = None

    @property
    def cost(self) -> Cost:
        labels = len(self.needs.ways[0])
        changes = len(self.needs.taints) + labels + self.count + self.short
        moves, ends = (0, self.count) if self.ending else (self.count, 0)
        return Cost(changes, 0, moves, self.short, labels, ends)


Plan = ChangePlan | MovingPlans
