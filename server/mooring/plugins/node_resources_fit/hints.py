"""Queueing hints for pods that NodeResourcesFit rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mooring.framework import (
    ActionType,
    EventResource,
    Handle,
    HintedEvent,
    KubeVersion,
    Node,
    Pod,
    QueueingHint,
)
from mooring.framework.cluster_events import POD_EVENTS_APART_SINCE
from mooring.framework.objects import DeviceClass
from mooring.framework.pod_requests import ResourceRules, pod_amounts
from mooring.framework.resources import PODS, allocatable, counted_amounts, is_scalar_resource
from mooring.plugins.dynamic_resources.extended_resources import resource_names

_DEVICES_SINCE = KubeVersion(1, 35)
_PUT = ActionType.ADD | ActionType.UPDATE
_Amounts = Mapping[str, int]


def events(handle: Handle) -> tuple[HintedEvent, ...]:
    """Return the events of a release and its feature gates."""
    return _Hints(handle).events()


class _Hints:
    """The hints with their inputs."""

    def __init__(self, handle: Handle) -> None:
        gates = handle.gates
        self._handle = handle
        self._resizing = gates.enabled("InPlacePodVerticalScaling")
        self._devices = handle.kube_version >= _DEVICES_SINCE and gates.enabled("DRAExtendedResource")
        self._placed = replace(ResourceRules.of(gates), pod_level=True)
        self._waiting = replace(ResourceRules.of(gates), resizing=False)

    def events(self) -> tuple[HintedEvent, ...]:
        found = [
            *self._pod_events(),
            HintedEvent.of(
                EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE, self._after_node
            ),
        ]
        if self._devices:
            found.append(HintedEvent.of(EventResource.DEVICE_CLASS, _PUT, _after_device_class))
        return tuple(found)

    def _pod_events(self) -> Iterator[HintedEvent]:
        shrinking = ActionType.UPDATE_POD_SCALE_DOWN if self._resizing else ActionType(0)
        if self._handle.kube_version < POD_EVENTS_APART_SINCE:
            yield HintedEvent.of(EventResource.POD, ActionType.DELETE | shrinking, self._after_pod)
            return
        yield HintedEvent.of(EventResource.ASSIGNED_POD, ActionType.DELETE, self._after_pod)
        if self._resizing:
            yield HintedEvent.of(EventResource.ASSIGNED_POD, shrinking, self._after_pod)
            yield HintedEvent.of(EventResource.TARGET_POD, shrinking, self._after_pod)
        if self._handle.gates.enabled("InPlacePodVerticalScalingSchedulerPreemption"):
            # They help pods that wait on their node for a larger size, which are not queued here.
            for resource in (EventResource.ASSIGNED_POD, EventResource.TARGET_POD):
                yield HintedEvent.of(resource, ActionType.UPDATE_POD_SCALE_UP, _never)

    def _after_pod(self, pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
        if new is None:
            return QueueingHint.when(bool(old.spec.node_name or old.status.nominated_node_name))
        if new.metadata.uid == pod.metadata.uid:
            return QueueingHint.QUEUE
        return QueueingHint.when(bool(new.spec.node_name) and self._gives_back(pod, old, new))

    def _gives_back(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Return whether the other pod now takes less of something that the pod asks for."""
        wanted = [name for name, amount in pod_amounts(pod, self._placed).items() if amount and name != PODS]
        before = counted_amounts(pod_amounts(old, self._placed))
        after = counted_amounts(pod_amounts(new, self._placed))
        return any(before.get(name, 0) > after.get(name, 0) for name in wanted)

    def _after_node(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        counted = counted_amounts(pod_amounts(pod, self._waiting))
        wanted = {name: amount for name, amount in counted.items() if amount and name != PODS}
        room = allocatable(new.status.allocatable)
        if room.get(PODS, 0) < 1 or any(
            amount > room.get(name, 0) and not self._is_device(name, room) for name, amount in wanted.items()
        ):
            return QueueingHint.SKIP
        if old is None:
            return QueueingHint.QUEUE
        before = allocatable(old.status.allocatable)
        return QueueingHint.when(
            room.get(PODS, 0) > before.get(PODS, 0)
            or any(room.get(name, 0) > before.get(name, 0) or self._is_device(name, room) for name in wanted)
        )

    def _is_device(self, name: str, room: _Amounts) -> bool:
        """Return whether DynamicResources looks after the resource, because the node doesn't count it."""
        if not self._devices or not is_scalar_resource(name) or room.get(name, 0) > 0:
            return False
        classes = self._handle.snapshot().objects.all(DeviceClass)
        return any(name in resource_names(device_class) for device_class in classes)


def _never(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    return QueueingHint.SKIP


def _after_device_class(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> QueueingHint:
    own = new.spec.extended_resource_name
    if old is not None and (old.spec.extended_resource_name or "") == (own or ""):
        return QueueingHint.SKIP
    names = resource_names(new) if old is None else (own,)
    wanted = pod_amounts(pod, ResourceRules(resizing=False))
    return QueueingHint.when(any(name in wanted for name in names))
