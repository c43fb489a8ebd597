"""Entries of a recording as changes of a state and decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mooring.cluster.decoding import decode_json, decode_pod
from mooring.cluster.journal import Entry, NodeEntry, ObjectEntry, PodEntry
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Measurement, Node, Pod
from mooring.framework.pod_table import UNPLACED, PodKind, PodRecord
from mooring.recordings.segments import Place, RecordingError, no_recording, read_segment, segments_of
from mooring_client.recording.v1 import recording_pb2 as pb

FREE_ROWS = 1 << 16
"""The most rows above twice the number of nodes seen in a file. Rows of removed nodes are free; each takes
some 200 bytes."""


LATEST_MICROS = 253_402_300_800_000_000
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True)
class Began:
    """A file begins. Unless it continues the one before, all that is known of the cluster is void."""

    header: pb.RecordingHeader


class Changed(msgspec.Struct, frozen=True, gc=False):
    """The state changed.

    Attributes:
        time: When, in microseconds since 1970.
        version: The version of the state before; -1 for the content when the recording began.
        entry: The content after the change; the content before isn't included.
    """

    time: int
    version: int
    entry: Entry


class Decided(msgspec.Struct, frozen=True, gc=False):
    """A decision was made.

    Attributes:
        time: When it was noted, in microseconds since 1970.
        version: The version of the state that was evaluated.
    """

    time: int
    version: int
    message: pb.DecisionEntry
    pod: Pod | None


@dataclass(frozen=True, slots=True)
class Missing:
    """Something was not written down at ``time``, in microseconds since 1970."""

    time: int
    gap: pb.GapEntry


Happening = Began | Changed | Decided | Missing
"""The changes and decisions of a recording, in order."""

Advance = Callable[[int], object]
"""Is called with the number of bytes just read."""

MakeKind = Callable[[Pod], PodKind]
"""Makes what pods of a template have in common, by the rules of a state."""

PassOver = Callable[[pb.PodEntry], bool]
"""Returns whether a pod that came or changed is of no interest, so that nothing is made of it."""


def read_recording(
    directory: Path,
    kind_of: MakeKind,
    advance: Advance = lambda _: None,
    pass_over: PassOver = lambda _: False,
) -> Iterator[Happening]:
    """Yield what a recording says.

    Args:
        directory: The directory of its files.
        kind_of: Makes the kinds of its pods.
        advance: Called with the number of bytes that were read since the last call.
        pass_over: Which pods are left out.

    Raises:
        RecordingError: It ends, or a file of it can't be read from some place on.
    """
    segments = segments_of(directory)
    if not segments:
        raise no_recording(directory)
    for at, segment in enumerate(segments):
        yield from _Decoder(kind_of, pass_over, first=at == 0).read(segment, advance)


class _Decoder:
    """Reads one file.

    Args:
        kind_of: Makes the kinds of pods.
        pass_over: Which pods are left out.
        first: Whether the checkpoint counts even if the file continues another one.
    """

    def __init__(self, kind_of: MakeKind, pass_over: PassOver, *, first: bool) -> None:
        self._kind_of = kind_of
        self._pass_over = pass_over
        self._first = first
        self._kinds: dict[int, PodKind] = {}
        self._checkpoint = True
        self._nodes = 0

    def read(self, segment: Path, advance: Advance) -> Iterator[Happening]:
        """Yield its entries; a checkpoint only if it has anything new."""
        known = False
        for place, entry in read_segment(segment, advance):
            content = entry.WhichOneof("content")
            if not 0 <= entry.time_micros < LATEST_MICROS:
                raise RecordingError.at(str(place), f"has an entry of no time: {entry.time_micros} µs")
            if content == "object" and entry.object.kind == "Node":
                self._count_node(entry.object.row, place)
            if content == "pod":
                if not (known or self._pass_over(entry.pod)):
                    yield self._happening(entry, content, place)
            elif content == "header":
                known = entry.header.continues and not self._first
                yield Began(entry.header)
            elif content == "checkpoint_end":
                known = self._checkpoint = False
            elif content == "template":
                self._kinds[entry.template.number] = self._kind(entry.template, place)
            elif not known:
                yield self._happening(entry, content, place)

    def _happening(self, entry: pb.RecordingEntry, content: str | None, place: Place) -> Happening:
        time, version = entry.time_micros, -1 if self._checkpoint else entry.state_version
        if content == "pod":
            record = self._record(entry.pod, place)
            return Changed(time, version, PodEntry(record.uid, None, record))
        if content == "object":
            return Changed(time, version, _object(entry.object, place))
        if content == "removal":
            return Changed(time, version, _removal(entry.removal, place))
        if content == "gap":
            return Missing(time, entry.gap)
        if content == "decision":
            decision = entry.decision
            pod = self._record(decision.pod, place).pod if decision.HasField("pod") else None
            return Decided(time, version, decision, pod)
        raise RecordingError.at(str(place), "has an entry of a newer mooring; read it with that one")

    def _count_node(self, row: int, place: Place) -> None:
        """Count a recorded node, and check its row, which becomes the size of a table."""
        self._nodes += 1
        most = 2 * self._nodes + FREE_ROWS
        if row >= most:
            raise RecordingError.at(
                str(place),
                f"has a node in row {row}, and {self._nodes} nodes were recorded; rows end at {most - 1}",
            )

    def _kind(self, template: pb.PodTemplateEntry, place: Place) -> PodKind:
        try:
            return self._kind_of(decode_pod(template.pod_json, named=False))
        except InvalidArgumentError as error:
            raise RecordingError.at(str(place), f"has a pod that can't be used: {error}") from error

    def _record(self, pod: pb.PodEntry, place: Place) -> PodRecord:
        kind = self._kinds.get(pod.template_number)
        if kind is None:
            raise RecordingError.at(str(place), f"names template {pod.template_number}, which isn't there")
        return PodRecord(
            kind,
            pod.row if pod.HasField("row") else UNPLACED,
            pod.assumed,
            pod.name,
            pod.uid,
            pod.node,
            pod.resource_version,
            pod.creation_timestamp or None,
            pod.start_time or None,
        )


_KINDS: dict[str, type[ClusterObject]] = {**KINDS, Measurement.__name__: Measurement}


def _object(message: pb.ObjectEntry, place: Place) -> Entry:
    try:
        if message.kind == Measurement.__name__:
            item: ClusterObject | None = msgspec.json.decode(message.object_json, type=Measurement)
        else:
            item = decode_json(message.object_json, message.kind)
    except (InvalidArgumentError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordingError.at(str(place), f"has an object that can't be used: {error}") from error
    if item is None or isinstance(item, Pod):
        raise RecordingError.at(str(place), f"has an object of kind {message.kind!r}, which isn't kept")
    if isinstance(item, Node):
        return NodeEntry(message.row, None, item)
    return ObjectEntry(type(item), (item.metadata.namespace, item.metadata.name), None, item)


def _removal(message: pb.RemovalEntry, place: Place) -> Entry:
    if message.kind == "Pod":
        return PodEntry(message.uid, None, None)
    if message.kind == "Node":
        return NodeEntry(message.row, None, None)
    kind = _KINDS.get(message.kind)
    if kind is None:
        raise RecordingError.at(str(place), f"removes an object of kind {message.kind!r}, which isn't kept")
    return ObjectEntry(kind, (message.namespace, message.name), None, None)
