"""Terms between pods among new nodes that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from mooring.framework import NodeView, Pod
from mooring.framework.new_node_rules import AtMost, CountedPods, Near, Rule
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_affinity import AffinityTerms
from mooring.framework.pod_table import PodKind
from mooring.kernels.arrays import ABSENT
from mooring.plugins.inter_pod_affinity.filtering import AffinityCounts
from mooring.plugins.topology import DomainCounts


def tells_alike_apart(
    pod: Pod, terms: AffinityTerms, labels: Mapping[str, str], kinds: Sequence[PodKind]
) -> bool:
    """Return whether new nodes of a group may have different scores: a term that counts is by hostname.

    ``terms`` are the pod's, whose namespace has ``labels``; pods of ``kinds`` come to the nodes.
    """
    if any(term.topology_key == HOSTNAME for term in (*terms.preferred, *terms.preferred_anti)):
        return True
    meta = pod.metadata
    return any(
        term.topology_key == HOSTNAME and term.matches(meta.namespace, meta.labels, labels)
        for theirs in _distinct(kinds)
        for term in (*theirs.required, *theirs.preferred, *theirs.preferred_anti)
    )


def rules_among_alike(counts: AffinityCounts, nodes: NodeView, kinds: Sequence[PodKind]) -> Sequence[Rule]:
    """Return the rules of the terms, as ``BatchPlugin.new_node_rules`` does."""
    return [
        *_opposing(counts, nodes, kinds),
        *_apart(counts, nodes, kinds),
        *_near(counts, nodes, kinds),
    ]


def _opposing(counts: AffinityCounts, nodes: NodeView, kinds: Sequence[PodKind]) -> Iterator[AtMost]:
    """Yield the rules that pods with anti-affinity to the pod make."""
    meta = counts.pod.metadata
    opposing: dict[object, list[str]] = {None: []}
    for kind in kinds:
        if kind.affinity_key not in opposing:
            opposing[kind.affinity_key] = [
                term.topology_key
                for term in kind.terms.required_anti
                if term.matches(meta.namespace, meta.labels, counts.labels)
            ]
    for key in dict.fromkeys([*counts.opposed.keys(), *(key for keys in opposing.values() for key in keys)]):
        adds = [opposing[kind.affinity_key].count(key) for kind in kinds]
        yield _none(_counted(counts.opposed, key, nodes, adds))


def _apart(counts: AffinityCounts, nodes: NodeView, kinds: Sequence[PodKind]) -> Iterator[AtMost]:
    """Yield the rules of the pod's own anti-affinity."""
    for key in dict.fromkeys(term.topology_key for term in counts.apart):
        terms = [term for term in counts.apart if term.topology_key == key]
        adds = [sum(_matches(term.matches, kind) for term in terms) for kind in kinds]
        yield _none(_counted(counts.unwanted, key, nodes, adds))


def _near(counts: AffinityCounts, nodes: NodeView, kinds: Sequence[PodKind]) -> Iterator[Near]:
    """Yield the rule of the pod's affinity, if it has any."""
    if not counts.near:
        return
    adds = [int(all(_matches(term.matches, kind) for term in counts.near)) for kind in kinds]
    elsewhere = bool(counts.wanted)
    sorts = [
        _counted(counts.wanted, key, nodes, adds)
        for key in dict.fromkeys(term.topology_key for term in counts.near)
    ]
    inside = np.logical_and.reduce([pods.counting for pods in sorts])
    meta = counts.pod.metadata
    first = all(term.matches(meta.namespace, meta.labels) for term in counts.near)
    yield Near(tuple(sorts), inside, elsewhere, first)


def _counted(counts: DomainCounts, key: str, nodes: NodeView, adds: Sequence[int]) -> CountedPods:
    count = counts[key]
    inside = nodes.take(count.topology.ids) != ABSENT
    return CountedPods(key == HOSTNAME, np.array(adds, np.int64), count.at(nodes), inside)


def _none(pods: CountedPods) -> AtMost:
    """No such pod may be there."""
    return AtMost(pods, 0, np.ones(len(pods.there), np.bool_))


def _matches(matches: Callable[[str, Mapping[str, str]], bool], kind: PodKind) -> bool:
    return matches(kind.namespace, kind.labels)


def _distinct(kinds: Sequence[PodKind]) -> Sequence[AffinityTerms]:
    """Return the terms of ``kinds``, each once."""
    by_key = {kind.affinity_key: kind for kind in kinds if kind.affinity_key is not None}
    return [kind.terms for kind in by_key.values()]
