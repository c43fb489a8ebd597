"""Recordings from elsewhere: the entries of a file, played into a state."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

from google.protobuf.message import DecodeError

from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.recordings.decoding import FREE_ROWS
from mooring.recordings.playback import Moment, play
from mooring.recordings.segments import Place, RecordingError, SegmentWriter, _messages_of, segment_path
from mooring.testing import make_node, make_pod
from mooring.testing.builders import to_json
from mooring_client.recording.v1 import recording_pb2 as pb
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import change_message, changed_bytes, changed_json

NOWHERE = Place(Path("input"), 0)


def written(entries: Sequence[pb.RecordingEntry]) -> bytes:
    """Return the entries as a frame has them."""
    with tempfile.TemporaryDirectory() as directory:
        writer = SegmentWriter(Path(directory) / "segment")
        for entry in entries:
            writer.add(entry)
        found = bytes(writer._messages)
        writer.close()
    return found


@cache
def seeds() -> tuple[bytes, ...]:
    """Return a file with each sort of entry, one that continues it, and what they begin with."""
    pod = to_json(make_pod("template", requests={"cpu": "1"}))
    nodes = [
        pb.RecordingEntry(
            time_micros=1,
            object=pb.ObjectEntry(kind="Node", row=at, object_json=to_json(make_node(f"n{at}"))),
        )
        for at in range(3)
    ]
    placed = pb.PodEntry(template_number=1, name="p", uid="u", node="n1", row=1, assumed=True)
    common = [
        *nodes,
        pb.RecordingEntry(time_micros=1, template=pb.PodTemplateEntry(number=1, pod_json=pod)),
        pb.RecordingEntry(time_micros=1, pod=pb.PodEntry(template_number=1, name="q", uid="v")),
        pb.RecordingEntry(time_micros=1, checkpoint_end=pb.CheckpointEnd()),
        pb.RecordingEntry(time_micros=2, state_version=4, pod=placed),
        pb.RecordingEntry(time_micros=2, state_version=5, decision=pb.DecisionEntry(pod=placed)),
        pb.RecordingEntry(time_micros=3, state_version=6, gap=pb.GapEntry(change_count=3, reason="late")),
        pb.RecordingEntry(time_micros=3, state_version=6, removal=pb.RemovalEntry(kind="Pod", uid="u")),
        pb.RecordingEntry(time_micros=3, state_version=7, removal=pb.RemovalEntry(kind="Node", row=2)),
    ]
    heads = [
        pb.RecordingEntry(time_micros=1, header=pb.RecordingHeader(format_version=1, continues=continues))
        for continues in (False, True)
    ]
    return tuple(written([head, *common[:count]]) for head in heads for count in (6, 8, len(common)))


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the same with entries changed, left out, doubled or moved, or with faults in its bytes."""
    if dice.random() < 0.15:
        return changed_bytes(dice, data, others)
    try:
        entries = list(_messages_of(data, NOWHERE))
        for _ in range(dice.choice((1, 1, 2, 3))):
            at = dice.randrange(len(entries))
            match dice.randrange(8):
                case 0:
                    del entries[at]
                case 1:
                    entries.insert(dice.randrange(len(entries)), entries[at])
                case _:
                    changed = pb.RecordingEntry()
                    changed.CopyFrom(entries[at])
                    change_message(dice, changed, lambda dice, _, held: changed_json(dice, held, [held]))
                    entries[at] = changed
        return written(entries)
    except (RecordingError, DecodeError, ValueError, TypeError):
        return changed_bytes(dice, data, others)


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a state for each file, as a command makes it that reads a recording."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        path = segment_path(directory, 1)

        def judge(data: bytes) -> bool:
            path.unlink(missing_ok=True)
            writer = SegmentWriter(path)
            writer._messages += data
            writer.close()
            state = State()
            try:
                for _ in play(directory, state):
                    pass
                Moment(directory, 2e-6).objects()
            except InvalidArgumentError as error:
                for violation in error.violations:
                    check_text(f"{violation.path}: {violation.message}")
                return False
            finally:
                check(state.snapshot.nodes.capacity <= 4 * FREE_ROWS, "a few entries make a large table")
            return True

        yield judge


TARGET = Target("recordings", "recordings", seeds, change, judging)
