"""The terms of the pod to place, and which pods of the cluster they are about.

Mirrors ``mergeAffinityTermNamespacesIfNotEmpty`` in ``plugins/interpodaffinity/plugin.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mooring.framework import Int64s, KubeVersion, Pod, Snapshot
from mooring.framework.deadline import timely
from mooring.framework.label_selector import LabelMatcher
from mooring.framework.objects import Namespace
from mooring.framework.pod_affinity import AffinityTerm
from mooring.framework.pod_classes import PodClasses

_SELECTOR_GONE_SINCE = KubeVersion(1, 37)
"""Before this release the namespace selector stays once the namespaces' names are found. It is matched again,
with no labels, so that one without positive conditions lets in every namespace."""


@dataclass(frozen=True, slots=True)
class OwnTerm:
    """A term of the pod to place, with its namespaces found.

    Attributes:
        selector: Selects by the other pods' labels.
        namespaces: Names of the namespaces in which they may be; None = all.
        topology_key: The node label whose value is a domain.
        weight: Its weight; 1 for a required term.
    """

    selector: LabelMatcher
    namespaces: frozenset[str] | None
    topology_key: str
    weight: int

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels in this namespace is meant."""
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


def own_terms(
    terms: Collection[AffinityTerm], snapshot: Snapshot, version: KubeVersion
) -> tuple[OwnTerm, ...]:
    """``terms`` with the names of the namespaces that their selectors match now."""
    return tuple(
        OwnTerm(term.selector, _namespaces(term, snapshot, version), term.topology_key, term.weight)
        for term in timely(terms)
    )


def pods_by_row(terms: Sequence[OwnTerm], classes: PodClasses, capacity: int) -> Int64s:
    """int64[capacity]: how many pods that every one of ``terms``, at least one, is about each row has."""
    first, *others = terms
    selector, namespaces = first.selector, first.namespaces
    for term in timely(others):
        selector = selector.narrowed(term.selector)
        if namespaces is None:
            namespaces = term.namespaces
        elif term.namespaces is not None:
            namespaces = namespaces & term.namespaces
    return classes.by_row(selector, namespaces, capacity)


def namespace_labels(pod: Pod, snapshot: Snapshot) -> Mapping[str, str]:
    """Return the labels of the pod's namespace; none when it is not known."""
    return snapshot.objects.namespace_labels(pod.metadata.namespace)


def _namespaces(term: AffinityTerm, snapshot: Snapshot, version: KubeVersion) -> frozenset[str] | None:
    selector = term.namespace_selector
    if selector.empty or (version < _SELECTOR_GONE_SINCE and selector.matches({})):
        return None
    if selector.nothing:
        return term.namespaces
    found = (space.metadata for space in snapshot.objects.all(Namespace))
    return term.namespaces.union(meta.name for meta in found if selector.matches(meta.labels))
