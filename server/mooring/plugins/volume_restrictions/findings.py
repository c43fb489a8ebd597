"""Findings about disks and claims that other pods use."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import Finding, NodeInfo, Pod, ReasonCode
from mooring.framework.findings import pod_holder
from mooring.framework.objects import Volume
from mooring.plugins.volume_restrictions.disks import collide, is_disk


def disks_in_use(pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    """Yield a finding for each disk of the pod that pods on ``node`` keep from it."""
    for volume in filter(is_disk, pod.spec.volumes):
        users = [
            pod_holder(record, note="read-only" if _disk(other)[1] else "")
            for record in node.records
            for other in record.with_claims.spec.volumes
            if collide(volume, other)
        ]
        if not users:
            continue
        name, read_only, shared = _disk(volume)
        yield Finding(
            ReasonCode.DISK_IN_USE,
            name,
            f"disk {name} is in use on the node{', and not all pods mount it read-only' if shared else ''}",
            asked=f"{name}{', read-only' if read_only else ''}",
            pod_change="mount it read-only in all pods" if shared else "use another disk",
            node_change=f"remove {', '.join(dict.fromkeys(each.name for each in users))} from the node",
        ).held_by(dict.fromkeys(users))


def claims_in_use(names: frozenset[str], pod: Pod, node: NodeInfo) -> Iterator[Finding]:
    """Yield a finding for each of the claims ``names``, of one pod alone, that a placed pod uses."""
    pods, nodes = node.snapshot.pods, node.snapshot.nodes
    for name in sorted(names):
        key = (pod.metadata.namespace, name)
        records = [pods.records[uid] for uid in tuple(pods.claim_users.get(key, ())) if uid in pods.records]
        places = [nodes.names[record.row] for record in records]
        users = [
            pod_holder(record, node="" if place == node.name else place)
            for record, place in zip(records, places, strict=True)
        ]
        if users:
            yield Finding(
                ReasonCode.CLAIM_IN_USE,
                "/".join(key),
                f"claim {'/'.join(key)} may be used by one pod only (ReadWriteOncePod)",
                asked="/".join(key),
                pod_change="use another claim",
                node_change=f"end {', '.join(each.name for each in users)}",
            ).held_by(users)


def _disk(volume: Volume) -> tuple[str, bool, bool]:
    """Return a disk's name, whether it is mounted read-only, and whether pods may share it then."""
    gce, aws = volume.gce_persistent_disk, volume.aws_elastic_block_store
    if gce is not None:
        return gce.pd_name, gce.read_only, True
    if aws is not None:
        return aws.volume_id, aws.read_only, False
    if volume.iscsi is not None:
        return volume.iscsi.iqn, volume.iscsi.read_only, True
    rbd = volume.rbd
    return ("", False, False) if rbd is None else (f"{rbd.pool}/{rbd.image}", rbd.read_only, True)
