"""Keeps the pods that have storage, and the rows on which their volumes may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mooring.cluster.kinds import TabledObject
from mooring.cluster.shared_values import SharedValues, add_to, discard_from
from mooring.framework.object_table import ObjectKey
from mooring.framework.objects import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from mooring.framework.pod_table import UNPLACED, PodRecord
from mooring.framework.view import Snapshot

Index = dict[str, tuple[ObjectKey, ...]]
"""Objects by a name that they have in them. The tuples are short, and new ones come with each change."""


_INDEXED = (CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)
"""The kinds by which rows are marked."""

Put = Callable[[SharedValues[Any, dict[str, None]], Any, str], None]


class VolumeWriter:
    """Follows pods with storage and storage objects. The caller holds the tables' lock."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes, self._pods, self._objects = snapshot.nodes, snapshot.pods, snapshot.objects
        self._with_storage = SharedValues(self._pods.with_storage, dict)
        self._claim_users = SharedValues(self._pods.claim_users, dict)
        self._ephemeral_users = SharedValues(self._pods.ephemeral_users, dict)
        # The claims, and the VolumeAttachments, that name each volume.
        self._claims: Index = {}
        self._attachments: Index = {}

    def fork(self, snapshot: Snapshot) -> VolumeWriter:
        """Return the writer of ``snapshot``, a copy of the tables."""
        twin = VolumeWriter(snapshot)
        twin._with_storage = self._with_storage.fork(snapshot.pods.with_storage)
        twin._claim_users = self._claim_users.fork(snapshot.pods.claim_users)
        twin._ephemeral_users = self._ephemeral_users.fork(snapshot.pods.ephemeral_users)
        twin._claims, twin._attachments = self._claims.copy(), self._attachments.copy()
        return twin

    def attach_volumes(self, record: PodRecord) -> None:
        """Count the volumes of a pod that came to its row."""
        self._put(record, add_to)

    def detach_volumes(self, record: PodRecord) -> None:
        """Take back ``attach_volumes``."""
        self._put(record, discard_from)

    def _put(self, record: PodRecord, put: Put) -> None:
        pod, uid, row = record.kind.base.template, record.uid, record.row
        namespace = pod.metadata.namespace
        put(self._with_storage, row, uid)
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                put(self._claim_users, (namespace, volume.persistent_volume_claim.claim_name), uid)
            if volume.ephemeral is not None:
                put(self._ephemeral_users, (namespace, f"{record.name}-{volume.name}"), uid)
        self._nodes.volumes_version[row] = self._nodes.volume_changes.add(row)

    def mark_rows(self, rows: Iterable[int]) -> None:
        """Mark that what is attached to the nodes of ``rows`` may have changed; ``UNPLACED`` is skipped."""
        for row in rows:
            if row != UNPLACED:
                version = self._nodes.volume_changes.add(row)
                self._nodes.volumes_version[row] = self._nodes.storage_version[row] = version

    def index_object(self, old: TabledObject | None, new: TabledObject | None) -> None:
        """Index ``new``, which has replaced ``old`` in the object table; None = nothing."""
        if not isinstance(old or new, _INDEXED):
            return
        for index, name, key in self._entries(old):
            _discard(index, name, key)
        for index, name, key in self._entries(new):
            index[name] = (*index.get(name, ()), key)
        self.mark_rows({*self._rows(old), *self._rows(new)})

    def _entries(self, item: TabledObject | None) -> Iterator[tuple[Index, str, ObjectKey]]:
        """Yield where the indices have ``item``."""
        if isinstance(item, PersistentVolumeClaim) and item.spec.volume_name:
            yield self._claims, item.spec.volume_name, (item.metadata.namespace, item.metadata.name)
        elif isinstance(item, VolumeAttachment) and item.spec.source.persistent_volume_name:
            key = item.metadata.namespace, item.metadata.name
            yield self._attachments, item.spec.source.persistent_volume_name, key
            yield self._objects.attachments, item.spec.node_name, key

    def _rows(self, item: TabledObject | None) -> Iterator[int]:
        """Yield the rows for which it matters what ``item`` is."""
        if isinstance(item, PersistentVolumeClaim):
            yield from self._rows_of_claim((item.metadata.namespace, item.metadata.name))
        elif isinstance(item, PersistentVolume):
            for key in self._claims.get(item.metadata.name, ()):
                yield from self._rows_of_claim(key)
            for _, name in self._attachments.get(item.metadata.name, ()):
                yield from self._rows(self._objects.get(VolumeAttachment, name))
        elif isinstance(item, VolumeAttachment):
            yield self._nodes.index.get(item.spec.node_name, UNPLACED)
        elif isinstance(item, CSINode):
            yield self._nodes.index.get(item.metadata.name, UNPLACED)
        elif isinstance(item, StorageClass):
            yield from self._pods.with_storage

    def _rows_of_claim(self, key: ObjectKey) -> Iterator[int]:
        for users in (self._pods.claim_users, self._pods.ephemeral_users):
            for uid in users.get(key, ()):
                yield self._pods.records[uid].row


def _discard(index: Index, name: str, key: ObjectKey) -> None:
    left = tuple(other for other in index[name] if other != key)
    if left:
        index[name] = left
    else:
        del index[name]
