"""The scheduling queue's events for changes of objects.

Mirrors ``pkg/scheduler/framework/events.go`` (the changed parts of a pod or a node), ``eventhandlers.go``
(the queue's events) and ``MatchClusterEvents`` of ``framework/types.go``. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeGuard

from mooring.framework.cluster_events import (
    POD_EVENTS_APART_SINCE,
    ActionType,
    ClusterEvent,
    EventResource,
    ObjectChange,
    PodRecordChange,
    StateChange,
)
from mooring.framework.objects import DeviceTaintRule, Node, Pod
from mooring.framework.pod_requests import ResourceRules, pod_amounts
from mooring.framework.quantity import Quantity, millis, parse_quantity
from mooring.framework.releases import NEWEST, Gates, KubeVersion

_RESOURCES = {resource.rpartition("/")[2]: resource for resource in EventResource}
"""The resources by the kinds of their objects. Those of pods and nodes have events of their own."""

_PODS = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD)
_NEWEST_GATES = Gates(NEWEST)
_GANGS_GATE = "GenericWorkload"

_SCALE_UP_SINCE = KubeVersion(1, 37)
"""Since this release a pod whose requests grew has an event of its own."""


def as_scheduler_sees(change: ObjectChange) -> ObjectChange | None:
    """Return the change as hints get it; None when the scheduler doesn't see it.

    A pod that finished is gone. A pod that got its node was added to it: it was not there before.
    """
    if change.kind != "Pod":
        return change
    old = None if change.old is None or change.old.finished else change.old
    new = None if change.new is None or change.new.finished else change.new
    if old is None and new is None:
        return None
    if old is not None and new is not None and not old.spec.node_name and new.spec.node_name:
        old = None
    return ObjectChange(change.kind, old, new)


POD_LEFT = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
"""A pod has left its node."""

POD_PLACED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
"""A pod is on a node, which it was not before."""


def is_placement(change: StateChange) -> TypeGuard[PodRecordChange]:
    """Return whether the only event of a change is ``POD_PLACED``."""
    if not isinstance(change, PodRecordChange) or change.gone or not change.record.node_name:
        return False
    old = change.old
    return (old is None or not old.node_name) and not change.record.kind.base.finished


def events_of(change: ObjectChange, gates: Gates = _NEWEST_GATES) -> tuple[ClusterEvent, ...]:
    """Return the events for the queue, each with one action.

    An UPDATE_OTHER of a pod means that nothing changed that has a name of its own. Updates of a pod without a
    node concern that pod alone; all other events concern every pod that waits. The change comes from
    ``as_scheduler_sees``.
    """
    if change.kind == "Pod":
        return tuple(_pod_events(change.old, change.new, gates))
    if change.kind == "Node":
        actions = _node_actions(change.old, change.new, gates)
        return tuple(ClusterEvent(EventResource.NODE, action) for action in dict.fromkeys(actions))
    if change.kind == "DeviceTaintRule":
        return _taint_events(change.old, change.new, gates)
    resource = _RESOURCES.get(change.kind)
    if resource is None:
        return ()
    action = _basic_action(change) or ActionType.UPDATE_OTHER
    return (ClusterEvent(resource, action),)


def nomination_ended(old: Pod, new: Pod | None) -> bool:
    """Return whether a pod without a node counted on the node that it was nominated for, and no longer does.

    To pods whose priority isn't above its own that is as if it had been deleted from there: an
    ASSIGNED_POD, DELETE with ``(old, None)``.
    """
    nominated = old.status.nominated_node_name
    if not nominated or old.spec.node_name:
        return False
    if new is None:
        return True
    return not new.spec.node_name and new.status.nominated_node_name != nominated


def concerns(registered: ClusterEvent, event: ClusterEvent) -> bool:
    """Return whether a registration for ``registered`` includes ``event``, one of ``events_of``."""
    return bool(registered.action & event.action) and (
        registered.resource in (EventResource.ANY, event.resource)
        or (registered.resource is EventResource.POD and event.resource in _PODS)
    )


def _taint_events(
    old: DeviceTaintRule | None, new: DeviceTaintRule | None, gates: Gates
) -> tuple[ClusterEvent, ...]:
    """Return what a rule's change is: one of slices, whose devices it is about.

    kube-scheduler notifies plugins of a rule's slices; here a rule may have none.
    """
    same = old is not None and new is not None and old.spec == new.spec
    if same or not gates.enabled("DRADeviceTaintRules"):
        return ()
    return (ClusterEvent(EventResource.RESOURCE_SLICE, ActionType.UPDATE_OTHER),)


def _basic_action(change: ObjectChange) -> ActionType | None:
    if change.old is None:
        return ActionType.ADD
    return ActionType.DELETE if change.new is None else None


def _pod_events(old: Pod | None, new: Pod | None, gates: Gates) -> Iterator[ClusterEvent]:
    pod = new or old
    if pod is None:
        return
    assigned = bool(pod.spec.node_name)
    resource = EventResource.ASSIGNED_POD if assigned else EventResource.UNSCHEDULED_POD
    if old is not None and new is not None:
        if not assigned and gates.version >= POD_EVENTS_APART_SINCE:
            resource = EventResource.TARGET_POD
        actions = tuple(_pod_actions(old, new, gates)) or (ActionType.UPDATE_OTHER,)
        yield from (ClusterEvent(resource, action) for action in actions)
    elif old is None:
        if assigned or gates.enabled(_GANGS_GATE):
            yield ClusterEvent(resource, ActionType.ADD)
    elif assigned:
        yield ClusterEvent(resource, ActionType.DELETE)


def _pod_actions(old: Pod, new: Pod, gates: Gates) -> Iterator[ActionType]:
    if old.metadata.labels != new.metadata.labels:
        yield ActionType.UPDATE_POD_LABEL
    yield from _scaling(old, new, gates)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        yield ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    # The API server lets tolerations be added, never changed: comparing their number is enough.
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        yield ActionType.UPDATE_POD_TOLERATION
    if gates.enabled("DynamicResourceAllocation") and _claims_changed(old, new):
        yield ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM


def _scaling(old: Pod, new: Pod, gates: Gates) -> Iterator[ActionType]:
    rules = replace(ResourceRules.of(gates), pod_level=True)
    before, after = pod_amounts(old, rules), pod_amounts(new, rules)
    if _has_less(after, before):
        yield ActionType.UPDATE_POD_SCALE_DOWN
    if gates.version >= _SCALE_UP_SINCE and _has_less(before, after):
        yield ActionType.UPDATE_POD_SCALE_UP


def _has_less(amounts: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Return whether an amount is missing or less than the other."""
    return any(name not in amounts or millis(nanos) > millis(amounts[name]) for name, nanos in others.items())


def _claims_changed(old: Pod, new: Pod) -> bool:
    before, after = old.status, new.status
    return (
        before.resource_claim_statuses != after.resource_claim_statuses
        or before.extended_resource_claim_status != after.extended_resource_claim_status
    )


def _node_actions(old: Node | None, new: Node | None, gates: Gates) -> Iterator[ActionType]:
    if old is None or new is None:
        yield ActionType.ADD if old is None else ActionType.DELETE
        return
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield ActionType.UPDATE_NODE_TAINT
    if _differ(old.status.allocatable, new.status.allocatable):
        yield ActionType.UPDATE_NODE_ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        yield ActionType.UPDATE_NODE_LABEL
    if old.spec.taints != new.spec.taints:
        yield ActionType.UPDATE_NODE_TAINT
    if _conditions(old) != _conditions(new):
        yield ActionType.UPDATE_NODE_CONDITION
    if old.metadata.annotations != new.metadata.annotations:
        yield ActionType.UPDATE_NODE_ANNOTATION
    features_count = gates.enabled("NodeDeclaredFeatures")
    if features_count and old.status.declared_features != new.status.declared_features:
        yield ActionType.UPDATE_NODE_DECLARED_FEATURE


def _differ(old: Mapping[str, Quantity], new: Mapping[str, Quantity]) -> bool:
    """Return whether the amounts differ, however they are spelt."""
    return old.keys() != new.keys() or any(
        parse_quantity(text) != parse_quantity(new[name]) for name, text in old.items() if text != new[name]
    )


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


@cache
def label_of(event: ClusterEvent, version: KubeVersion = NEWEST) -> str:
    """Return the event as one word for metrics and logs, such as ``NodeUpdateNodeTaint``."""
    resource = event.resource.value
    if event.resource is EventResource.UNSCHEDULED_POD and version < POD_EVENTS_APART_SINCE:
        resource = "UnschedulablePod"
    action = "Update" if event.action is ActionType.UPDATE_OTHER else (event.action.name or "").title()
    return f"{resource}{action.replace('_', '')}"
