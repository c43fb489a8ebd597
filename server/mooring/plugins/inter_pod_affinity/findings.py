"""Findings about the terms of affinity between pods that keep a pod from a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Finding, Holder, NodeInfo, Pod, ReasonCode, Snapshot
from mooring.framework.findings import pod_holder
from mooring.framework.objects import LabelSelector, PodAffinityTerm
from mooring.framework.pod_affinity import labelled
from mooring.framework.pod_table import PodRecord
from mooring.kernels.arrays import ABSENT
from mooring.plugins.inter_pod_affinity.filtering import AffinityCounts
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, pods_by_row

_MOST_ROWS = 16
"""The nodes that are searched for pods."""


def terms_in_the_way(counts: AffinityCounts, pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    """Yield the terms of ``pod``, and of pods that are placed, that keep it from ``node``."""
    affinity = pod.spec.affinity
    near = affinity.pod_affinity if affinity else None
    apart = affinity.pod_anti_affinity if affinity else None
    yield from _Near(counts, node, near.required_during_scheduling_ignored_during_execution if near else ())()
    written = apart.required_during_scheduling_ignored_during_execution if apart else ()
    for own, term in zip(counts.apart, written, strict=False):
        yield from _apart(counts, own, term, node)
    yield from _opposed(counts, pod, node)


class _Near:
    """The pod's required affinity, on one node."""

    def __init__(self, counts: AffinityCounts, node: NodeInfo, written: Sequence[PodAffinityTerm]) -> None:
        self._counts, self._node, self._written = counts, node, written
        self._row = node.snapshot.nodes.index[node.name]
        self._capacity = counts.topologies.capacity

    def __call__(self) -> Iterator[Finding]:
        terms = list(zip(self._counts.near, self._written, strict=False))
        first = bool(terms) and not self._counts.wanted and self._may_be_first()
        for own, term in terms:
            if self._counts.topologies[own.topology_key].ids[self._row] == ABSENT:
                yield _finding(
                    ReasonCode.POD_AFFINITY_LABEL_MISSING,
                    term,
                    f"the node lacks the label {own.topology_key}, by which nearness to {_text(term)} counts",
                    node_change=f"label the node with {own.topology_key}",
                )
        if first:
            return
        if self._counts.wanted:
            yield from self._elsewhere(terms)
        elif terms:
            yield from self._nowhere(terms)

    def _may_be_first(self) -> bool:
        meta = self._counts.pod.metadata
        return all(term.matches(meta.namespace, meta.labels) for term in self._counts.near)

    def _elsewhere(self, terms: Sequence[tuple[OwnTerm, PodAffinityTerm]]) -> Iterator[Finding]:
        every = pods_by_row(self._counts.near, self._node.snapshot.pods.classes, self._capacity)
        for own, term in terms:
            count = self._counts.wanted[own.topology_key]
            domain = int(count.topology.ids[self._row])
            if domain == ABSENT or count.counts[domain]:
                continue
            there = self._node.labels.get(own.topology_key, "")
            matching = list(_pods(self._node.snapshot, every > 0, self._counts.near))
            yield _finding(
                ReasonCode.POD_AFFINITY_NOT_NEAR,
                term,
                f"no pod matches {_text(term)} in {own.topology_key}={there}",
                present=", ".join(dict.fromkeys(each.node for each in matching)),
                node_change="place a matching pod there",
            ).held_by(matching)

    def _nowhere(self, terms: Sequence[tuple[OwnTerm, PodAffinityTerm]]) -> Iterator[Finding]:
        classes, snapshot = self._node.snapshot.pods.classes, self._node.snapshot
        alone = [pods_by_row((own,), classes, self._capacity) for own, _ in terms]
        lacking = [term for (_, term), pods in zip(terms, alone, strict=True) if not pods.any()]
        for term in lacking:
            said = f"no pod matches {_text(term)} on any node"
            change = "create a pod that matches"
            yield _finding(ReasonCode.POD_AFFINITY_NO_MATCH, term, said, node_change=change)
        if lacking:
            return
        found = [list(_pods(snapshot, pods > 0, (own,))) for (own, _), pods in zip(terms, alone, strict=True)]
        each = ", ".join(f"{some[0].name} matches term {at}" for at, some in enumerate(found, 1) if some)
        yield Finding(
            ReasonCode.POD_AFFINITY_NO_COMMON_MATCH,
            " and ".join(_text(term) for _, term in terms),
            f"no single pod matches all {len(terms)} terms; {each}",
            asked=" and ".join(_text(term) for _, term in terms),
            pod_change="keep one term, or let one pod have the labels of all terms",
            node_change="give one pod the labels of all terms",
        )


def _apart(counts: AffinityCounts, own: OwnTerm, term: PodAffinityTerm, node: NodeInfo) -> Iterator[Finding]:
    topology, row = counts.topologies[own.topology_key], node.snapshot.nodes.index[node.name]
    domain = int(topology.ids[row])
    if domain == ABSENT:
        return
    pods = pods_by_row((own,), node.snapshot.pods.classes, counts.topologies.capacity)
    here = (topology.ids == domain) & (pods > 0)
    if here.any():
        there = node.labels.get(own.topology_key, "")
        said = f"must not be near {_text(term)}, which is in {own.topology_key}={there}"
        yield _finding(
            ReasonCode.POD_ANTI_AFFINITY, term, said, node_change="move the matching pods away"
        ).held_by(_pods(node.snapshot, here, (own,), node.name))


def _opposed(counts: AffinityCounts, pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    subject, snapshot = labelled(pod, counts.labels), node.snapshot
    row = snapshot.nodes.index[node.name]
    for affinity in tuple(snapshot.pods.affinities.values()):
        keys = dict(affinity.terms.required_anti.weights_about(subject, counts.topologies.keys))
        for key in keys:
            ids = counts.topologies[key].ids
            rows = [each for each in affinity.counts if each < len(ids) and ids[each] == ids[row] != ABSENT]
            holders = [
                _holder(record, snapshot, each, node.name)
                for each in rows[:_MOST_ROWS]
                for record in snapshot.pods.records_on(each)
                if record.kind.affinity_key == affinity.key
            ]
            if rows:
                there = node.labels.get(key, "")
                yield Finding(
                    ReasonCode.POD_ANTI_AFFINITY_OF_OTHERS,
                    key,
                    f"pods in {key}={there} have anti-affinity to this pod",
                    present=f"{key}={there}",
                    pod_change="change the labels that their terms match",
                    node_change="move these pods away",
                ).held_by(holders)


def _finding(
    code: ReasonCode, term: PodAffinityTerm, said: str, *, present: str = "", node_change: str
) -> Finding:
    change = "drop the required term"
    return Finding(code, _text(term), said, _text(term), present, pod_change=change, node_change=node_change)


def _pods(
    snapshot: Snapshot, where: np.ndarray, terms: Sequence[OwnTerm], here: str = ""
) -> Iterator[Holder]:
    for row in np.flatnonzero(where)[:_MOST_ROWS].tolist():
        for record in snapshot.pods.records_on(row):
            kind = record.kind
            if all(term.matches(kind.namespace, kind.labels) for term in terms):
                yield _holder(record, snapshot, row, here)


def _holder(record: PodRecord, snapshot: Snapshot, row: int, here: str) -> Holder:
    name = snapshot.nodes.names[row]
    return pod_holder(record, node="" if name == here else name)


def _text(term: PodAffinityTerm) -> str:
    """Return the pods of a term as people write them: by their labels, and namespaces if it names any."""
    where = f" in {', '.join(term.namespaces)}" if term.namespaces else ""
    return f"{_selector(term.label_selector)}{where}"


def _selector(selector: LabelSelector | None) -> str:
    if selector is None:
        return "no pod"
    parts = [f"{key}={value}" for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = f" [{', '.join(each.values)}]" if each.values else ""
        parts.append(f"{each.key} {each.operator}{values}")
    return ",".join(parts) or "any pod"
