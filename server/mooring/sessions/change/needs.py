"""The nodes' lacks for a pod that a change could help, and their free amounts when pods leave."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mooring.framework import Int64s, NodeView, Status
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Taint
from mooring.framework.pod_requests import PodUsage
from mooring.framework.pod_table import PodRecord
from mooring.framework.resources import PODS
from mooring.framework.taints import is_of_condition, tolerated
from mooring.plugins.pod_topology_spread.filtering import HardCounts
from mooring.runtime.answers import Evaluation, guest_records
from mooring.sessions.change.labels import Labels, MissingLabels
from mooring.sessions.change.steps import kind_of_new, one_more
from mooring.sessions.daemons import Daemons

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint by which a pod tolerates that a node is cordoned."""

_TAINTS, _CORDONS, _LABELS, _ROOM = "TaintToleration", "NodeUnschedulable", "NodeAffinity", "NodeResourcesFit"

_HARD = ("NoSchedule", "NoExecute")

_NO_LABELS: list[Labels] = [{}]


@dataclass(frozen=True, slots=True)
class Needs:
    """The lacks of some nodes, or of new ones like them, for the pod.

    Attributes:
        taints: Those that the pod doesn't tolerate.
        ways: The sets of labels; a node needs at least one of them.
        room: The free amounts of the resources that the pod requests more of, by name; ``pods`` among them.
        others: Other plugins reject the nodes: only trying shows which change would help.
        excess: How many of the pods among which the pod is spread have to leave the nodes' domains at least.
    """

    rows: list[int]
    new: bool
    taints: tuple[Taint, ...]
    ways: Sequence[Labels]
    room: Mapping[str, int]
    others: bool
    excess: int = 0


def by_taints(found: Evaluation, rows: Sequence[int]) -> dict[tuple[Taint, ...], list[int]]:
    """Return ``rows`` by the taints that keep the pod of ``found`` away, the fewest first."""
    nodes, tolerations = found.snapshot.nodes, found.pod.spec.tolerations
    enabled = _enabled(found)
    comparing = found.profile.gates.enabled("TaintTolerationComparisonOperators")
    lists: dict[tuple[int, bool], tuple[Taint, ...]] = {}
    grouped: dict[tuple[Taint, ...], list[int]] = {}
    for row in rows:
        key = int(nodes.taint_set[row]), bool(nodes.unschedulable[row])
        if key not in lists:
            there = taints_of(nodes, row, enabled)
            lists[key] = tuple(
                each for each in there if not tolerated(each, tolerations, comparing=comparing)
            )
        grouped.setdefault(lists[key], []).append(row)
    return dict(sorted(grouped.items(), key=lambda item: len(item[0])))


def _enabled(found: Evaluation) -> set[str]:
    return {each.name for each in found.profile.filter} - found.written.skipped


def taints_of(nodes: NodeTable, row: int, enabled: Collection[str]) -> tuple[Taint, ...]:
    """Return the taints of a node for which one of the ``enabled`` plugins keeps pods away, each once."""
    hard = [each for each in nodes.taint_sets[nodes.taint_set[row]] if each.effect in _HARD]
    there = hard if _TAINTS in enabled else []
    there += [_CORDON] if nodes.unschedulable[row] and _CORDONS in enabled else []
    return tuple(dict.fromkeys(there))


@dataclass(frozen=True, slots=True)
class _Lack:
    """The lacks of nodes: whether they lack labels, which resources are too small, and whether
    other plugins reject them.
    """

    labels: bool
    lacking: tuple[str, ...]
    others: bool


class NodesRead:
    """Reads node by node what an evaluation of a pod says that nodes lack. New nodes get the pods of
    ``daemons`` first.
    """

    def __init__(self, found: Evaluation, daemons: Daemons) -> None:
        self._daemons = daemons
        self._requests = dict(found.cluster.kind_of(found.pod, remember=False).usage.requests)
        self._table = found.snapshot.nodes
        self._missing = MissingLabels(found.pod)
        self._names_matter = self._missing.names_matter and _LABELS in _enabled(found)
        self._guests = _requested_by_guests(found)
        self._verdicts = self._all_verdicts(found)
        self._offered: dict[str, list[int]] = {}
        self._taken: dict[Hashable, Counter[str]] = {}
        self._left: dict[str, list[int]] = {}
        counts = found.state.get(HardCounts, HardCounts)
        excess = None if counts is None else counts.excess(NodeView(found.snapshot, found.rows)).tolist()
        self._excess = dict(zip(found.rows.tolist(), excess, strict=True)) if excess is not None else {}

    def needs(self, rows: Sequence[int], taints: tuple[Taint, ...]) -> list[Needs]:
        """Return what ``rows`` lack, besides that the pod tolerates ``taints``, as it does here."""
        groups: dict[object, Needs] = {}
        for row in rows:
            verdict = self._verdicts[row]
            ways = self._ways(row, verdict)
            room = {name: self._left_of(name)[row] for name in verdict.lacking}
            excess = 0 if verdict.labels else self._excess.get(row, 0)
            key = (id(verdict), id(ways), excess, *room.values())
            if key in groups:
                groups[key].rows.append(row)
            elif ways:
                groups[key] = Needs([row], False, taints, ways, room, verdict.others, excess)
        return list(groups.values())

    def needs_of_new(self, rows: Sequence[int], taints: tuple[Taint, ...]) -> list[Needs]:
        """Return what new nodes like ``rows`` would lack, otherwise as ``needs``."""
        lasting = tuple(taint for taint in taints if not is_of_condition(taint))
        groups: dict[object, Needs] = {}
        for row in rows:
            verdict = self._verdicts[row]
            ways = self._ways_of_new(row, verdict)
            taken = self._taken_of_new(row)
            offered = ((name, self._offered_of(name)[row] - taken[name]) for name in verdict.lacking)
            room = {name: left for name, left in offered if left < self._requests.get(name, 1)}
            key = (id(ways), *room.items())
            if key in groups:
                groups[key].rows.append(row)
            elif ways:
                groups[key] = Needs([row], True, lasting, ways, room, others=False)
        return list(groups.values())

    def _all_verdicts(self, found: Evaluation) -> dict[int, _Lack]:
        """Return the nodes' lacks by row; the same object if equal."""
        rejections = found.rejections or [[]] * len(found.rows)
        known: dict[tuple[int, ...], _Lack] = {}
        verdicts: dict[int, _Lack] = {}
        for row, said, code in zip(found.rows.tolist(), rejections, found.codes.tolist(), strict=True):
            key = (*map(id, said), code > 0)
            if key not in known:
                known[key] = self._read(said, rejected=code > 0)
            verdicts[row] = known[key]
        return verdicts

    def _read(self, said: Sequence[Status], *, rejected: bool) -> _Lack:
        by = {status.plugin: status.reasons for status in said}
        reasons = by.get(_ROOM, ())
        lacking = [name for name in self._requests if f"Insufficient {name}" in reasons]
        if "Too many pods" in reasons:
            lacking.append(PODS)
        others = not by.keys() <= {_LABELS, _ROOM} or (rejected and not by)
        return _Lack(_LABELS in by, tuple(lacking), others)

    def _ways(self, row: int, verdict: _Lack) -> Sequence[Labels]:
        """Return the sets of labels, one of which a node needs; the same object if equal."""
        node = self._table.nodes[row]
        return self._missing.ways(node) if verdict.labels and node is not None else _NO_LABELS

    def _ways_of_new(self, row: int, verdict: _Lack) -> Sequence[Labels]:
        """As ``ways``, of a new node like it: its name is another one, and may have other needs."""
        node = self._table.nodes[row]
        if node is None or not self._names_matter:
            return self._ways(row, verdict)
        return self._missing.ways(one_more(node, self._table.index))

    def _taken_of_new(self, row: int) -> Counter[str]:
        """Return what DaemonSets take of a new node like it."""
        node = self._table.nodes[row]
        if node is None or not self._daemons:
            return Counter()
        key = kind_of_new(node)
        if key not in self._taken:
            self._taken[key] = self._daemons.requests(one_more(node, self._table.index))
        return self._taken[key]

    def _offered_of(self, name: str) -> list[int]:
        """Return what each row's node has of a resource."""
        if name not in self._offered:
            self._offered[name] = _column(self._table, self._table.allocatable, name).tolist()
        return self._offered[name]

    def _left_of(self, name: str) -> list[int]:
        """Return what each row's node has left of a resource."""
        if name not in self._left:
            table = self._table
            left = _column(table, table.allocatable, name) - _column(table, table.requested, name)
            for row, guests in self._guests.items():
                left[row] -= guests.get(name, 0)
            self._left[name] = left.tolist()
        return self._left[name]


def _column(table: NodeTable, amounts: Int64s, name: str) -> Int64s:
    """Return the row of ``amounts`` (int64[R, capacity]) that is of a resource; 0 of an unknown one."""
    at = table.resource_index.get(name, len(amounts))
    return amounts[at] if at < len(amounts) else np.zeros(table.capacity, np.int64)


def _requested_by_guests(found: Evaluation) -> dict[int, dict[str, int]]:
    """Return by row what pods request that are nominated for it and come before the pod."""
    index = found.snapshot.nodes.index
    amounts: dict[int, dict[str, int]] = {}
    for name in found.snapshot.pods.nominated:
        for record in guest_records(found.snapshot, name, found.pod) if name in index else ():
            there = amounts.setdefault(index[name], {})
            for resource, amount in (*record.kind.usage.requests, (PODS, 1)):
                there[resource] = there.get(resource, 0) + amount
    return amounts


def frees(usage: PodUsage, names: Collection[str]) -> bool:
    """Return whether a pod that leaves gives back any of the resources named, ``pods`` among them."""
    return PODS in names or any(amount and name in names for name, amount in usage.requests)


def requests_on(row: int, records: Sequence[PodRecord], name: str) -> list[int]:
    """Return what those of these pods that are on a node request of a resource."""
    there = (dict(each.kind.usage.requests) for each in records if each.row == row)
    return [requests.get(name, int(name == PODS)) for requests in there]


def most_freed(amounts: Sequence[list[int]], counting: Sequence[bool], fewest: int, count: int) -> int:
    """Return the most that ``count`` of these come to, if at least ``fewest`` of them are ``counting``."""
    must = itertools.chain.from_iterable(itertools.compress(amounts, counting))
    some = itertools.chain.from_iterable(amounts)
    return sum(heapq.nlargest(fewest, must)) + sum(heapq.nlargest(count - fewest, some))


def freed(room: Mapping[str, int], moved: Sequence[PodRecord], row: int) -> dict[str, int]:
    """Return the free amounts of a node's resources without these pods."""
    left = dict(room)
    for record in moved:
        if record.row != row:
            continue
        for name, amount in (*record.kind.usage.requests, (PODS, 1)):
            if name in left:
                left[name] += amount
    return left
