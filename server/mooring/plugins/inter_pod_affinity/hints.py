"""Queueing hints for pods that InterPodAffinity rejected."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework import (
    ActionType,
    EventResource,
    HintedEvent,
    KubeVersion,
    Node,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import POD_EVENTS_APART_SINCE, HintFunction, assigned_pod
from mooring.framework.pod_affinity import AffinityTerm, AffinityTerms, Terms, affinity_terms, labelled
from mooring.framework.remembering import ByIdentity

_BOTH_SIDES_SINCE = KubeVersion(1, 36)
"""Since this release the terms of a deleted pod, the pod's own labels and nominated pods are checked."""


_ANY_TERM_SINCE = KubeVersion(1, 37)
"""Since this release one of several anti-affinity terms is enough for a pod to be in the way; before, all."""


_terms_of_gone = ByIdentity(affinity_terms, most=1)
"""All waiting pods are checked against the same deleted pod. A waiting pod's own terms are parsed already."""


def events(version: KubeVersion) -> tuple[HintedEvent, ...]:
    """Return the events of a release."""

    def after_pod(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        changed = [other for other in (old, new) if other is not None]
        both_sides = version >= _BOTH_SIDES_SINCE
        if both_sides and len(changed) == 2 and changed[1].metadata.uid == pod.metadata.uid:
            return QueueingHint.QUEUE
        if not all(_has_node(other, nominated=both_sides) for other in changed):
            return QueueingHint.SKIP
        terms = affinity_terms(pod)
        if terms.errors:
            return QueueingHint.QUEUE
        if new is not None:
            return QueueingHint.when(_comes_near(terms, old, new) or steps_aside(terms, old, new))
        freed = old is not None and against(terms, old)
        vice_versa = both_sides and old is not None and against(_terms_of_gone(old), pod)
        return QueueingHint.when(freed or vice_versa)

    def steps_aside(terms: AffinityTerms, old: Pod | None, new: Pod) -> bool:
        return old is not None and against(terms, old) and not against(terms, new)

    def against(terms: AffinityTerms, pod: Pod) -> bool:
        apart = terms.required_anti
        return _about(apart, pod, least=1 if version >= _ANY_TERM_SINCE else len(apart))

    return (
        *_pod_events(version, after_pod),
        HintedEvent.of(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, _after_node),
    )


def _has_node(pod: Pod, *, nominated: bool) -> bool:
    return bool(pod.spec.node_name or (nominated and pod.status.nominated_node_name))


def _comes_near(terms: AffinityTerms, old: Pod | None, new: Pod) -> bool:
    near, most = terms.required, len(terms.required)
    return (old is None or not _about(near, old, most)) and _about(near, new, most)


def _pod_events(version: KubeVersion, after_pod: HintFunction) -> tuple[HintedEvent, ...]:
    changes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL
    others = HintedEvent.of(assigned_pod(version), changes, after_pod)
    if version < POD_EVENTS_APART_SINCE:
        return (others,)
    return (others, HintedEvent.of(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL, after_pod))


def _about(terms: Terms, pod: Pod, least: int) -> bool:
    """Return whether there are terms, and at least ``least`` of them are about ``pod``.

    Like upstream, a namespace selector is matched with no labels here.
    """
    return bool(terms) and terms.count_about(labelled(pod, {})) >= least


def _after_node(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    terms = affinity_terms(pod)
    if terms.errors:
        return QueueingHint.QUEUE
    near, apart = _keys(terms.required), _keys(terms.required_anti)
    if old is None:
        return QueueingHint.when(bool(apart) or any(key in new.metadata.labels for key in near))
    before, after = old.metadata.labels, new.metadata.labels
    joins = any(key in after and before.get(key, None) != after[key] for key in near)
    leaves = any(key in before and after.get(key, None) != before[key] for key in apart)
    return QueueingHint.when(joins or leaves)


def _keys(terms: Iterable[AffinityTerm]) -> list[str]:
    return [term.topology_key for term in terms]
