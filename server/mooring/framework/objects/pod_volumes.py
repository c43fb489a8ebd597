"""A pod's volumes, as far as scheduling or the drain of a node reads them."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Int32, Object


class PersistentVolumeClaimVolumeSource(Object, frozen=True):
    """A volume from a claim in the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDiskVolumeSource(Object, frozen=True):
    """A GCE disk."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Object, frozen=True):
    """An AWS EBS volume."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class RBDVolumeSource(Object, frozen=True):
    """A Ceph RBD image."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class ISCSIVolumeSource(Object, frozen=True):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class CinderVolumeSource(Object, frozen=True):
    """An OpenStack disk."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class AzureDiskVolumeSource(Object, frozen=True):
    """An Azure disk; ``kind`` is Shared, Dedicated or Managed, None = Shared."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    read_only: bool | None = None
    kind: str | None = None


class AzureFileVolumeSource(Object, frozen=True):
    """An Azure file share."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(Object, frozen=True):
    """A vSphere disk."""

    volume_path: str = ""


class PortworxVolumeSource(Object, frozen=True):
    """A Portworx volume."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class CSIVolumeSource(Object, frozen=True):
    """An inline CSI volume."""

    driver: str = ""


class ImageVolumeSource(Object, frozen=True):
    """A volume made of an image."""

    reference: str = ""


class EmptyDirVolumeSource(Object, frozen=True):
    """A directory of the node that is deleted with the pod."""


class EphemeralVolumeSource(Object, frozen=True):
    """A volume whose claim is made with the pod."""


class Volume(Object, frozen=True):
    """A pod's volume, of a kind that is read here; pods that are decoded are without the others."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None

    @property
    def is_storage(self) -> bool:
        """True for a claim or a disk, which other pods may want too or which take room on a node."""
        return (
            self.persistent_volume_claim is not None
            or self.ephemeral is not None
            or self.gce_persistent_disk is not None
            or self.aws_elastic_block_store is not None
            or self.rbd is not None
            or self.iscsi is not None
            or self.cinder is not None
            or self.azure_file is not None
            or self.vsphere_volume is not None
            or self.azure_disk is not None
            or self.portworx_volume is not None
        )
