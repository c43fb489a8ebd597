"""Events: written once, joined when they repeat, dropped when there are too many."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework import ObjectReference
from mooring.framework.errors import NotFoundError, PermissionDeniedError, UnavailableError
from mooring.scheduler.recorder import (
    BACKLOG,
    HOLD_SECONDS,
    SERIES_SECONDS,
    TRIES,
    WRITERS,
    EventNote,
    EventRecorder,
)
from mooring.telemetry.scheduler_observer import SchedulerObserver
from mooring.testing import make_pod
from tests.process import until

from .fakes import FakeClock
from .world import FakeCluster


class Sink(FakeCluster):
    """Keeps all writes."""

    def __init__(self) -> None:
        super().__init__(State())
        self.created: list[dict[str, Any]] = []
        self.counts: list[int] = []
        self.failures: list[Exception] = []

    def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if self.failures:
            raise self.failures.pop()
        self.created.append(dict(body))
        return dict(body)

    def patch(
        self, target: ObjectReference, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if target.name not in {event["metadata"]["name"] for event in self.created}:
            raise NotFoundError("no such event", reason="OBJECT_NOT_FOUND")
        self.counts.append(patch["series"]["count"])
        return {}


class Counting(SchedulerObserver):
    """Counts what is dropped."""

    drops = 0

    def dropped(self) -> None:
        self.drops += 1


def failed(note: str = "no room", name: str = "web", version: str = "7") -> EventNote:
    pod = make_pod(name, metadata={"resourceVersion": version})
    return EventNote(pod, "Warning", "FailedScheduling", "Scheduling", note)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_700_000_000.5)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def recorder(sink: Sink, clock: FakeClock) -> EventRecorder:
    return EventRecorder(sink, clock, Counting())


def write(recorder: EventRecorder, *notes: EventNote) -> None:
    for note in notes:
        recorder.record_event(note)
    recorder.start()
    recorder.stop(10)


def test_what_an_event_says(recorder: EventRecorder, sink: Sink) -> None:
    write(recorder, failed())
    [event] = sink.created
    assert event.pop("reportingInstance").startswith("default-scheduler-")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web.{1_700_000_000_500_000_000:x}", "namespace": "default"},
        "eventTime": "2023-11-14T22:13:20.500000Z",
        "reportingController": "default-scheduler",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "pod/default/web",
            "resourceVersion": "7",
        },
        "note": "no room",
        "type": "Warning",
    }


def test_advice_is_the_end_of_the_note_however_long_that_is(sink: Sink, clock: FakeClock) -> None:
    recorder = EventRecorder(sink, clock, Counting(), lambda pod: f"Do it for {pod.metadata.name}.")
    normal = EventNote(make_pod("on"), "Normal", "Scheduled", "Binding", "assigned")
    write(recorder, failed(), failed("x" * 2_000, name="long"), normal)
    short, long, assigned = (event["note"] for event in sink.created)
    assert (short, assigned) == ("no room Do it for web.", "assigned")
    assert (len(long), long.endswith("x ... Do it for long.")) == (1_024, True)


def test_repetitions_are_counted(recorder: EventRecorder, sink: Sink) -> None:
    for note in [failed(), *(failed("no room at all") for _ in range(8))]:
        recorder._write(note, recorder.clock.now())
    assert len(sink.created) == 1
    assert sink.counts == [2, 4, 8]


@pytest.mark.parametrize(
    ("note", "pause"),
    [
        pytest.param(failed(), SERIES_SECONDS + 1, id="later"),
        pytest.param(failed(version="8"), 0, id="the pod changed"),
        pytest.param(failed(name="other"), 0, id="another pod"),
    ],
)
def test_what_is_no_repetition(
    recorder: EventRecorder, sink: Sink, clock: FakeClock, note: EventNote, pause: float
) -> None:
    recorder._write(failed(), recorder.clock.now())
    clock.advance(pause)
    recorder._write(note, recorder.clock.now())
    assert len(sink.created) == 2
    assert len(recorder._series) == (1 if pause else 2), "old series are forgotten"


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(0.0, id="until they are over"),
        pytest.param(HOLD_SECONDS, id="but not for long"),
    ],
)
def test_events_wait_while_bindings_are_under_way(
    recorder: EventRecorder, sink: Sink, clock: FakeClock, seconds: float
) -> None:
    looks: queue.Queue[None] = queue.Queue()
    under_way = threading.Event()
    under_way.set()

    def bindings_under_way() -> bool:
        looks.put(None)
        return under_way.is_set()

    recorder.record_event(failed())
    recorder.start(bindings_under_way)
    for _ in range(2):
        looks.get(timeout=30)
    assert not sink.created
    clock.advance(seconds)
    if not seconds:
        under_way.clear()
    until(lambda: sink.created)
    recorder.stop(30)
    assert sink.created[0]["eventTime"] == "2023-11-14T22:13:20.500000Z", "when it happened"


def test_a_long_note_is_cut(recorder: EventRecorder, sink: Sink) -> None:
    write(recorder, failed("ä" * 1000))
    note = sink.created[0]["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("ä ...")


def test_too_many_are_dropped_and_nobody_waits(recorder: EventRecorder, sink: Sink) -> None:
    write(recorder, *(failed(name=f"web-{number}") for number in range(BACKLOG + 5)))
    assert isinstance(recorder.observer, Counting)
    assert recorder.observer.drops == 5
    assert len(sink.created) == BACKLOG


def test_help_is_called_for_when_much_waits_and_goes_afterwards(
    recorder: EventRecorder, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, writing = threading.Event(), set[str]()

    def create(_kind: str, _namespace: str, body: Mapping[str, Any]) -> dict[str, Any]:
        writing.add(threading.current_thread().name)
        assert gate.wait(30)
        sink.created.append(dict(body))
        return dict(body)

    monkeypatch.setattr(sink, "create", create)
    recorder.start()
    share = BACKLOG // WRITERS
    for number in range(share):
        recorder.record_event(failed(name=f"web-{number}"))
    assert len(recorder._writers) == 1
    for number in range(2):
        recorder.record_event(failed(name=f"more-{number}"))
    assert len(recorder._writers) == 2
    gate.set()
    recorder.stop(30)
    assert len(sink.created) == share + 2
    assert writing == {writer.name for writer in recorder._writers}
    assert not any(writer.is_alive() for writer in recorder._writers)


@pytest.mark.parametrize(
    "failure",
    [PermissionDeniedError("no right"), ValueError("nonsense")],
    ids=["a rejection", "a defect"],
)
def test_a_failure_keeps_no_other_event_from_being_written(
    recorder: EventRecorder, sink: Sink, failure: Exception
) -> None:
    sink.failures.append(failure)
    write(recorder, failed(), failed(name="other"))
    assert sink.created[-1]["regarding"]["name"] == "other"


@pytest.mark.parametrize(
    ("unanswered", "written"),
    [
        pytest.param(TRIES - 1, ["first", "second"], id="the last try succeeds"),
        pytest.param(TRIES, ["second"], id="none does"),
    ],
)
def test_an_event_is_sent_again_while_there_is_no_answer(
    recorder: EventRecorder, sink: Sink, monkeypatch: pytest.MonkeyPatch, unanswered: int, written: list[str]
) -> None:
    monkeypatch.setattr("mooring.scheduler.recorder.PAUSE_SECONDS", 0.0)
    sink.failures += [UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")] * unanswered
    recorder.start()
    recorder.record_event(failed("first"))
    recorder.record_event(failed("second", "other"))
    until(lambda: sink.created and sink.created[-1]["note"] == "second")
    recorder.stop(30)
    assert [event["note"] for event in sink.created] == written


def test_nothing_is_said_of_events_in_a_namespace_that_ends(
    recorder: EventRecorder, sink: Sink, caplog: pytest.LogCaptureFixture
) -> None:
    sink.failures += [PermissionDeniedError("no new content", cause="NamespaceTerminating") for _ in range(3)]
    with caplog.at_level(logging.INFO, "mooring"):
        write(recorder, failed(), failed(), failed())
    assert caplog.messages == []
    assert sink.created == []


def test_a_repetition_of_an_event_that_is_not_there_is_written_as_a_new_one(
    recorder: EventRecorder, sink: Sink
) -> None:
    sink.failures.append(PermissionDeniedError("no right"))
    write(recorder, failed("first"), failed("second"))
    assert [event["note"] for event in sink.created] == ["second"]
