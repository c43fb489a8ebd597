"""Writes a recording in the background.

It reads the journals of changes and of decisions, which are there anyway, so nothing of it is done where
decisions are made. When it can't follow, the journals forget what it has not read yet: the recording says how
much, and goes on.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from msgspec.structs import replace

from mooring import __version__
from mooring.cluster.journal import Entry, Journal, ObjectEntry
from mooring.cluster.state import State
from mooring.decisions.decisions import Decisions
from mooring.decisions.records import BatchRecord, Record
from mooring.framework import Pod
from mooring.framework.cluster_events import ObjectChange, StateChange
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Measurement, Node, Object
from mooring.framework.pod_table import PodRecord
from mooring.recordings.encoding import EntryEncoder, WriteDecision, record_of_pod
from mooring.recordings.limits import RecordingLimits
from mooring.recordings.segments import FORMAT_VERSION, SegmentWriter, segment_path, segments_of
from mooring_client.recording.v1 import recording_pb2 as pb

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Seconds between two reads of the journals, each of which ends a frame, so that the file is current. Longer
pauses save nothing: the data has left the processor's caches by then."""
SLICE = 128
"""Entries after which the recorder rests: they hold up deciding threads for about as many ms."""
REST_TIMES = 3.0
"""How many times as long as it worked it rests: it takes a quarter of a processor at most."""
FAILED_SECONDS = 10.0
"""From an error of the file system until the next file is tried."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The parts of a process that a recording has.

    Attributes:
        journal_length: How many changes of the state are kept at least for the recorder.
        decisions: Its decisions; None if another scheduler is observed.
        write_decision: Writes a decision to its message.
        header: Says what the process follows; the recorder fills in the rest.
        ready: Whether the state is complete; the recording begins then.
    """

    state: State
    journal_length: int
    decisions: Decisions | None
    write_decision: WriteDecision
    header: Callable[[], pb.RecordingHeader]
    ready: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class _Captured:
    """The objects at one moment, and those of them that were not written yet."""

    version: int
    position: int
    news: Sequence[tuple[int, Entry]]
    nodes: Sequence[tuple[int, Node | None]]
    objects: Sequence[Object]
    pods: Sequence[PodRecord]


_Decided = tuple[int, Record, PodRecord | None]
"""A decision with its number, and its pod if the state may not have it."""

_News = Entry | _Decided


class Recorder:
    """Follows a process until it is stopped. ``start`` and ``stop`` are for one thread.

    Args:
        directory: The directory of the files. If it doesn't exist, it is made for the process's user alone.
            Existing files stay.
        limits: When a file ends, and how many are kept.

    Attributes:
        entries: Entries written so far.
        dropped: Changes and decisions that were not written, since the recorder couldn't follow.
        errors: How often a file could not be written.
    """

    def __init__(self, directory: Path, recorded: Recorded, limits: RecordingLimits) -> None:
        self.entries = 0
        self.dropped = 0
        self.errors = 0
        self._directory = directory
        self._recorded = recorded
        self._limits = limits
        self._id = secrets.token_hex(8)
        self._bytes = 0
        self._number = 0
        self._writer: SegmentWriter | None = None
        self._encoder = self._new_encoder()
        self._began = 0.0
        self._position = 0
        self._seq = 0
        self._measured: list[tuple[int, Entry]] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._bytes + (self._writer.size if self._writer is not None else 0)

    def start(self) -> None:
        """Begin as soon as the process is ready. Raises InvalidArgumentError if nothing can be written to the
        directory.
        """
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidArgumentError.at(str(self._directory), f"can't be made: {error.strerror}") from None
        taken = segments_of(self._directory)
        self._number = int(taken[-1].stem.removeprefix("segment-")) if taken else 0
        if not os.access(self._directory, os.W_OK):
            raise InvalidArgumentError.at(str(self._directory), "nothing can be written there")
        self._thread = threading.Thread(target=self._follow, name="recorder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what happened until now, and end the file."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _new_encoder(self) -> EntryEncoder:
        return EntryEncoder(self._recorded.write_decision, annotations=self._limits.annotations)

    def _follow(self) -> None:
        while not self._recorded.ready():
            if self._stopping.wait(LOOK_SECONDS):
                return
        self._recorded.state.subscribe(self._hear)
        stopping = False
        while not stopping:
            fine = self._step()
            stopping = self._stopping.wait(LOOK_SECONDS if fine else FAILED_SECONDS)
        self._step()
        self._close()

    def _hear(self, change: StateChange) -> None:
        """Note new measured values, which the journal leaves out: they are large."""
        if isinstance(change, ObjectChange) and change.kind == Measurement.__name__:
            key = "", (change.new or change.old).metadata.name
            entry = ObjectEntry(Measurement, key, change.old, change.new)
            self._measured.append((self._recorded.state.version, entry))

    def _step(self) -> bool:
        """Write what happened since the last step; False when the file system doesn't take it."""
        try:
            if self._writer is None:
                reason = "a file could not be written" if self.errors else ""
                self._open(self._capture(), pb.GapEntry(reason=reason))
            self._write_news()
            assert self._writer is not None  # noqa: S101 - it was opened
            self._writer.flush()
            old = time.monotonic() - self._began > self._limits.segment_seconds
            if old or self._writer.size > self._limits.segment_bytes:
                self._rotate()
        except OSError as error:
            self._interrupted(str(error))
            return False
        except Exception as error:
            log.exception("the recorder failed")
            self._interrupted(repr(error))
            return False
        return True

    def _interrupted(self, why: str) -> None:
        self.errors += 1
        log.error("the recording is interrupted, another file is begun in %g s: %s", FAILED_SECONDS, why)
        self._close()

    def _write_news(self) -> None:
        decisions = list(self._new_decisions())
        with self._recorded.state.lock:
            journal = self._recorded.state.journal()
            changes, end = self._changes_in(journal), journal.end
        if changes is None:
            self._fall_behind()
            return
        self._position = end
        self._write(changes, decisions)

    def _changes_in(self, journal: Journal) -> Sequence[tuple[int, Entry]] | None:
        """Return the unwritten changes, each with the version before it; None = lost. The lock is held."""
        measured, self._measured = self._measured, []
        changes = journal.versioned(self._position)
        return None if changes is None else [*changes, *measured]

    def _write(self, changes: Sequence[tuple[int, Entry]], decisions: Sequence[_Decided]) -> None:
        """Write both in the order of the state's versions: a decision before what changed its version."""
        news: list[tuple[int, int, _News]] = [(version, 1, entry) for version, entry in changes]
        news += [(decided[1].state_version, 0, decided) for decided in decisions]
        # Sorting is stable: what is of one version stays in its order.
        news.sort(key=itemgetter(0, 1))
        self._add(self._entries(news))

    def _entries(self, news: Sequence[tuple[int, int, _News]]) -> Iterator[pb.RecordingEntry]:
        now = _micros()
        for version, _, what in news:
            if isinstance(what, tuple):
                yield from self._encoder.decision(*what, now)
            else:
                yield from self._encoder.change(what, now, version)

    def _add(self, entries: Iterator[pb.RecordingEntry]) -> None:
        """Write entries, with rests."""
        assert self._writer is not None  # noqa: S101 - the callers have opened it
        began = time.thread_time()
        for at, entry in enumerate(entries, 1):
            self._writer.add(entry)
            self.entries += 1
            if not at % SLICE:
                time.sleep(REST_TIMES * (time.thread_time() - began))
                began = time.thread_time()

    def _new_decisions(self) -> Iterator[_Decided]:
        """Yield what was decided since the last call, with pods that the state may not have."""
        noted = self._recorded.decisions
        if noted is None:
            return
        for first, entry in noted.journal.entries_after(self._seq):
            if first > self._seq + 1:
                lost = first - self._seq - 1
                self._gap(pb.GapEntry(decision_count=lost, reason="decisions were made faster than written"))
            if isinstance(entry, BatchRecord):
                likes = [self._pod_record(template) for template, _ in entry.templates]
                for at in range(max(0, self._seq + 1 - first), len(entry)):
                    like = likes[entry.indices[at]]
                    yield (
                        first + at,
                        entry.record(at),
                        replace(like, name=entry.names[at], uid=entry.uids[at]),
                    )
                self._seq = first + len(entry) - 1
            elif first > self._seq:
                pod = None if entry.details.attempt else entry.subject()
                yield first, entry, None if pod is None else self._pod_record(pod)
                self._seq = first

    def _pod_record(self, pod: Pod) -> PodRecord:
        return record_of_pod(pod, self._recorded.state.kind_of(pod))

    def _fall_behind(self) -> None:
        """Continue with the current objects, since changes were lost."""
        with self._recorded.state.lock:
            lost = self._recorded.state.journal().first - self._position
        self.dropped += lost
        log.warning("%d changes are missing in the recording: they came faster than they were written", lost)
        self._rotate(pb.GapEntry(change_count=lost, reason="changes came faster than they were written"))

    def _gap(self, gap: pb.GapEntry) -> None:
        self.dropped += gap.decision_count
        self._add(iter([pb.RecordingEntry(time_micros=_micros(), gap=gap)]))

    def _rotate(self, gap: pb.GapEntry | None = None) -> None:
        """Go on in another file, which continues this one unless there is a gap."""
        now = self._capture()
        if gap is None:
            self._write(now.news, ())
        self._close()
        self._open(now, gap)

    def _capture(self) -> _Captured:
        state = self._recorded.state
        with state.lock:
            journal, tables = state.journal(self._recorded.journal_length), state.snapshot
            return _Captured(
                version=state.version,
                position=journal.end,
                news=self._changes_in(journal) or (),
                nodes=[(row, tables.nodes.nodes[row]) for row in tables.nodes.rows().tolist()],
                objects=[item for kind in tables.objects.kinds for item in tables.objects.all(kind)],
                pods=list(tables.pods.records.values()),
            )

    def _open(self, now: _Captured, gap: pb.GapEntry | None) -> None:
        """Begin a file with all that there is; ``gap`` says why it doesn't continue the one before, if so."""
        self._number += 1
        path = segment_path(self._directory, self._number)
        self._writer, self._encoder = SegmentWriter(path), self._new_encoder()
        self._began = time.monotonic()
        header = self._recorded.header()
        header.format_version, header.continues = FORMAT_VERSION, gap is None
        header.recording_id, header.mooring_version = self._id, __version__
        self._add(self._checkpoint(header, now))
        if gap is not None and gap.reason:
            self._gap(gap)
        self._position = now.position
        self._writer.flush()
        self._forget_oldest()

    def _checkpoint(self, header: pb.RecordingHeader, now: _Captured) -> Iterator[pb.RecordingEntry]:
        at, version = _micros(), now.version
        yield pb.RecordingEntry(time_micros=at, state_version=version, header=header)
        for row, node in now.nodes:
            if node is not None:
                yield self._encoder.node(node, row, at, version)
        for item in now.objects:
            yield self._encoder.object(item, at, version)  # type: ignore[arg-type] # what the table has
        for record in now.pods:
            yield from self._encoder.pod(record, at, version)
        yield pb.RecordingEntry(time_micros=at, state_version=version, checkpoint_end=pb.CheckpointEnd())

    def _close(self) -> None:
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        try:
            writer.close()
        except OSError as error:
            self.errors += 1
            log.warning("the end of %s could not be written: %s", writer.path, error.strerror)
        if not writer.size:
            # Who reads it would take it for a damaged one.
            with suppress(OSError):
                writer.path.unlink()
        self._bytes += writer.size

    def _forget_oldest(self) -> None:
        if self._limits.keep:
            for path in segments_of(self._directory)[: -self._limits.keep]:
                path.unlink(missing_ok=True)


def _micros() -> int:
    return time.time_ns() // 1_000
