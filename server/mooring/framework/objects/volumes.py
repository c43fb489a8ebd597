"""v1.PersistentVolume and v1.PersistentVolumeClaim: the fields that scheduling reads."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Int32, LabelSelector, Object, ObjectMeta
from mooring.framework.objects.pod import NodeSelector
from mooring.framework.objects.pod_volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from mooring.framework.quantity import Quantity


class VolumeReference(Object, frozen=True):
    """An object that another one points to."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""


class CSIPersistentVolumeSource(Object, frozen=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = field(default_factory=dict)


class RBDPersistentVolumeSource(Object, frozen=True):
    """A Ceph RBD image."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class ISCSIPersistentVolumeSource(Object, frozen=True):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class CinderPersistentVolumeSource(Object, frozen=True):
    """An OpenStack disk."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class AzureFilePersistentVolumeSource(Object, frozen=True):
    """An Azure file share; None as ``secret_namespace`` = the claim's."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False
    secret_namespace: str | None = None


class LocalVolumeSource(Object, frozen=True):
    """A directory or disk of one node."""

    path: str = ""


class HostPathVolumeSource(Object, frozen=True):
    """A path of whichever node the pod is on."""

    path: str = ""


class VolumeNodeAffinity(Object, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Object, frozen=True):
    """A volume's source; all fields are None for sources that scheduling never reads."""

    capacity: dict[str, Quantity] = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: VolumeReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    local: LocalVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None


class PersistentVolumeStatus(Object, frozen=True):
    """``phase`` is Pending, Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(Object, frozen=True):
    """A volume of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class VolumeResourceRequirements(Object, frozen=True):
    """How large a volume must be; ``requests["storage"]`` counts."""

    requests: dict[str, Quantity] = field(default_factory=dict)
    limits: dict[str, Quantity] = field(default_factory=dict)


class PersistentVolumeClaimSpec(Object, frozen=True):
    """The requested volume; None as ``storage_class_name`` = the default class, "" = no class."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Object, frozen=True):
    """``phase`` is Pending, Bound or Lost."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, Quantity] = field(default_factory=dict)
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(Object, frozen=True):
    """A request for a volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()
