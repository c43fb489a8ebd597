"""The kinds of objects that the state keeps, where the API has them, and how each is identified."""

from __future__ import annotations

import msgspec

from mooring.cluster.pod_parts import PodParts
from mooring.framework.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DaemonSet,
    DeviceClass,
    DeviceTaintRule,
    Measurement,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
    Workload,
)

TabledObject = (
    CSIDriver
    | CSINode
    | CSIStorageCapacity
    | DaemonSet
    | DeviceClass
    | DeviceTaintRule
    | Measurement
    | Namespace
    | PersistentVolume
    | PersistentVolumeClaim
    | PodDisruptionBudget
    | PodGroup
    | PriorityClass
    | ReplicaSet
    | ReplicationController
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | Service
    | StatefulSet
    | StorageClass
    | VolumeAttachment
    | Workload
)
"""The kinds in the object table."""

ClusterObject = Node | Pod | TabledObject
"""The kinds that a source may deliver."""

_CORE = ("v1",)
_APPS = ("apps/v1", "apps/v1beta2", "apps/v1beta1", "extensions/v1beta1")
_STORAGE = ("storage.k8s.io/v1", "storage.k8s.io/v1beta1", "storage.k8s.io/v1alpha1")
_PRIORITY = ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha1")
_GROUPS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2")
_DEVICES = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2")

API_VERSIONS: dict[type[ClusterObject], tuple[str, ...]] = {
    CSIDriver: _STORAGE,
    CSINode: _STORAGE,
    CSIStorageCapacity: _STORAGE,
    DaemonSet: _APPS,
    DeviceClass: (*_DEVICES, "resource.k8s.io/v1beta1"),
    DeviceTaintRule: _DEVICES,
    Namespace: _CORE,
    Node: _CORE,
    PersistentVolume: _CORE,
    PersistentVolumeClaim: _CORE,
    Pod: _CORE,
    PodDisruptionBudget: ("policy/v1", "policy/v1beta1"),
    PodGroup: _GROUPS,
    PriorityClass: _PRIORITY,
    ReplicaSet: _APPS,
    ReplicationController: _CORE,
    ResourceClaim: _DEVICES,
    ResourceClaimTemplate: _DEVICES,
    ResourceSlice: _DEVICES,
    Service: _CORE,
    StatefulSet: _APPS,
    StorageClass: _STORAGE,
    VolumeAttachment: _STORAGE,
    Workload: _GROUPS,
}
"""The API versions in which each kind has the fields that are read here, the newest first."""

KINDS: dict[str, type[ClusterObject]] = {kind.__name__: kind for kind in API_VERSIONS}
"""The kinds by their API name."""

_OF_FILES: dict[str, tuple[str, ...]] = {
    "DaemonSet": _APPS,
    "Deployment": _APPS,
    "Job": ("batch/v1",),
    "LimitRange": _CORE,
    "RuntimeClass": ("node.k8s.io/v1", "node.k8s.io/v1beta1"),
}
"""The API versions of kinds that are read from files only: the state keeps the objects made from them."""

_OLD_DEVICES = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")
"""Older versions of devices and claims in files, which are converted to the newest one."""


def kind_in_files(kind: str, api_version: str) -> str:
    """Return ``kind`` if a file's object has the API's own kind of that name; otherwise "".

    Many groups have a Job or a Node of their own. An object that names no version is the API's.
    """
    struct = KINDS.get(kind)
    versions = _OF_FILES.get(kind) if struct is None else API_VERSIONS[struct]
    if versions is None:
        return ""
    old = _OLD_DEVICES if versions[0] in _DEVICES else ()
    return kind if not api_version or api_version in (*versions, *old) else ""


NAMESPACED: frozenset[type[ClusterObject]] = frozenset(
    {
        CSIStorageCapacity,
        DaemonSet,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        PodGroup,
        ReplicaSet,
        ReplicationController,
        ResourceClaim,
        ResourceClaimTemplate,
        Service,
        StatefulSet,
        Workload,
    }
)
"""The kinds whose names are unique in a namespace only."""


class Put(msgspec.Struct, frozen=True):
    """The object is there, or is now like this."""

    object: ClusterObject


class Remove(msgspec.Struct, frozen=True):
    """The object is gone. With a ``uid``, one of that name with another UID stays."""

    kind: str
    namespace: str
    name: str
    uid: str = ""


Change = Put | Remove
"""One step of a source."""


class PutPod(msgspec.Struct, frozen=True):
    """``Put`` of a pod in parts, as the API server's watch is read."""

    pod: PodParts


def kept_kind(kind: str, api_version: str = "") -> type[ClusterObject] | None:
    """Return the struct of a kind; None when the state doesn't keep it, or not as ``api_version`` has it.

    Groups use the same words for kinds: only the API's own are meant. "" = the kind's newest version.
    """
    struct = KINDS.get(kind)
    if struct is None or (api_version and api_version not in API_VERSIONS[struct]):
        return None
    return struct


def default_uid(kind: str, namespace: str, name: str) -> str:
    """Return the UID of an object that came without one: the same every time."""
    return f"{kind.lower()}/{namespace}/{name}" if namespace else f"{kind.lower()}/{name}"


def identity(namespace: str, name: str) -> str:
    """Return an object's identity within its kind: namespace, if any, and name, which has no slash."""
    return f"{namespace}/{name}" if namespace else name
