"""What Score knows: what it is worth to be in each domain, to the pod itself and to the pods there.

Mirrors ``plugins/interpodaffinity/scoring.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mooring.framework import Pod, Snapshot
from mooring.framework.pod_affinity import AffinityTerm, AffinityTerms
from mooring.plugins.inter_pod_affinity.terms import OwnTerm, matching_all
from mooring.plugins.topology import DomainCounts, Topologies, pods_by_row

Weighted = tuple[AffinityTerm, int]
"""A term and what one pod that it brings together is worth; negative to keep them apart."""


def worth_of_domains(
    pod: Pod,
    snapshot: Snapshot,
    own: Sequence[OwnTerm],
    labels: Mapping[str, str],
    hard_weight: int,
) -> DomainCounts:
    """The sum of the weights in each domain.

    Args:
        pod: The pod to place.
        snapshot: The cluster.
        own: Its preferred terms; the weights of its anti-affinity are negative.
        labels: Those of its namespace.
        hard_weight: What a placed pod's required affinity to it is worth.
    """
    topologies = Topologies(snapshot.nodes)
    worth = DomainCounts(topologies)
    classes = tuple(snapshot.pods.classes.values()) if own else ()
    for term in own:
        pods = pods_by_row(matching_all((term,), classes), topologies.capacity)
        worth.add(term.topology_key, pods, term.weight)
    meta = pod.metadata
    for affinity in tuple(snapshot.pods.affinities.values()):
        for theirs, weight in _weighted(affinity.terms, hard_weight):
            if theirs.matches(meta.namespace, meta.labels, labels):
                worth.add_class(theirs.topology_key, affinity, weight)
    return worth


def _weighted(terms: AffinityTerms, hard_weight: int) -> Iterator[Weighted]:
    if hard_weight > 0:
        yield from ((term, hard_weight) for term in terms.required)
    yield from ((term, term.weight) for term in terms.preferred)
    yield from ((term, -term.weight) for term in terms.preferred_anti)
