"""A pod's affinity to other pods, compiled: its terms with their selectors, namespaces and weights.

Mirrors ``AffinityTerm`` and ``PodInfo`` of ``k8s.io/kube-scheduler/framework`` (types.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from mooring.framework.deadline import timely
from mooring.framework.label_selector import LabelMatcher, LabelMatchers, SelectorError, compiled
from mooring.framework.objects import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from mooring.kernels.arrays import Bools

AffinityKey = tuple[str, bytes]
"""The identity of a set of terms: the namespace of the pod and the terms as written."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """The pods that a term selects, and its topology.

    Attributes:
        selector: Selects by the pods' labels.
        namespaces: Names of namespaces in which they may be.
        namespace_selector: Selects further namespaces by their labels.
        topology_key: The node label whose value is a domain.
        weight: Its weight; 1 for a required term.
    """

    selector: LabelMatcher
    namespaces: frozenset[str]
    namespace_selector: LabelMatcher
    topology_key: str
    weight: int = 1

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Return whether a pod with ``labels`` in ``namespace``, which has ``namespace_labels``, is meant."""
        inside = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return inside and self.selector.matches(labels)


Labelled = tuple[str, Mapping[str, str], Mapping[str, str]]
"""A pod as terms see it: its namespace, its labels and those of its namespace."""


def labelled(pod: Pod, namespace_labels: Mapping[str, str]) -> Labelled:
    """Return ``pod``, whose namespace has ``namespace_labels``, as terms see it."""
    return pod.metadata.namespace, pod.metadata.labels, namespace_labels


_MANY = 16
"""More terms than this are matched with a pod in one step, which takes as long as matching some ten."""


class Terms(tuple[AffinityTerm, ...]):  # noqa: SLOT001 - a tuple can't have any
    """Terms of one sort in their order, made ready to find those that are about a pod."""

    def __init__(self, terms: Iterable[AffinityTerm] = ()) -> None:
        self._index = _TermIndex(self) if len(self) > _MANY else None

    def count_about(self, pod: Labelled) -> int:
        """Return how many terms are about ``pod``."""
        if self._index is not None:
            return int(np.count_nonzero(self._index.match(*pod)))
        return sum(term.matches(*pod) for term in self)

    def weights_about(self, pod: Labelled, keys: frozenset[str]) -> Iterable[tuple[str, int]]:
        """Return the topology keys of the terms about ``pod``, each with a weight; one may come again.

        Only ``keys`` matter: those that nodes have.
        """
        if self._index is not None:
            return self._index.weights(pod, keys)
        return [
            (term.topology_key, term.weight)
            for term in self
            if term.topology_key in keys and term.matches(*pod)
        ]


class _TermIndex:
    """T terms as columns."""

    def __init__(self, terms: Collection[AffinityTerm]) -> None:
        self._numbers = {key: at for at, key in enumerate({term.topology_key: None for term in terms})}
        self._keys = np.array([self._numbers[term.topology_key] for term in terms])
        self._weights = np.array([term.weight for term in terms])
        self._selectors = LabelMatchers([term.selector for term in terms])
        self._namespace_selectors = LabelMatchers([term.namespace_selector for term in terms])
        named: dict[str, list[int]] = {}
        for at, term in enumerate(terms):
            for namespace in term.namespaces:
                named.setdefault(namespace, []).append(at)
        self._named = {namespace: np.array(numbers) for namespace, numbers in named.items()}

    def match(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> Bools:
        """Return bool[T]: ``AffinityTerm.matches`` of each term."""
        inside = self._namespace_selectors.match(namespace_labels)
        inside[self._named.get(namespace, [])] = True
        return self._selectors.match(labels) & inside

    def weights(self, pod: Labelled, keys: frozenset[str]) -> Iterator[tuple[str, int]]:
        """As ``Terms.weights_about``, each key once."""
        shared = keys & self._numbers.keys()
        if shared:
            found, size = self.match(*pod), len(self._numbers)
            numbers = self._keys[found]
            counts, sums = np.bincount(numbers, None, size), np.bincount(numbers, self._weights[found], size)
            for key in shared:
                if counts[number := self._numbers[key]]:
                    yield key, int(sums[number])


_NONE = Terms()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AffinityTerms:
    """All terms of one pod. If one term can't be used, all of its kind are empty, and ``errors`` has the
    reason.

    ``affinity`` is where they are written.
    """

    required: Terms = _NONE
    required_anti: Terms = _NONE
    preferred: Terms = _NONE
    preferred_anti: Terms = _NONE
    errors: tuple[str, ...] = ()
    affinity: Affinity | None = field(default=None, compare=False, repr=False)

    @property
    def sorts(self) -> tuple[Terms, ...]:
        """All four sorts."""
        return self.required, self.required_anti, self.preferred, self.preferred_anti

    def are_about(self, pod: Labelled, keys: frozenset[str]) -> bool:
        """Return whether any term matches ``pod`` by one of the topology ``keys``."""
        return any(sort and any(sort.weights_about(pod, keys)) for sort in self.sorts)


NO_TERMS = AffinityTerms()
"""The terms of a pod without affinity to other pods."""


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


_known: WeakValueDictionary[tuple[int, str], AffinityTerms] = WeakValueDictionary()
"""By the identity of the affinity, which its terms keep, and the namespace."""


def affinity_terms(pod: Pod) -> AffinityTerms:
    """Return the pod's terms, ready to be matched.

    They are made once and shared while a user holds them; the state holds those of its pods and their
    templates.
    """
    affinity = pod.spec.affinity
    if affinity is None:
        return NO_TERMS
    key = id(affinity), pod.metadata.namespace
    terms = _known.get(key)
    if terms is None:
        terms = _known[key] = _made(affinity, pod.metadata.namespace)
    return terms


def _made(affinity: Affinity, namespace: str) -> AffinityTerms:
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    errors: list[str] = []
    return AffinityTerms(
        required=_required(near, namespace, errors),
        required_anti=_required(apart, namespace, errors),
        preferred=_preferred(near, namespace, errors),
        preferred_anti=_preferred(apart, namespace, errors),
        errors=tuple(errors),
        affinity=affinity,
    )


def _has_terms(side: PodAffinity) -> bool:
    return bool(
        side.required_during_scheduling_ignored_during_execution
        or side.preferred_during_scheduling_ignored_during_execution
    )


def _required(side: PodAffinity, namespace: str, errors: list[str]) -> Terms:
    terms = side.required_during_scheduling_ignored_during_execution
    return _compiled([WeightedPodAffinityTerm(1, term) for term in terms], namespace, errors)


def _preferred(side: PodAffinity, namespace: str, errors: list[str]) -> Terms:
    return _compiled(side.preferred_during_scheduling_ignored_during_execution, namespace, errors)


def _compiled(terms: Collection[WeightedPodAffinityTerm], namespace: str, errors: list[str]) -> Terms:
    try:
        return (
            Terms(_term(weighted.pod_affinity_term, weighted.weight, namespace) for weighted in timely(terms))
            if terms
            else _NONE
        )
    except SelectorError as error:
        errors.append(str(error))
        return _NONE


def _term(term: PodAffinityTerm, weight: int, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        compiled(term.label_selector),
        frozenset((namespace,) if own else term.namespaces),
        compiled(term.namespace_selector),
        term.topology_key,
        weight,
    )
