"""How many volumes of each CSI driver nodes have. Mirrors ``plugins/nodevolumelimits/csi.go``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mooring.framework import NodeView
from mooring.framework.object_table import ObjectTable
from mooring.framework.objects import PersistentVolume, VolumeAttachment
from mooring.plugins.node_volume_limits.attachable import Attachable, Volumes, unique_name

Attachments = Mapping[str, Volumes]
"""The volumes that VolumeAttachments name, by the name of the node."""


def attachments_of(objects: ObjectTable) -> Attachments:
    """All VolumeAttachments of persistent volumes of CSI drivers."""
    by_node: dict[str, Volumes] = {}
    for attachment in objects.all(VolumeAttachment):
        spec = attachment.spec
        volume = objects.get(PersistentVolume, spec.source.persistent_volume_name or "")
        if spec.attacher and volume is not None and volume.spec.csi is not None:
            name = unique_name(spec.attacher, volume.spec.csi.volume_handle)
            by_node.setdefault(spec.node_name, {})[name] = spec.attacher
    return by_node


class AttachedVolumes:
    """The volumes on the nodes of a view, told for one node at a time."""

    def __init__(self, nodes: NodeView, attachments: Attachments) -> None:
        self._attachments = attachments
        self._pods = nodes.snapshot.pods

    def exceed(
        self, wanted: Volumes, limits: Mapping[str, int], row: int, node_name: str, attachable: Attachable
    ) -> bool:
        """True when ``wanted`` would take a driver beyond its limit on the node.

        Raises:
            VolumeError: The volumes of a pod on the node can't be told.
        """
        held: Volumes = {}
        for pod in self._pods.with_storage_on(row):
            held |= attachable.of(pod, placed=True)
        attached = self._attachments.get(node_name, {})
        counts = Counter((attached | held).values())
        new = Counter(driver for name, driver in wanted.items() if name not in held)
        return any(driver in limits and counts[driver] + new[driver] > limits[driver] for driver in new)
