"""Findings about the terms of affinity between pods that keep a pod from a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from mooring.framework import CycleState, Finding, Holder, Int64s, NodeInfo, Pod, ReasonCode, Snapshot
from mooring.framework.findings import pod_holder, seen_from, shared
from mooring.framework.objects import LabelSelector, PodAffinityTerm
from mooring.framework.pod_affinity import AffinityKey, labelled
from mooring.kernels.arrays import ABSENT
from mooring.plugins.inter_pod_affinity.filtering import AffinityCounts
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, pods_by_row

_MOST_ROWS = 16
"""The nodes that are searched for pods."""


def terms_in_the_way(state: CycleState, pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    """Yield the terms of ``pod``, and of pods that are placed, that keep it from ``node``."""
    counts, affinity = state.read(AffinityCounts, AffinityCounts), pod.spec.affinity
    near = affinity.pod_affinity if affinity else None
    apart = affinity.pod_anti_affinity if affinity else None
    wanted = near.required_during_scheduling_ignored_during_execution if near else ()
    yield from _Near(state, counts, node, wanted)()
    written = apart.required_during_scheduling_ignored_during_execution if apart else ()
    for own, term in zip(counts.apart, written, strict=False):
        yield from _apart(state, counts, own, term, node)
    yield from _opposed(state, counts, pod, node)


class _Near:
    """The pod's required affinity, on one node."""

    def __init__(
        self, state: CycleState, counts: AffinityCounts, node: NodeInfo, written: Sequence[PodAffinityTerm]
    ) -> None:
        self._state, self._counts, self._node, self._written = state, counts, node, written
        self._row = node.snapshot.nodes.index[node.name]

    def __call__(self) -> Iterator[Finding]:
        terms = list(zip(self._counts.near, self._written, strict=False))
        first = bool(terms) and not self._counts.wanted and self._counts.may_be_first
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

    def _elsewhere(self, terms: Sequence[tuple[OwnTerm, PodAffinityTerm]]) -> Iterator[Finding]:
        for own, term in terms:
            count = self._counts.wanted[own.topology_key]
            domain = int(count.topology.ids[self._row])
            if domain == ABSENT or count.counts[domain]:
                continue
            there = self._node.labels.get(own.topology_key, "")
            matching = self._matching(self._counts.near)
            yield _finding(
                ReasonCode.POD_AFFINITY_NOT_NEAR,
                term,
                f"no pod in {own.topology_key}={there} matches {_text(term)}, only others do",
                present=", ".join(dict.fromkeys(each.node for each in matching)),
                node_change="place a matching pod there",
            ).held_by(matching)

    def _nowhere(self, terms: Sequence[tuple[OwnTerm, PodAffinityTerm]]) -> Iterator[Finding]:
        alone = [self._matching((own,)) for own, _ in terms]
        lacking = [term for (_, term), pods in zip(terms, alone, strict=True) if not pods]
        for term in lacking:
            said = f"no pod on any node matches {_text(term)}"
            change = "create a pod that matches"
            yield _finding(ReasonCode.POD_AFFINITY_NO_MATCH, term, said, node_change=change)
        if lacking:
            return
        if len(terms) == 1:
            yield from self._unlabelled(*terms[0], alone[0])
            return
        each = ", ".join(f"{some[0].name} matches term {at}" for at, some in enumerate(alone, 1))
        yield Finding(
            ReasonCode.POD_AFFINITY_NO_COMMON_MATCH,
            " and ".join(_text(term) for _, term in terms),
            f"no single pod matches all {len(terms)} terms; {each}",
            asked=" and ".join(_text(term) for _, term in terms),
            pod_change="keep one term, or let one pod have the labels of all terms",
            node_change="give one pod the labels of all terms",
        )

    def _matching(self, terms: Sequence[OwnTerm]) -> list[Holder]:
        """Return pods that all ``terms`` match, wherever they are; none if there are none."""

        def find() -> list[Holder]:
            there = _matching_by_row(self._state, self._counts, terms, self._node.snapshot) > 0
            return list(_pods(self._node.snapshot, there, terms))

        return shared(self._state, (_Near, *terms), find)

    def _unlabelled(self, own: OwnTerm, term: PodAffinityTerm, pods: Sequence[Holder]) -> Iterator[Finding]:
        """Yield that the pods that match are in no domain, unless this node is in none."""
        if self._counts.topologies[own.topology_key].ids[self._row] == ABSENT:
            return
        yield _finding(
            ReasonCode.POD_AFFINITY_NOT_NEAR,
            term,
            f"pods that match {_text(term)} are only on nodes without the label {own.topology_key}",
            node_change=f"label their nodes with {own.topology_key}",
        ).held_by(pods)


def _matching_by_row(
    state: CycleState, counts: AffinityCounts, terms: Sequence[OwnTerm], snapshot: Snapshot
) -> Int64s:
    """int64[capacity]: how many pods that all ``terms`` match are on each row."""
    find = partial(pods_by_row, terms, snapshot.pods.classes, counts.topologies.capacity)
    return shared(state, (pods_by_row, *terms), find)


def _apart(
    state: CycleState, counts: AffinityCounts, own: OwnTerm, term: PodAffinityTerm, node: NodeInfo
) -> Iterator[Finding]:
    topology, row = counts.topologies[own.topology_key], node.snapshot.nodes.index[node.name]
    domain = int(topology.ids[row])
    if domain == ABSENT:
        return
    pods = _matching_by_row(state, counts, (own,), node.snapshot)
    here = (topology.ids == domain) & (pods > 0)
    if here.any():
        there = node.labels.get(own.topology_key, "")
        said = f"must not be near pods that match {_text(term)}, and {own.topology_key}={there} has some"
        find = partial(_pods, node.snapshot, here, (own,))
        holders = shared(state, (_apart, own, domain), lambda: list(find()))
        yield _finding(
            ReasonCode.POD_ANTI_AFFINITY, term, said, node_change="move the matching pods away"
        ).held_by(seen_from(node, each) for each in holders)


def _opposed(state: CycleState, counts: AffinityCounts, pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    snapshot, row = node.snapshot, node.snapshot.nodes.index[node.name]
    for affinity, by_key in shared(state, _opposing, partial(_opposing, counts, pod, snapshot)):
        for key, by_domain in by_key.items():
            domain = int(counts.topologies[key].ids[row])
            rows = by_domain.get(domain, ()) if domain != ABSENT else ()
            holders = [
                seen_from(node, pod_holder(record, node=snapshot.nodes.names[each]))
                for each in rows[:_MOST_ROWS]
                for record in snapshot.pods.records_on(each)
                if record.kind.affinity_key == affinity
            ]
            if rows:
                there = node.labels.get(key, "")
                yield Finding(
                    ReasonCode.POD_ANTI_AFFINITY_OF_OTHERS,
                    key,
                    f"pods in {key}={there} must not be near this pod",
                    present=f"{key}={there}",
                    pod_change="change the labels that their terms match",
                    node_change="move these pods away",
                ).held_by(holders)


def _opposing(
    counts: AffinityCounts, pod: Pod, snapshot: Snapshot
) -> list[tuple[AffinityKey, dict[str, dict[int, list[int]]]]]:
    """Return the affinities with terms against ``pod``, each with the rows of its pods by key and domain."""
    subject, found = labelled(pod, counts.labels), []
    for affinity in tuple(snapshot.pods.affinities.values()):
        by_key: dict[str, dict[int, list[int]]] = {}
        for key in dict(affinity.terms.required_anti.weights_about(subject, counts.topologies.keys)):
            ids = counts.topologies[key].ids
            for row in tuple(affinity.counts):
                if row < len(ids):
                    by_key.setdefault(key, {}).setdefault(int(ids[row]), []).append(row)
        if by_key:
            found.append((affinity.key, by_key))
    return found


def _finding(
    code: ReasonCode, term: PodAffinityTerm, said: str, *, present: str = "", node_change: str
) -> Finding:
    change = "drop the required term"
    return Finding(code, _text(term), said, _text(term), present, pod_change=change, node_change=node_change)


def _pods(snapshot: Snapshot, where: np.ndarray, terms: Sequence[OwnTerm]) -> Iterator[Holder]:
    for row in np.flatnonzero(where)[:_MOST_ROWS].tolist():
        for record in snapshot.pods.records_on(row):
            kind = record.kind
            if all(term.matches(kind.namespace, kind.labels) for term in terms):
                yield pod_holder(record, node=snapshot.nodes.names[row])


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
