"""How long a verdict on a pod and a node stays true."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from mooring.framework.objects import Pod
from mooring.framework.recent_changes import next_version
from mooring.framework.view import Snapshot
from mooring.kernels.arrays import Int64s

LikePods = tuple[bytes, int]
"""Pods that are alike but for their names, while no object that is neither node nor pod changes."""

_encode = msgspec.msgpack.Encoder().encode


class AsOf(msgspec.Struct, frozen=True):
    """The versions of a pod and the state before anything was read; the data read may be newer, never older.

    Attributes:
        like: The pods that are like the pod.
        versions: int64[capacity], a number for each row that changes as ``NodeTable.row_version`` does. The
            node nominated for the pod has one of its own, since the pod's room there counts for others alone.
    """

    like: LikePods
    versions: Int64s


def as_of_now(pod: Pod, snapshot: Snapshot) -> AsOf:
    """Return what ``pod`` and the state are like."""
    versions = snapshot.nodes.row_version.copy()
    newest = max((kind.changes.version for kind in tuple(snapshot.objects.kinds.values())), default=0)
    like = replace(pod.metadata, name="", uid="", resource_version="", creation_timestamp=None)
    known = snapshot.pods.get(pod.metadata.uid)
    if known is not None and not known.node_name:
        row = snapshot.nodes.index.get(known.kind.base.template.status.nominated_node_name)
        if row is not None and row < len(versions):
            versions[row] = -next_version()
    return AsOf((_encode((like, pod.spec, pod.status)), newest), versions)
