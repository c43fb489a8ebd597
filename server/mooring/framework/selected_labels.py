"""The labels of pods that a selector names. Decisions read no others.

Pods of a StatefulSet, and indexed ones of a Job, have a label of their own each, which hardly any selector
names: without it they are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mooring.framework.deadline import timely
from mooring.framework.objects import (
    LabelSelector,
    Object,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from mooring.framework.pod_affinity import AffinityTerms

SELECTING = (ReplicaSet, ReplicationController, Service, StatefulSet)
"""The kinds of objects whose selectors the default spread constraints go by."""


def keys_of_terms(terms: AffinityTerms) -> Iterator[str]:
    """Yield the keys that a pod's terms about other pods name."""
    for sort in terms.sorts:
        for term in timely(sort):
            for requirement in term.selector.requirements:
                yield requirement.key


def keys_of_pod(pod: Pod) -> set[str]:
    """Return the keys that the pod's terms about other pods and its spread constraints name."""
    spec, keys = pod.spec, set[str]()
    for constraint in timely(spec.topology_spread_constraints):
        keys.update(_keys(constraint.label_selector), constraint.match_label_keys)
    affinity = spec.affinity
    if affinity is not None:
        for term in timely(tuple(_terms(affinity.pod_affinity, affinity.pod_anti_affinity))):
            keys.update(_keys(term.label_selector), term.match_label_keys, term.mismatch_label_keys)
    return keys


def keys_of_object(item: Object) -> Iterable[str]:
    """Return the keys that ``item`` selects pods by, for the spread constraints that are there by default."""
    if isinstance(item, Service | ReplicationController):
        return item.spec.selector
    if isinstance(item, ReplicaSet | StatefulSet):
        return _keys(item.spec.selector)
    return ()


def selected_labels(pod: Pod, keys: frozenset[str]) -> Mapping[str, str]:
    """Return the pod's labels that it selects by itself, or that ``keys`` has."""
    labels, spec = pod.metadata.labels, pod.spec
    if labels.keys() <= keys:
        return labels
    own = keys_of_pod(pod) if spec.affinity is not None or spec.topology_spread_constraints else ()
    return {key: value for key, value in labels.items() if key in keys or key in own}


def _terms(*sides: PodAffinity | None) -> Iterator[PodAffinityTerm]:
    for side in sides:
        if side is not None:
            yield from side.required_during_scheduling_ignored_during_execution
            for weighted in side.preferred_during_scheduling_ignored_during_execution:
                yield weighted.pod_affinity_term


def _keys(selector: LabelSelector | None) -> Iterator[str]:
    if selector is not None:
        yield from selector.match_labels
        for expression in timely(selector.match_expressions):
            yield expression.key
