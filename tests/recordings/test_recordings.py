"""A recording read again: the state, the decisions, and missing or damaged parts."""

from __future__ import annotations

import errno
import io
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.app.options import DecisionOptions
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.recordings import recorder as recorder_module
from mooring.recordings.decoding import FREE_ROWS, Began, Changed, Decided, Happening, Missing
from mooring.recordings.limits import RecordingLimits
from mooring.recordings.playback import play
from mooring.recordings.segments import (
    FORMAT_VERSION,
    RecordingError,
    SegmentWriter,
    segment_path,
    segments_of,
)
from mooring.testing import make_node, make_pod
from mooring.testing.builders import to_json
from mooring_client.recording.v1 import recording_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from tests.recordings.recorded import REMEMBERED, record_churn, recorder_of, until
from tests.service.backends import Direct, sent, world


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the recorder write often, since tests wait for it."""
    monkeypatch.setattr(recorder_module, "LOOK_SECONDS", 0.05)


@pytest.fixture(scope="module")
def churned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("churned")
    record_churn(directory, 300, seed=1)
    return directory


def contents(state: State) -> tuple[object, ...]:
    """Return all that a state has: nodes by row, pods with their rows, and other objects."""
    tables = state.snapshot
    nodes = {row: tables.nodes.nodes[row] for row in tables.nodes.rows().tolist()}
    pods = {uid: (record.pod, record.row) for uid, record in tables.pods.records.items()}
    objects = {kind: found.by_key for kind, found in tables.objects.kinds.items() if found.by_key}
    return nodes, pods, objects


def heard(directory: Path, state: State | None = None) -> tuple[list[Happening], RecordingError | None]:
    """Return the events of a recording until it ends, or until an error."""
    happenings: list[Happening] = []
    try:
        happenings.extend(play(directory, state or State()))
    except RecordingError as error:
        return happenings, error
    return happenings, None


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param(RecordingLimits(), id="one file"),
        pytest.param(RecordingLimits(segment_bytes=1_000), id="many files"),
        pytest.param(RecordingLimits(segment_bytes=1_000, keep=2), id="the newest files"),
    ],
)
def test_the_state_comes_out_as_it_was(limits: RecordingLimits, tmp_path: Path) -> None:
    played = State()
    with world(*(make_node(f"n{at}") for at in range(20))) as w, recorder_of(w, tmp_path, limits) as recorder:
        for at in range(400):
            w.state.apply("test", [Put(make_pod(f"p{at}", node=f"n{at % 20}", labels={"own": str(at)}))])
            if at % 3 == 0:
                w.state.apply("test", [Remove("Pod", "default", f"p{at // 2}")])
            if at % 40 == 0:
                w.state.apply("test", [Remove("Node", "", f"n{at % 7}"), Put(make_node(f"new{at}"))])
                until(lambda seen=recorder.entries: recorder.entries > seen)  # type: ignore[misc]
        live = contents(w.state)
    happenings, error = heard(tmp_path, played)
    assert error is None
    assert contents(played) == live
    files = segments_of(tmp_path)
    assert len(files) == 2 if limits.keep else bool(files)
    begun = [each for each in happenings if isinstance(each, Began)]
    assert len(begun) == len(files)
    assert [each.header.continues for each in begun[1:]] == [True] * (len(begun) - 1)


def test_measured_values_come_out_as_they_were_when_a_decision_was_made(tmp_path: Path) -> None:
    load, played = "load", State()
    with world(make_node("n"), remembering=REMEMBERED) as w:
        w.state.assume_object(Measurement(ObjectMeta(name=load), {"n": 0}, 9, 0.5, {"n": (1, 0.5)}))
        with recorder_of(w, tmp_path, RecordingLimits(segment_bytes=2_000)) as recorder:
            servicers = Direct(w.backend)
            for at in range(1, 9):
                w.state.assume_object(Measurement(ObjectMeta(name=load), {"n": at}))
                if at == 5:
                    w.state.forget_object(Measurement, load)
                servicers.scheduling.Schedule(
                    scheduling_pb.ScheduleRequest(
                        templates=[scheduling_pb.PodTemplate(pod=sent(make_pod(f"p{at}")))]
                    )
                )
                if at % 3 == 0:
                    until(lambda seen=recorder.entries: recorder.entries > seen)  # type: ignore[misc]
            live = contents(w.state)
    met = []
    for happening in play(tmp_path, played):
        if isinstance(happening, Decided):
            found = played.snapshot.objects.get(Measurement, load)
            met.append(None if found is None else found.values["n"])
    assert met == [1, 2, 3, 4, None, 6, 7, 8]
    assert contents(played) == live


def test_decisions_stand_where_they_were_made(churned: Path) -> None:
    happenings, error = heard(churned)
    assert error is None
    decided = [each for each in happenings if isinstance(each, Decided)]
    assert len(decided) >= 300
    versions = [each.version for each in happenings if isinstance(each, Changed | Decided)]
    assert versions == sorted(versions)
    assert [each.message.decision.seq for each in decided] == sorted(
        each.message.decision.seq for each in decided
    )


def test_what_was_lost_is_said(tmp_path: Path) -> None:
    played = State()
    forgetful = DecisionOptions(undo=0)
    with (
        world(make_node("n"), remembering=forgetful) as w,
        recorder_of(w, tmp_path, length=50) as recorder,
    ):
        with w.state.lock:
            for at in range(500):
                w.state.apply("test", [Put(make_pod(f"p{at}", node="n"))])
        until(lambda: recorder.dropped > 0)
        live = contents(w.state)
    happenings, error = heard(tmp_path, played)
    assert error is None
    (missing,) = (each for each in happenings if isinstance(each, Missing))
    assert missing.gap.change_count == recorder.dropped
    assert "faster" in missing.gap.reason
    assert contents(played) == live


class Full(io.FileIO):
    """A file on a disk that fills up during a write."""

    def write(self, data: Any) -> int:
        super().write(memoryview(data)[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_whole_frames(tmp_path: Path) -> None:
    file = segment_path(tmp_path, 1)
    writer = SegmentWriter(file)
    writer.add(pb.RecordingEntry(header=pb.RecordingHeader(format_version=FORMAT_VERSION)))
    writer.flush()
    writer._file.close()
    writer._file = Full(file, "r+b")
    writer._file.seek(writer.size)
    writer.add(pb.RecordingEntry(checkpoint_end=pb.CheckpointEnd()))
    for write in (writer.flush, writer.close):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert file.stat().st_size == writer.size
    assert heard(tmp_path)[1] is None


def recorded_in(directory: Path) -> object:
    """Return the state at the end of a recording; None while that is being written."""
    state = State()
    _, error = heard(directory, state)
    return None if error else contents(state)


@pytest.mark.parametrize("from_the_start", [False, True], ids=["later", "from the start"])
def test_what_could_not_be_written_is_said_and_another_file_begun(
    from_the_start: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "FAILED_SECONDS", 0.01)
    played, full = State(), threading.Event()
    write = SegmentWriter._write

    def fail(writer: SegmentWriter, frame: bytes) -> None:
        if full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        write(writer, frame)

    monkeypatch.setattr(SegmentWriter, "_write", fail)
    if from_the_start:
        full.set()
    with world(make_node("n")) as w, recorder_of(w, tmp_path) as recorder:
        if not from_the_start:
            until(lambda: recorder.size > 0)
        full.set()
        w.state.apply("test", [Put(make_pod("p", node="n"))])
        # One error is about the file's end.
        until(lambda: recorder.errors > 1)
        full.clear()
        live = contents(w.state)
        until(lambda: recorded_in(tmp_path) == live)
    happenings, error = heard(tmp_path, played)
    assert error is None
    assert "could not be written" in next(each.gap.reason for each in happenings if isinstance(each, Missing))
    assert contents(played) == live


def test_what_is_being_written_can_be_read(tmp_path: Path) -> None:
    with world(make_node("n")) as w, recorder_of(w, tmp_path) as recorder:
        for at in range(25):
            seen = recorder.entries
            w.state.apply("test", [Put(make_pod(f"p{at}", node="n"))])
            until(lambda seen=seen: recorder.entries > seen)  # type: ignore[misc]
            happenings, error = heard(tmp_path)
            assert error is None or "is cut off" in str(error) or "is empty" in str(error)
    whole, error = heard(tmp_path)
    assert error is None
    assert happenings
    assert [type(each) for each in whole[: len(happenings)]] == [type(each) for each in happenings]
    assert sum(isinstance(each, Changed) for each in whole) >= 25


@pytest.mark.parametrize(
    ("annotations", "written"),
    [
        pytest.param(False, {"team/secret": "(hidden)", "mooring.dev/explain": "yes"}, id="hidden"),
        pytest.param(True, {"team/secret": "s3cret", "mooring.dev/explain": "yes"}, id="as they are"),
    ],
)
def test_annotations(annotations: bool, written: dict[str, str], tmp_path: Path) -> None:
    given = {"team/secret": "s3cret", "mooring.dev/explain": "yes"}
    node = make_node("n", metadata={"annotations": given})
    pod = make_pod("p", node="n", metadata={"annotations": given})
    played = State()
    limits = RecordingLimits(annotations=annotations)
    with world(node, pod) as w, recorder_of(w, tmp_path, limits):
        pass
    assert heard(tmp_path, played)[1] is None
    nodes = played.snapshot.nodes
    found = nodes.nodes[nodes.index["n"]]
    assert found is not None
    assert found.metadata.annotations == written
    (record,) = played.snapshot.pods.records.values()
    assert record.pod.metadata.annotations == written


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-40] ^= 0x10
    file.write_bytes(data)


def garble(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"this is no frame of zstd")


def newer(file: Path) -> None:
    file.unlink()
    writer = SegmentWriter(file)
    writer.add(pb.RecordingEntry(header=pb.RecordingHeader(format_version=2, mooring_version="9.9")))
    writer.close()


def headless(file: Path) -> None:
    file.unlink()
    writer = SegmentWriter(file)
    writer.add(pb.RecordingEntry(checkpoint_end=pb.CheckpointEnd()))
    writer.close()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def nonsense(file: Path) -> None:
    writer = SegmentWriter(file.with_suffix(".more"))
    writer.add(pb.RecordingEntry(pod=pb.PodEntry(template_number=999_999)))
    writer.close()
    file.write_bytes(file.read_bytes() + writer.path.read_bytes())


@pytest.mark.parametrize(
    ("damage", "told", "usable"),
    [
        pytest.param(cut, "is cut off", True, id="cut"),
        pytest.param(flip, "is damaged", True, id="a flipped bit"),
        pytest.param(garble, "is damaged", True, id="something else at the end"),
        pytest.param(nonsense, "names template 999999", True, id="an entry that can't be"),
        pytest.param(newer, "format version 2", False, id="another version"),
        pytest.param(headless, "without a header", False, id="no header"),
        pytest.param(empty, "is empty", False, id="empty"),
    ],
)
def test_damage_is_told_in_its_place(
    damage: Callable[[Path], None], told: str, usable: bool, churned: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "damaged"
    shutil.copytree(churned, directory)
    whole, _ = heard(directory)
    (file,) = segments_of(directory)
    damage(file)
    happenings, error = heard(directory)
    assert error is not None
    assert told in str(error)
    assert str(file) in str(error)
    assert len(happenings) <= len(whole)
    assert bool(happenings) == usable


def test_each_flipped_byte_is_found_or_changes_nothing(churned: Path, tmp_path: Path) -> None:
    directory = tmp_path / "flipped"
    directory.mkdir()
    (original,) = segments_of(churned)
    data, whole = original.read_bytes(), [*map(place, heard(churned)[0])]
    for at in range(0, len(data), max(1, len(data) // 60)):
        bad = bytearray(data)
        bad[at] ^= 0x04
        segment_path(directory, 1).write_bytes(bad)
        happenings, error = heard(directory)
        # Decisions are written later than the changes after them, so of the last ones some may be missing.
        rest = iter(whole)
        assert all(place(each) in rest for each in happenings)
        # Some bits of a zstd frame say nothing.
        assert error is not None or not list(rest), f"byte {at}"


def place(happening: Happening) -> tuple[type[Happening], int]:
    """Return the kind of the event, and its place."""
    return type(happening), happening.version if isinstance(happening, Changed | Decided) else -1


def test_a_directory_without_a_recording(tmp_path: Path) -> None:
    _, error = heard(tmp_path)
    assert error is not None
    assert "there is no file segment-*.zst" in str(error)


def node_in(row: int, name: str) -> pb.RecordingEntry:
    manifest = to_json(make_node(name))
    return pb.RecordingEntry(time_micros=1, object=pb.ObjectEntry(kind="Node", row=row, object_json=manifest))


TEMPLATE = pb.PodTemplateEntry(number=1, pod_json=to_json(make_pod("template")))


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        pytest.param(
            [node_in(2_000_000_000, "n")], "a node in row 2000000000, and 1 nodes", id="a row far away"
        ),
        pytest.param(
            [node_in(FREE_ROWS - 1 + at * (FREE_ROWS - 1), f"n{at}") for at in range(3)],
            f"a node in row {2 * (FREE_ROWS - 1)}, and 2 nodes were recorded",
            id="a row behind another far one",
        ),
        pytest.param(
            [node_in(0, "a"), node_in(0, "b")], "doesn't fit the objects before it", id="a row twice"
        ),
        pytest.param(
            [
                node_in(0, "a"),
                pb.RecordingEntry(time_micros=1, template=TEMPLATE),
                pb.RecordingEntry(
                    time_micros=1, pod=pb.PodEntry(template_number=1, name="p", uid="u", node="a", row=7)
                ),
            ],
            "pod p is in row 7, node a isn't",
            id="a pod in another row than its node",
        ),
        pytest.param(
            [pb.RecordingEntry(time_micros=1, removal=pb.RemovalEntry(kind="Node", row=9))],
            "doesn't fit the objects before it",
            id="a removal of a row that isn't there",
        ),
        pytest.param(
            [pb.RecordingEntry(time_micros=2**62, gap=pb.GapEntry())], "an entry of no time", id="a time"
        ),
    ],
)
def test_numbers_that_can_not_be_are_told(entries: list[pb.RecordingEntry], why: str, tmp_path: Path) -> None:
    writer = SegmentWriter(segment_path(tmp_path, 1))
    writer.add(pb.RecordingEntry(header=pb.RecordingHeader(format_version=FORMAT_VERSION)))
    for entry in entries:
        writer.add(entry)
    writer.close()
    state = State()
    _, error = heard(tmp_path, state)
    assert why in str(error)
    assert state.snapshot.nodes.capacity <= 2 * FREE_ROWS


def test_only_its_owner_can_read_a_recording(tmp_path: Path) -> None:
    directory = tmp_path / "recording"
    with world(make_node("n")) as w, recorder_of(w, directory):
        pass
    (segment,) = segments_of(directory)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (directory, segment)] == [0o700, 0o600]
