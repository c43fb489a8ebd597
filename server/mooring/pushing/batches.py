"""Changes of a state as events of PushObjects, encoded once for all replicas."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mooring.cluster.journal import Entry, NodeEntry, PodEntry
from mooring.cluster.kinds import Change, ClusterObject, Put, Remove
from mooring.recordings.encoding import encode_object
from mooring_client.v1 import cluster_service_pb2 as pb

BATCH_BYTES: Final = 1 << 20
"""Bytes of objects after which a batch ends. One object has at most 4 MiB, and a request 64 MiB."""


class EventBatch(NamedTuple):
    """Some events.

    Attributes:
        events: How many they are, 1 or more.
        data: A part of an encoded PushObjectsRequest, which has the events and nothing else. Encoded messages
            merge by being put in a row.
        made_at: ``time.monotonic`` when they were encoded.
    """

    events: int
    data: bytes
    made_at: float


def changes_of(entries: Iterable[Entry]) -> Iterator[Change]:
    """Yield the changes that make another state follow the journal's."""
    for entry in entries:
        if entry.new is not None:
            yield Put(entry.new.pod if isinstance(entry, PodEntry) else entry.new)
        elif isinstance(entry, PodEntry):
            if entry.old is not None:
                meta = entry.old.pod.metadata
                yield Remove("Pod", meta.namespace, meta.name, meta.uid)
        elif isinstance(entry, NodeEntry):
            if entry.old is not None:
                yield Remove("Node", "", entry.old.metadata.name)
        else:
            yield Remove(entry.kind.__name__, *entry.key)


def batches_of(changes: Iterable[Change]) -> Iterator[EventBatch]:
    """Yield the changes as batches; objects of one kind that follow each other are one event."""
    request, size = pb.PushObjectsRequest(), 0
    for change in changes:
        size += _add(request, change)
        if size >= BATCH_BYTES:
            yield _batch(request)
            request, size = pb.PushObjectsRequest(), 0
    if request.events:
        yield _batch(request)


def full_load(objects: Iterable[ClusterObject]) -> Iterator[EventBatch]:
    """Yield a full load."""
    yield _batch(pb.PushObjectsRequest(events=[pb.PushEvent(snapshot_begin=pb.SnapshotBegin())]))
    yield from batches_of(map(Put, objects))
    yield _batch(pb.PushObjectsRequest(events=[pb.PushEvent(snapshot_end=pb.SnapshotEnd())]))


def _add(request: pb.PushObjectsRequest, change: Change) -> int:
    """Add a change; return the bytes of its object."""
    if isinstance(change, Remove):
        gone = request.events.add().remove
        gone.kind, gone.namespace, gone.name, gone.uid = (
            change.kind,
            change.namespace,
            change.name,
            change.uid,
        )
        return 0
    kind, data = type(change.object).__name__, encode_object(change.object)
    # An event that removes something has no kind here.
    if not (request.events and request.events[-1].put.kind == kind):
        request.events.add().put.kind = kind
    request.events[-1].put.objects.add(json=data)
    return len(data)


def _batch(request: pb.PushObjectsRequest) -> EventBatch:
    return EventBatch(len(request.events), request.SerializeToString(), time.monotonic())
