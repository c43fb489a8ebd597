"""The spread constraints that hold for a pod, its own or the default ones, with compiled selectors.

Mirrors ``plugins/podtopologyspread/common.go`` and ``DefaultSelector`` in ``plugins/helper/spread.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mooring.framework import Int64s, ObjectTable, Pod
from mooring.framework.deadline import timely
from mooring.framework.label_selector import LabelMatcher, SelectorError, compiled, having
from mooring.framework.objects import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    TopologySpreadConstraint,
)
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_classes import TERMINATING, ClassKey, PodClasses, labels_of_class

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)
"""kube-scheduler's constraints for pods without their own that belong to a service or a controller."""


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint, ready for use.

    Attributes:
        max_skew: How many more pods than the emptiest domain a domain may have.
        topology_key: The node label whose value is a domain.
        selector: The pods that count.
        min_domains: With fewer domains the emptiest one counts as empty.
        honors_affinity: Nodes that the pod's node affinity excludes don't count.
        honors_taints: Nodes with taints that the pod doesn't tolerate don't count.
    """

    max_skew: int
    topology_key: str
    selector: LabelMatcher
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def counts(self, namespace: str, key: ClassKey) -> bool:
        """Return whether the pods of a class count for a pod of ``namespace``.

        Pods that are being deleted don't, nor does any pod for an empty selector.
        """
        if key[0] != namespace or key[1] == TERMINATING or self.selector.empty or self.selector.lacks(key):
            return False
        return self.selector.matches(labels_of_class(key))

    def by_row(self, namespace: str, classes: PodClasses, capacity: int) -> Int64s:
        """int64[capacity]: how many pods that it ``counts`` each row has."""
        if self.selector.empty:
            return np.zeros(capacity, np.int64)
        return classes.by_row(self.selector, (namespace,), capacity, terminating=False)


def own_constraints(pod: Pod, action: str, *, reads_keys: bool) -> tuple[SpreadConstraint, ...]:
    """Return the pod's own constraints of one action, ``HARD`` or ``SOFT``; with ``reads_keys`` their
    ``matchLabelKeys`` count. Raises SelectorError, with the path, if a selector can't be used.
    """
    found = []
    for index, constraint in enumerate(timely(pod.spec.topology_spread_constraints)):
        if constraint.when_unsatisfiable != action:
            continue
        try:
            selector = compiled(constraint.label_selector)
        except SelectorError as error:
            path = f"spec.topologySpreadConstraints[{index}].labelSelector"
            raise SelectorError(f"{path}: {error}") from error
        labels = pod.metadata.labels
        keys = [key for key in constraint.match_label_keys if reads_keys and key in labels]
        found.append(_constraint(constraint, selector.narrowed(having({key: labels[key] for key in keys}))))
    return tuple(found)


def default_constraints(
    defaults: Sequence[TopologySpreadConstraint], action: str, pod: Pod, objects: ObjectTable
) -> tuple[SpreadConstraint, ...]:
    """Those of ``defaults`` with this action, over the pods of the pod's services and its controller."""
    chosen = [constraint for constraint in defaults if constraint.when_unsatisfiable == action]
    selector = siblings(pod, objects) if chosen else LabelMatcher()
    return () if selector.empty else tuple(_constraint(constraint, selector) for constraint in chosen)


def siblings(pod: Pod, objects: ObjectTable) -> LabelMatcher:
    """Return the selectors of the pod's services and controller, combined; empty without any."""
    labels = pod.metadata.labels.items()
    wanted: dict[str, str] = {}
    for service in objects.in_namespace(Service, pod.metadata.namespace):
        if service.spec.selector.items() <= labels:
            wanted |= service.spec.selector
    owner = pod.metadata.controller
    if owner is None:
        return having(wanted)
    if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
        controller = objects.get(ReplicationController, owner.name, pod.metadata.namespace)
        return having(wanted | controller.spec.selector if controller else wanted)
    return having(wanted).narrowed(_owner_selector(owner.api_version, owner.kind, owner.name, pod, objects))


def _owner_selector(api_version: str, kind: str, name: str, pod: Pod, objects: ObjectTable) -> LabelMatcher:
    """Return the selector of a controller of ``apps/v1``; empty when it is not known."""
    kinds: dict[str, type[ReplicaSet | StatefulSet]] = {"ReplicaSet": ReplicaSet, "StatefulSet": StatefulSet}
    if api_version != "apps/v1" or kind not in kinds:
        return LabelMatcher()
    owner = objects.get(kinds[kind], name, pod.metadata.namespace)
    try:
        selector = compiled(owner.spec.selector) if owner is not None else LabelMatcher()
    except SelectorError:
        return LabelMatcher()
    return replace(selector, nothing=False)


def _constraint(constraint: TopologySpreadConstraint, selector: LabelMatcher) -> SpreadConstraint:
    return SpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in (None, "Honor"),
        honors_taints=constraint.node_taints_policy == "Honor",
    )
