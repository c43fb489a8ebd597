"""Changes of the state and decisions as entries of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from mooring.cluster.journal import Entry, NodeEntry, PodEntry
from mooring.cluster.kinds import ClusterObject
from mooring.decisions.records import Record
from mooring.framework.objects import Node, Pod
from mooring.framework.objects.meta import shown_annotations
from mooring.framework.pod_table import UNPLACED, PodKind, PodRecord
from mooring_client.recording.v1 import recording_pb2 as pb
from mooring_client.v1 import decision_service_pb2 as decision_pb

ObjectT = TypeVar("ObjectT", bound=ClusterObject)

MOST_TEMPLATES = 1 << 16
"""Templates that are known by number; when there are more, they are written again."""

encode_object = msgspec.json.Encoder(enc_hook=dict).encode
"""Returns an object as JSON, as the API server would send it."""

WriteDecision = Callable[[decision_pb.Decision, int, Record], None]
"""Writes a numbered decision to an empty message."""


class EntryEncoder:
    """Makes the entries of one file. For one thread.

    Args:
        write_decision: Writes a decision to its message.
        annotations: Write the values of all annotations, not just of those that scheduling may read.
    """

    def __init__(self, write_decision: WriteDecision, *, annotations: bool = False) -> None:
        self._write_decision = write_decision
        self._annotations = annotations
        self._templates: dict[int, tuple[PodKind, int]] = {}
        self._last_template = 0

    def change(self, entry: Entry, time: int, version: int) -> Iterator[pb.RecordingEntry]:
        """Yield what a change of the state is: one entry, after that of a template that is new."""
        if isinstance(entry, PodEntry):
            if entry.new is not None:
                yield from self.pod(entry.new, time, version)
            else:
                removal = pb.RemovalEntry(kind="Pod", uid=entry.uid)
                yield pb.RecordingEntry(time_micros=time, state_version=version, removal=removal)
        elif isinstance(entry, NodeEntry):
            if entry.new is not None:
                yield self.node(entry.new, entry.row, time, version)
            else:
                name = entry.old.metadata.name if entry.old is not None else ""
                removal = pb.RemovalEntry(kind="Node", name=name, row=entry.row)
                yield pb.RecordingEntry(time_micros=time, state_version=version, removal=removal)
        elif entry.new is not None:
            yield self.object(entry.new, time, version)
        else:
            namespace, name = entry.key
            removal = pb.RemovalEntry(kind=entry.kind.__name__, namespace=namespace, name=name)
            yield pb.RecordingEntry(time_micros=time, state_version=version, removal=removal)

    def node(self, node: Node, row: int, time: int, version: int) -> pb.RecordingEntry:
        """Return the entry of a node."""
        message = pb.ObjectEntry(kind="Node", object_json=encode_object(self._shown(node)), row=row)
        return pb.RecordingEntry(time_micros=time, state_version=version, object=message)

    def object(self, item: ClusterObject, time: int, version: int) -> pb.RecordingEntry:
        """Return the entry of an object that is neither a node nor a pod."""
        message = pb.ObjectEntry(kind=type(item).__name__, object_json=encode_object(self._shown(item)))
        return pb.RecordingEntry(time_micros=time, state_version=version, object=message)

    def pod(self, record: PodRecord, time: int, version: int) -> Iterator[pb.RecordingEntry]:
        """Yield the entry of a pod, after that of its template if that is new."""
        number, fresh = self._template(record.kind)
        if fresh is not None:
            yield pb.RecordingEntry(time_micros=time, state_version=version, template=fresh)
        entry = pb.RecordingEntry(time_micros=time, state_version=version)
        _write_pod(entry.pod, record, number)
        yield entry

    def decision(
        self, seq: int, record: Record, pod: PodRecord | None, time: int
    ) -> Iterator[pb.RecordingEntry]:
        """Yield the entry of a decision, after the template of ``pod``, which the state may not have."""
        version = record.state_version
        # Written in place: parts that are made elsewhere would be copied.
        entry = pb.RecordingEntry(time_micros=time, state_version=version)
        message, details = entry.decision, record.details
        self._write_decision(message.decision, seq, record)
        message.earlier_count, message.start = details.earlier, details.start
        message.repeatable = details.repeatable and bool(version)
        message.host_answers.update(details.answers)
        if pod is not None:
            number, fresh = self._template(pod.kind)
            if fresh is not None:
                yield pb.RecordingEntry(time_micros=time, state_version=version, template=fresh)
            _write_pod(message.pod, pod, number)
        yield entry

    def _template(self, kind: PodKind) -> tuple[int, pb.PodTemplateEntry | None]:
        known = self._templates.get(id(kind))
        if known is not None:
            return known[1], None
        if len(self._templates) >= MOST_TEMPLATES:
            self._templates.clear()
        self._last_template += 1
        # The kind is kept with its number, so that no other one gets its id.
        self._templates[id(kind)] = kind, self._last_template
        data = encode_object(self._shown(kind.template))
        return self._last_template, pb.PodTemplateEntry(number=self._last_template, pod_json=data)

    def _shown(self, item: ObjectT) -> ObjectT:
        annotations = item.metadata.annotations
        if self._annotations or not annotations:
            return item
        shown: ObjectT = replace(
            item, metadata=replace(item.metadata, annotations=shown_annotations(annotations))
        )
        return shown


def _write_pod(message: pb.PodEntry, record: PodRecord, template: int) -> None:
    message.template_number = template
    message.name, message.uid = record.name, record.uid
    message.resource_version, message.node = record.resource_version, record.node_name
    if record.row != UNPLACED:
        message.row = record.row
    message.assumed = record.assumed
    message.creation_timestamp = record.creation_timestamp or ""
    message.start_time = record.start_time or ""


def record_of_pod(pod: Pod, kind: PodKind) -> PodRecord:
    """Return the record of a pod that the state doesn't have."""
    return PodRecord.of(pod, kind, UNPLACED)
