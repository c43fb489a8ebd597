"""Cluster events for the scheduling queue: which event may help which pod.

A plugin that rejected a pod says here which changes may make the pod fit, so that the pod is
tried again then and not before. Mirrors ``ClusterEvent`` and ``EnqueueExtensions`` of
``k8s.io/kube-scheduler/framework`` (types.go, interface.go).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, StrEnum, auto
from typing import Any

import msgspec

from mooring.framework.objects import Pod
from mooring.framework.pod_table import PodRecord
from mooring.framework.releases import KubeVersion


class EventResource(StrEnum):
    """The resource that changed."""

    ANY = "*"
    POD = "Pod"
    """Any pod, with a node or without, and the one itself that waits."""
    ASSIGNED_POD = "AssignedPod"
    """A pod that has a node."""
    UNSCHEDULED_POD = "UnscheduledPod"
    """A pod that has none."""
    TARGET_POD = "TargetPod"
    """The pod itself that waits. Before Kubernetes 1.37 its updates are those of an UNSCHEDULED_POD."""
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    POD_GROUP = "PodGroup"
    DAEMON_SET = "DaemonSet"
    MEASUREMENT = "Measurement"
    """The values of one measurement, which plugins name in ``measures``."""
    NAMESPACE = "Namespace"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    PRIORITY_CLASS = "PriorityClass"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "ReplicaSet"
    RESOURCE_CLAIM_TEMPLATE = "ResourceClaimTemplate"
    SERVICE = "Service"
    STATEFUL_SET = "StatefulSet"
    WORKLOAD = "Workload"


POD_EVENTS_APART_SINCE = KubeVersion(1, 37)
"""Since this release plugins register for pods with a node, for those without, or for the one that waits."""


def assigned_pod(version: KubeVersion) -> EventResource:
    """Return what a plugin of a release registers for whose pods others that have a node may help."""
    return EventResource.ASSIGNED_POD if version >= POD_EVENTS_APART_SINCE else EventResource.POD


def target_pod(version: KubeVersion) -> EventResource:
    """Return what a plugin of a release registers for whose pods an update of their own may help."""
    return EventResource.TARGET_POD if version >= POD_EVENTS_APART_SINCE else EventResource.POD


class ActionType(Flag):
    """The change."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_SCALE_UP = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE_OTHER = auto()
    """A change of something that has no name here."""

    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_SCALE_UP
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of change: the resource, and the action."""

    resource: EventResource
    action: ActionType


class QueueingHint(Enum):
    """The effect of an event on a waiting pod."""

    SKIP = "skip"
    """Nothing."""

    QUEUE = "queue"
    """The pod may fit now."""

    @classmethod
    def when(cls, helps: bool) -> QueueingHint:
        """``QUEUE`` when the event ``helps``, else ``SKIP``."""
        return cls.QUEUE if helps else cls.SKIP


HintFunction = Callable[[Pod, Any, Any], QueueingHint]
"""``(pod, old, new)``: the waiting pod, the object before (None: added) and after (None: deleted)."""


@dataclass(frozen=True, slots=True)
class HintedEvent:
    """An event that a plugin registers, with the hint that finds the pods that it may help.

    Attributes:
        event: The event; its action may combine several.
        hint: Called for one pod; None = it may help every pod that the plugin rejected. A hint that raises
            counts as ``QUEUE``.
    """

    event: ClusterEvent
    hint: HintFunction | None = None

    @classmethod
    def of(cls, resource: EventResource, action: ActionType, hint: HintFunction | None = None) -> HintedEvent:
        """Return the event of ``action`` on a ``resource``, with its hint."""
        return cls(ClusterEvent(resource, action), hint)


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One change of one object.

    Attributes:
        kind: The object's kind, ``Pod``, ``Node``, ...
        old: It before; None: it is new.
        new: It after; None: it is gone.
    """

    kind: str
    old: Any
    new: Any


class PodRecordChange(msgspec.Struct, frozen=True):
    """One change of one pod by its records: to make the pods takes longer than most listeners need to find
    that it doesn't concern them.

    Attributes:
        old: The pod before; None: it is new.
        record: The pod after; as it was, when it is gone.
        gone: Whether it is.
    """

    old: PodRecord | None
    record: PodRecord
    gone: bool = False

    def whole(self) -> ObjectChange:
        """Return the same with the pods, made on each call."""
        old = None if self.old is None else self.old.pod
        return ObjectChange("Pod", old, None if self.gone else self.record.pod)


StateChange = ObjectChange | PodRecordChange
"""One change of the state: of a pod by its records."""


Listener = Callable[[StateChange], None]
"""Hears of every change, in order, under the state's lock: it may only note it down."""
