"""The common parts of the counts of hard and of soft constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mooring.framework.batch import Move, PodCounts
from mooring.framework.pod_table import PodKind
from mooring.plugins.pod_topology_spread.constraints import SpreadConstraint
from mooring.plugins.topology import DomainCount


class CountedConstraint(Protocol):
    """A constraint with the pods that it selects."""

    @property
    def rule(self) -> SpreadConstraint:
        """The constraint."""

    @property
    def pods(self) -> DomainCount:
        """How many pods each domain has."""


@dataclass(frozen=True, slots=True)
class ConstraintCounts(PodCounts):
    """The constraints of a pod in a namespace, at least one."""

    constraints: tuple[CountedConstraint, ...]
    namespace: str

    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        namespace, key = self.namespace, kind.class_key
        return [(each.pods.move, 1) for each in self.constraints if each.rule.counts(namespace, key)]
