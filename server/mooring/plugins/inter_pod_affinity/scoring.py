"""What Score knows: what it is worth to be in each domain, to the pod itself and to the pods there.

Mirrors ``plugins/interpodaffinity/scoring.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import Int32s, Int64s, NodeView, Pod, Snapshot
from mooring.framework.deadline import at_others_expense, timely
from mooring.framework.pod_affinity import AffinityTerms, labelled
from mooring.framework.pod_table import PodKind
from mooring.plugins.domain_totals import add_between
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, pods_by_row
from mooring.plugins.topology import DomainCounts, Move, ScoreCounts, Topologies


@dataclass(frozen=True, slots=True)
class Worth(ScoreCounts):
    """What it is worth for a pod to be in each domain.

    Attributes:
        topologies: The domains.
        pod: The pod.
        labels: Those of its namespace.
        own: Its preferred terms; the weights of its anti-affinity are negative.
        hard_weight: What a placed pod's required affinity to it is worth.
        domains: The sums of the weights.
    """

    topologies: Topologies
    pod: Pod
    labels: Mapping[str, str]
    own: Sequence[OwnTerm]
    hard_weight: int
    domains: DomainCounts

    def clone(self) -> Worth:
        """Return a copy whose sums may change."""
        return replace(self, domains=self.domains.clone())

    def scores(self, nodes: NodeView) -> Int64s:
        """int64[K]: the raw scores."""
        scores: Int64s = np.zeros(len(nodes), np.int64)
        for count in self.domains:
            scores += count.at(nodes)
        return scores

    def add_to(self, totals: Int32s, weight: int) -> None:
        counts = tuple(self.domains)
        if len(counts) == 1:
            [only] = counts
            add_between(only.topology.ids, only.counts, weight, totals)
            return
        if not counts:
            return
        rows, worth = np.arange(len(totals), dtype=np.int32), np.zeros(len(totals), np.int64)
        for count in timely(counts):
            worth += count.counts.take(count.topology.ids[: len(totals)])
        add_between(rows, worth, weight, totals)

    def wishes_of(self, terms: AffinityTerms) -> Iterator[tuple[str, int]]:
        """Yield the topology keys of those of a placed pod's terms that are about the pod, and what one pod
        that they bring together is worth; negative to keep them apart.
        """
        pod, keys = labelled(self.pod, self.labels), self.topologies.keys
        sorts = (terms.required, self.hard_weight), (terms.preferred, 1), (terms.preferred_anti, -1)
        for sort, factor in sorts:
            for key, weight in sort.weights_about(pod, keys) if factor else ():
                yield key, factor * weight

    def adds(self, kind: PodKind) -> Sequence[tuple[Move, int]]:
        namespace, labels = kind.namespace, kind.labels
        own = [each for each in self.own if each.matches(namespace, labels)]
        wishes = ((each.topology_key, each.weight) for each in own)
        return [(self.domains[key].move, weight) for key, weight in (*wishes, *self.wishes_of(kind.terms))]


def worth_of_domains(
    pod: Pod,
    snapshot: Snapshot,
    own: Sequence[OwnTerm],
    labels: Mapping[str, str],
    hard_weight: int,
) -> Worth:
    """Return the score of each domain from the pods placed now; the arguments are as in ``Worth``."""
    topologies = Topologies(snapshot.nodes)
    worth = Worth(topologies, pod, labels, own, hard_weight, DomainCounts(topologies, weighted=True))
    for term in timely(own):
        pods = pods_by_row((term,), snapshot.pods.classes, topologies.capacity)
        worth.domains.add(term.topology_key, pods, term.weight)
    with at_others_expense(snapshot.pods.with_most_terms):
        for affinity in timely(tuple(snapshot.pods.affinities.values())):
            for key, weight in worth.wishes_of(affinity.terms):
                worth.domains.add_class(key, affinity, weight)
    return worth
