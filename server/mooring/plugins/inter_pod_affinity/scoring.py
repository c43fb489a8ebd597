"""Score's state: the weight of each domain, by the pod's own terms and those of the pods there.

Mirrors ``plugins/interpodaffinity/scoring.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import Int32s, Int64s, NodeView, Pod, Snapshot
from mooring.framework.batch import Move, ScoreCounts
from mooring.framework.deadline import at_others_expense, timely
from mooring.framework.pod_affinity import AffinityTerms, Labelled, labelled
from mooring.framework.pod_table import PodKind
from mooring.kernels.domains import add_between
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, pods_by_row
from mooring.plugins.topology import DomainCounts, Topologies


@dataclass(frozen=True, slots=True)
class Worth(ScoreCounts):
    """The weight of each domain for a pod.

    Attributes:
        pod: The pod as terms see it.
        own: Its preferred terms; the weights of its anti-affinity are negative.
        hard_weight: The weight of a placed pod's required affinity to it.
        domains: The sums of the weights.
    """

    topologies: Topologies
    pod: Labelled
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

    def wishes_of(self, terms: AffinityTerms) -> list[tuple[str, int]]:
        """Return the topology keys of those of a placed pod's terms that are about the pod, and what one pod
        that they bring together is worth; negative to keep them apart.
        """
        pod, keys, wishes = self.pod, self.topologies.keys, list[tuple[str, int]]()
        if terms.preferred:
            wishes += terms.preferred.weights_about(pod, keys)
        if terms.preferred_anti:
            wishes += [(key, -weight) for key, weight in terms.preferred_anti.weights_about(pod, keys)]
        if terms.required and self.hard_weight:
            found = terms.required.weights_about(pod, keys)
            wishes += [(key, self.hard_weight * weight) for key, weight in found]
        return wishes

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
    domains = DomainCounts(topologies, weighted=True)
    worth = Worth(topologies, labelled(pod, labels), own, hard_weight, domains)
    for term in timely(own):
        pods = pods_by_row((term,), snapshot.pods.classes, topologies.capacity)
        worth.domains.add(term.topology_key, pods, term.weight)
    with at_others_expense(snapshot.pods.with_most_terms):
        for affinity in timely(tuple(snapshot.pods.affinities.values())):
            for key, weight in worth.wishes_of(affinity.terms):
                worth.domains.add_class(key, affinity, weight)
    return worth
