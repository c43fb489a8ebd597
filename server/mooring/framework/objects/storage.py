"""storage.k8s.io: storage classes and the objects of CSI drivers."""

from __future__ import annotations

from msgspec import field

from mooring.framework.objects.meta import Int32, LabelSelector, Object, ObjectMeta
from mooring.framework.objects.volumes import PersistentVolumeSpec
from mooring.framework.quantity import Quantity


class TopologySelectorLabelRequirement(Object, frozen=True):
    """A node label that must have one of ``values``."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Object, frozen=True):
    """Conditions on a node's labels that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Object, frozen=True):
    """How volumes are provisioned; ``volume_binding_mode`` is Immediate or WaitForFirstConsumer."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Object, frozen=True):
    """How many volumes of a driver a node can have; None = any number."""

    count: Int32 | None = None


class CSINodeDriver(Object, frozen=True):
    """A CSI driver on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Object, frozen=True):
    """The CSI drivers on a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, frozen=True):
    """The CSI drivers on the node of the same name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Object, frozen=True):
    """A driver's requirements on the cluster."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Object, frozen=True):
    """A CSI driver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Object, frozen=True):
    """The capacity that a driver has for a class on the nodes of ``node_topology``; None selects no node."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Object, frozen=True):
    """The attached volume; one of the two is set."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Object, frozen=True):
    """Which driver (``attacher``) attaches what where."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Object, frozen=True):
    """Whether the volume is attached."""

    attached: bool = False


class VolumeAttachment(Object, frozen=True):
    """A volume that is, or is to be, attached to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
