"""The kinds that the fake serves, written down here so that a wrong plural of ours is found."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind as the API has it."""

    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def group_resource(self) -> str:
        """As rejections name it: ``pods``, ``leases.coordination.k8s.io``."""
        group, slash, _ = self.version.partition("/")
        return f"{self.plural}.{group}" if slash else self.plural

    @property
    def type_meta(self) -> dict[str, str]:
        """Return the kind and API version that stored objects begin with."""
        return {"kind": self.kind, "apiVersion": self.version}


KINDS = (
    Kind("v1", "bindings", "Binding", True),
    Kind("v1", "events", "Event", True),
    Kind("v1", "namespaces", "Namespace", False),
    Kind("v1", "nodes", "Node", False),
    Kind("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True),
    Kind("v1", "persistentvolumes", "PersistentVolume", False),
    Kind("v1", "pods", "Pod", True),
    Kind("v1", "replicationcontrollers", "ReplicationController", True),
    Kind("v1", "resourcequotas", "ResourceQuota", True),
    Kind("v1", "secrets", "Secret", True),
    Kind("v1", "services", "Service", True),
    Kind("apps/v1", "daemonsets", "DaemonSet", True),
    Kind("apps/v1", "replicasets", "ReplicaSet", True),
    Kind("apps/v1", "statefulsets", "StatefulSet", True),
    Kind("coordination.k8s.io/v1", "leases", "Lease", True),
    Kind("events.k8s.io/v1", "events", "Event", True),
    Kind("monitoring.coreos.com/v1", "podmonitors", "PodMonitor", True),
    Kind("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", True),
    Kind("resource.k8s.io/v1", "deviceclasses", "DeviceClass", False),
    Kind("resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", False),
    Kind("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", True),
    Kind("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate", True),
    Kind("resource.k8s.io/v1", "resourceslices", "ResourceSlice", False),
    Kind("resource.k8s.io/v1beta2", "resourceclaims", "ResourceClaim", True),
    Kind("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", False),
    Kind("scheduling.k8s.io/v1alpha2", "podgroups", "PodGroup", True),
    Kind("scheduling.k8s.io/v1alpha2", "workloads", "Workload", True),
    Kind("storage.k8s.io/v1", "csidrivers", "CSIDriver", False),
    Kind("storage.k8s.io/v1", "csinodes", "CSINode", False),
    Kind("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", True),
    Kind("storage.k8s.io/v1", "storageclasses", "StorageClass", False),
    Kind("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", False),
)

DEFAULT_OFF = frozenset({"monitoring.coreos.com/v1", "resource.k8s.io/v1beta2", "scheduling.k8s.io/v1alpha2"})
"""API versions that an API server has only if a flag enables them."""
