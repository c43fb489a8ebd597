"""Disks that pods name themselves, without a claim, and which of them exclude one another."""

from __future__ import annotations

from mooring.framework.objects import Volume


def is_disk(volume: Volume) -> bool:
    """Return whether the volume is of a kind of disk that may not be used twice."""
    disks = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi)
    return any(disk is not None for disk in disks)


def collide(one: Volume, two: Volume) -> bool:
    """Return whether both are the same disk, and not shared for reading. A volume is of one kind alone."""
    if one.gce_persistent_disk is not None and two.gce_persistent_disk is not None:
        gce, other_gce = one.gce_persistent_disk, two.gce_persistent_disk
        return gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only)
    if one.aws_elastic_block_store is not None and two.aws_elastic_block_store is not None:
        return one.aws_elastic_block_store.volume_id == two.aws_elastic_block_store.volume_id
    if one.iscsi is not None and two.iscsi is not None:
        return one.iscsi.iqn == two.iscsi.iqn and not (one.iscsi.read_only and two.iscsi.read_only)
    if one.rbd is None or two.rbd is None or (one.rbd.read_only and two.rbd.read_only):
        return False
    same_image = (one.rbd.pool, one.rbd.image) == (two.rbd.pool, two.rbd.image)
    return same_image and not set(one.rbd.monitors).isdisjoint(two.rbd.monitors)
