"""What nodes lack for a pod, as far as a change of the pod or of them could help."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mooring.framework import NodeView, Status
from mooring.framework.node_table import NodeTable
from mooring.framework.objects import Taint
from mooring.framework.resources import PODS
from mooring.framework.taints import tolerated
from mooring.plugins.pod_topology_spread.filtering import HardCounts
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.sessions.change.labels import Labels, MissingLabels
from mooring.sessions.change.steps import is_of_condition, one_more

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint by which a pod tolerates that a node is cordoned."""

_TAINTS, _CORDONS, _LABELS, _ROOM = "TaintToleration", "NodeUnschedulable", "NodeAffinity", "NodeResourcesFit"

_HARD = ("NoSchedule", "NoExecute")

_NO_LABELS: list[Labels] = [{}]


@dataclass(frozen=True, slots=True)
class Needs:
    """What some nodes, or new ones like them, lack for the pod.

    Attributes:
        rows: The nodes' rows.
        new: New nodes are meant.
        taints: Those that the pod doesn't tolerate.
        ways: The labels of which a node needs one set, at least one.
        room: What is left of the resources of which the pod requests more, by name; ``pods`` among them.
        others: Other plugins reject the nodes: nobody can tell what would help but by trying.
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
    return {each.name for each in found.profile.filter} - found.skipped


def taints_of(nodes: NodeTable, row: int, enabled: Collection[str]) -> tuple[Taint, ...]:
    """Return the taints of a node for which one of the ``enabled`` plugins keeps pods away, each once."""
    hard = [each for each in nodes.taint_sets[nodes.taint_set[row]] if each.effect in _HARD]
    there = hard if _TAINTS in enabled else []
    there += [_CORDON] if nodes.unschedulable[row] and _CORDONS in enabled else []
    return tuple(dict.fromkeys(there))


def needs_of(found: Evaluation, rows: Sequence[int], taints: tuple[Taint, ...]) -> list[Needs]:
    """Return what ``rows`` lack, besides that the pod tolerates ``taints``, as it does in ``found``."""
    reading = _NodesRead(found)
    groups: dict[object, Needs] = {}
    for row in rows:
        verdict = reading.verdict(row)
        ways = reading.ways(row, verdict)
        room = {name: reading.left(name, row) for name in verdict.lacking}
        excess = 0 if verdict.labels else reading.excess(row)
        key = (id(verdict), id(ways), excess, *room.values())
        if key in groups:
            groups[key].rows.append(row)
        elif ways:
            groups[key] = Needs([row], False, taints, ways, room, verdict.others, excess)
    return list(groups.values())


def needs_of_new(found: Evaluation, rows: Sequence[int], taints: tuple[Taint, ...]) -> list[Needs]:
    """Return what new nodes like ``rows`` would lack, otherwise as ``needs_of``."""
    reading = _NodesRead(found)
    lasting = tuple(taint for taint in taints if not is_of_condition(taint))
    groups: dict[object, Needs] = {}
    for row in rows:
        verdict = reading.verdict(row)
        ways = reading.ways_of_new(row, verdict)
        offered = ((name, reading.offered(name, row)) for name in verdict.lacking)
        room = {name: left for name, left in offered if left < reading.requests.get(name, 1)}
        key = (id(ways), *room.items())
        if key in groups:
            groups[key].rows.append(row)
        elif ways:
            groups[key] = Needs([row], True, lasting, ways, room, others=False)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class _Lack:
    """What is said of nodes: whether they lack labels, of which resources they have too little, and whether
    other plugins reject them.
    """

    labels: bool
    lacking: tuple[str, ...]
    others: bool


class _NodesRead:
    """Reads an evaluation node by node."""

    def __init__(self, found: Evaluation) -> None:
        self.requests = dict(found.cluster.kind_of(found.pod, remember=False).usage.requests)
        self._found = found
        self._table = found.snapshot.nodes
        self._missing = MissingLabels(found.pod)
        self._names_matter = self._missing.names_matter and _LABELS in _enabled(found)
        self._guests = _requested_by_guests(found)
        self._at = dict(zip(found.rows.tolist(), range(len(found.rows)), strict=True))
        self._verdicts: dict[tuple[int, ...], _Lack] = {}
        counts = found.state.get(HardCounts, HardCounts)
        self._excess = None if counts is None else counts.excess(NodeView(found.snapshot, found.rows))

    def verdict(self, row: int) -> _Lack:
        """Return what is said of a node; the same object where it is the same."""
        at = self._at[row]
        said = self._found.rejections[at] if self._found.rejections is not None else []
        key = (*map(id, said), bool(self._found.codes[at]))
        if key not in self._verdicts:
            self._verdicts[key] = self._read(said, rejected=key[-1] > 0)
        return self._verdicts[key]

    def _read(self, said: Sequence[Status], *, rejected: bool) -> _Lack:
        by = {status.plugin: status.reasons for status in said}
        reasons = by.get(_ROOM, ())
        lacking = [name for name in self.requests if f"Insufficient {name}" in reasons]
        if "Too many pods" in reasons:
            lacking.append(PODS)
        others = not by.keys() <= {_LABELS, _ROOM} or (rejected and not by)
        return _Lack(_LABELS in by, tuple(lacking), others)

    def ways(self, row: int, verdict: _Lack) -> Sequence[Labels]:
        """Return the labels of which a node needs one set; the same object where they are the same."""
        node = self._table.nodes[row]
        return self._missing.ways(node) if verdict.labels and node is not None else _NO_LABELS

    def ways_of_new(self, row: int, verdict: _Lack) -> Sequence[Labels]:
        """As ``ways``, of a new node like it: its name is another one, and may have other needs."""
        node = self._table.nodes[row]
        if node is None or not self._names_matter:
            return self.ways(row, verdict)
        return self._missing.ways(one_more(node, self._table.index))

    def excess(self, row: int) -> int:
        """Return how many of the pods among which the pod is spread have to leave a node's domain."""
        return int(self._excess[self._at[row]]) if self._excess is not None else 0

    def offered(self, name: str, row: int) -> int:
        """Return what a node has of a resource."""
        at = self._table.resource_index.get(name, -1)
        return int(self._table.allocatable[at, row]) if 0 <= at < len(self._table.allocatable) else 0

    def left(self, name: str, row: int) -> int:
        """Return what a node has left of a resource."""
        at = self._table.resource_index.get(name, -1)
        taken = int(self._table.requested[at, row]) if 0 <= at < len(self._table.requested) else 0
        return self.offered(name, row) - taken - self._guests.get(row, {}).get(name, 0)


def _requested_by_guests(found: Evaluation) -> dict[int, dict[str, int]]:
    """Return by row what pods request that are nominated for it and come before the pod."""
    pods, index = found.snapshot.pods, found.snapshot.nodes.index
    amounts: dict[int, dict[str, int]] = {}
    for name, uids in pods.nominated.items():
        for record in (pods.get(uid) for uid in uids if name in index and uid != found.pod.metadata.uid):
            if record is not None and record.kind.base.template.priority >= found.pod.priority:
                there = amounts.setdefault(index[name], {})
                for resource, amount in (*record.kind.usage.requests, (PODS, 1)):
                    there[resource] = there.get(resource, 0) + amount
    return amounts
