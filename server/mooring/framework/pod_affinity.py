"""A pod's affinity to other pods, compiled: its terms with their selectors, namespaces and weights.

Mirrors ``AffinityTerm`` and ``PodInfo`` of ``k8s.io/kube-scheduler/framework`` (types.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from mooring.framework.deadline import timely
from mooring.framework.label_selector import LabelMatcher, SelectorError, compiled
from mooring.framework.objects import Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from mooring.framework.remembering import MAX_POD_BYTES, MAX_PODS

AffinityKey = tuple[str, bytes]
"""The identity of a set of terms: the namespace of the pod and the terms as written."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """The pods that a term selects, and its topology.

    Attributes:
        selector: Of the pods' labels.
        namespaces: Names of namespaces in which they may be.
        namespace_selector: Of the labels of further namespaces.
        topology_key: The node label whose value is a domain.
        weight: Its weight; 0 for a required term.
    """

    selector: LabelMatcher
    namespaces: frozenset[str]
    namespace_selector: LabelMatcher
    topology_key: str
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Return whether a pod with ``labels`` in ``namespace``, which has ``namespace_labels``, is meant."""
        inside = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return inside and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All terms of one pod. A kind of terms of which one can't be used is empty, and ``errors`` says why."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()
    errors: tuple[str, ...] = ()


NO_TERMS = AffinityTerms()
"""Of a pod that doesn't care which pods are near."""


def affinity_key(pod: Pod) -> AffinityKey | None:
    """Equal for pods with equal terms; None for a pod without any."""
    affinity = pod.spec.affinity
    if affinity is None:
        return None
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity)
    if not any(side is not None and _has_terms(side) for side in sides):
        return None
    try:
        return pod.metadata.namespace, _encode(sides)
    except UnicodeEncodeError:
        return pod.metadata.namespace, repr(sides).encode("utf-8", "surrogatepass")


def affinity_terms(pod: Pod) -> AffinityTerms:
    """Return the pod's terms, ready to be matched."""
    affinity = pod.spec.affinity
    if affinity is None:
        return NO_TERMS
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    namespace = pod.metadata.namespace
    errors: list[str] = []
    return AffinityTerms(
        required=_required(near, namespace, errors),
        required_anti=_required(apart, namespace, errors),
        preferred=_preferred(near, namespace, errors),
        preferred_anti=_preferred(apart, namespace, errors),
        errors=tuple(errors),
    )


class KnownTerms:
    """What ``affinity_terms`` says, worked out once for all pods with equal terms. Safe from any thread."""

    def __init__(self) -> None:
        self._terms: dict[AffinityKey, AffinityTerms] = {}
        self._bytes = 0

    def of(self, pod: Pod, key: AffinityKey | None) -> AffinityTerms:
        """Return the terms of ``pod``, whose ``affinity_key`` is ``key``."""
        if key is None:
            return NO_TERMS
        terms = self._terms.get(key)
        if terms is None:
            terms = affinity_terms(pod)
            self._bytes += len(key[1])
            if len(self._terms) >= MAX_PODS or self._bytes > MAX_POD_BYTES:
                self._terms.clear()
                self._bytes = len(key[1])
            self._terms[key] = terms
        return terms


def _has_terms(side: PodAffinity) -> bool:
    return bool(
        side.required_during_scheduling_ignored_during_execution
        or side.preferred_during_scheduling_ignored_during_execution
    )


def _required(side: PodAffinity, namespace: str, errors: list[str]) -> tuple[AffinityTerm, ...]:
    terms = side.required_during_scheduling_ignored_during_execution
    return _compiled([WeightedPodAffinityTerm(0, term) for term in terms], namespace, errors)


def _preferred(side: PodAffinity, namespace: str, errors: list[str]) -> tuple[AffinityTerm, ...]:
    return _compiled(side.preferred_during_scheduling_ignored_during_execution, namespace, errors)


def _compiled(
    terms: Collection[WeightedPodAffinityTerm], namespace: str, errors: list[str]
) -> tuple[AffinityTerm, ...]:
    try:
        return tuple(
            _term(weighted.pod_affinity_term, weighted.weight, namespace) for weighted in timely(terms)
        )
    except SelectorError as error:
        errors.append(str(error))
        return ()


def _term(term: PodAffinityTerm, weight: int, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        compiled(term.label_selector),
        frozenset((namespace,) if own else term.namespaces),
        compiled(term.namespace_selector),
        term.topology_key,
        weight,
    )
