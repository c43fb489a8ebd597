"""An upper bound of the pods of a group that nodes could take, without trying.

It counts free amounts, tolerated taints and labels. Other plugins may accept
fewer pods, never more: if this bound is too small, nothing has to be tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from mooring.framework import Bools, Int64s, Node, Pod, PodGroupInfo
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Taint
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from mooring.framework.taints import is_of_condition, tolerated
from mooring.runtime.answers import PLACEMENTS_GATE, topology_keys
from mooring.runtime.profiles.profile import Profile
from mooring.sessions.change.labels import Labels, MissingLabels
from mooring.sessions.change.needs import taints_of
from mooring.sessions.change.steps import one_more

Amounts = Mapping[str, int]
"""By resource: CPU in thousandths, the rest in units."""

Taints = frozenset[Taint]

_GENERATOR = "TopologyPlacementGenerator"


class Guest(NamedTuple):
    """The requests of one pod of the group."""

    pod: Pod
    requests: Amounts


@dataclass(frozen=True, slots=True)
class Caps:
    """How many pods each node could take at most.

    Attributes:
        there: int64[N], the nodes that are there, whether they have the labels or not.
        new: int64[N], new nodes like them.
    """

    there: Int64s
    new: Int64s


class GroupRoom:
    """Bounds what nodes could take of a group's pods. For one thread, while nodes and pods stay as they are.

    Args:
        guests: Its pods; one or more.

    Attributes:
        rows: The nodes' rows, by name; all columns are in this order.
        domains: int64[N], numbers of the nodes' domains; all pods have to be in one domain; -1 = in none.
        ready: bool[N], the node has the labels that some of the pods ask for.
    """

    def __init__(
        self, table: NodeTable, group: PodGroupInfo, guests: Sequence[Guest], profile: Profile
    ) -> None:
        self._table = table
        self._guests = guests
        self._enabled = {each.name for each in profile.filter}
        self._comparing = profile.gates.enabled("TaintTolerationComparisonOperators")
        self._tolerations = list({guest.pod.spec.tolerations: None for guest in guests})
        self._selecting = [MissingLabels(pod) for pod in _by_selector(guests)]
        self.rows = [table.index[name] for name in sorted(table.index)]
        self.ready: Bools = np.array([self.is_ready(node) for node in self.nodes], np.bool_)
        self._keeping = [self._unborne(taints_of(table, row, self._enabled)) for row in self.rows]
        self._keeping_new = [
            self._unborne(
                [
                    each
                    for each in taints_of(table, row, self._enabled - {"NodeUnschedulable"})
                    if not is_of_condition(each)
                ]
            )
            for row in self.rows
        ]
        self.domains = self._find_domains(group, profile)

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes."""
        for row in self.rows:
            node = self._table.nodes[row]
            assert node is not None  # noqa: S101 - the tree is one thread's
            yield node

    def is_ready(self, node: Node) -> bool:
        """Return whether the node has the labels that some of the pods ask for."""
        return "NodeAffinity" not in self._enabled or any({} in each.ways(node) for each in self._selecting)

    def ways(self, node: Node) -> list[Labels]:
        """Return the sets of labels; with one of them more of the pods accept the node."""
        ways = [way for each in self._selecting for way in each.ways(node) if way]
        return ways if "NodeAffinity" in self._enabled else []

    def taint_sets(self) -> set[Taints]:
        """Return for which taints tolerated some node would not keep all pods away: none that a controller
        sets.
        """
        every = {taints for sets in (*self._keeping, *self._keeping_new) for taints in sets}
        return {taints for taints in every if not any(map(is_of_condition, taints))}

    def caps(self, tolerated_too: Taints, amounts: Amounts) -> Caps:
        """Return what each node could take if all pods tolerated these, and requested no more than that."""
        there = self._columns(self._table.allocatable - self._table.requested)
        new = self._columns(self._table.allocatable)
        return Caps(
            np.where(_open(self._keeping, tolerated_too), self._fitting(there, amounts), 0),
            np.where(_open(self._keeping_new, tolerated_too), self._fitting(new, amounts), 0),
        )

    def by_domain(self, counts: Int64s) -> Int64s:
        """Return int64[D], the sum of ``counts`` (int64[N]) in each domain."""
        inside = self.domains >= 0
        number = int(self.domains.max(initial=0)) + 1
        return np.bincount(self.domains[inside], counts[inside], number).astype(np.int64)

    def _columns(self, amounts: Int64s) -> Int64s:
        columns: Int64s = amounts[:, self.rows]
        return columns

    def _fitting(self, room: Int64s, amounts: Amounts) -> Int64s:
        fitting = np.full(len(self.rows), len(self._guests), np.int64)
        for name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) if "NodeResourcesFit" in self._enabled else ():
            least = min(guest.requests.get(name, int(name == PODS)) for guest in self._guests)
            least = min(least, amounts.get(name, least))
            if least:
                fitting = np.minimum(fitting, np.maximum(room[self._table.resource_index[name]], 0) // least)
        return fitting

    def _unborne(self, taints: Sequence[Taint]) -> frozenset[Taints]:
        """Return for each way in which pods tolerate which of these they don't."""
        return frozenset(
            frozenset(each for each in taints if not tolerated(each, some, comparing=self._comparing))
            for some in self._tolerations
        )

    def _find_domains(self, group: PodGroupInfo, profile: Profile) -> Int64s:
        """Return the nodes' domains; one for all where changes might move nodes from one to another."""
        alone = np.zeros(len(self.rows), np.int64)
        keys = topology_keys(group) if profile.gates.enabled(PLACEMENTS_GATE) else []
        if not keys or [each.name for each in profile.placement_generate] != [_GENERATOR]:
            return alone
        new = (one_more(node, self._table.index) for node in self.nodes)
        nodes = itertools.chain(self.nodes, new)
        if keys[0] == HOSTNAME or any(keys[0] in way for node in nodes for way in self.ways(node)):
            return alone
        numbers: dict[str | None, int] = {None: -1}
        values = (node.metadata.labels.get(keys[0]) for node in self.nodes)
        return np.array([numbers.setdefault(value, len(numbers) - 1) for value in values], np.int64)


def _open(keeping: Sequence[frozenset[Taints]], tolerated_too: Taints) -> Bools:
    known: dict[frozenset[Taints], bool] = {}
    for sets in keeping:
        if sets not in known:
            known[sets] = any(taints <= tolerated_too for taints in sets)
    return np.array([known[sets] for sets in keeping], np.bool_)


def _by_selector(guests: Sequence[Guest]) -> list[Pod]:
    """Return pods, one of each way in which they select nodes."""
    by: dict[Hashable, Pod] = {}
    for pod, _ in guests:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        by.setdefault(msgspec.msgpack.encode((pod.spec.node_selector, affinity)), pod)
    return list(by.values())
