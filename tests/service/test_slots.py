"""Plugin slots: bounded threads, deadlines with a name, abandoned workers."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry, Gauge

from mooring.framework import timely
from mooring.framework.errors import DeadlineExceededError, ResourceExhaustedError
from mooring.runtime.cycle.plugin_calls import Observer, PluginCalls
from mooring.service.calls.session_throttle import (
    CALL_SECONDS,
    LONGEST_REST_SECONDS,
    SHARE_BESIDE_OTHERS,
    Ration,
)
from mooring.service.calls.slots import MAX_STUCK_ABOUT_ONE_POD, SlotProgress, Slots
from tests.process import until
from tests.service.harness import LONG


def soon() -> float:
    """Return a deadline that passes at once."""
    return time.monotonic() + 0.01


def late() -> float:
    """Return a deadline that does not pass."""
    return time.monotonic() + LONG


def stuck(release: threading.Event, plugin: str = "Stuck") -> Callable[[SlotProgress], str]:
    def work(progress: SlotProgress) -> str:
        progress.plugin, progress.extension_point = plugin, "Score"
        release.wait(LONG)
        return "late"

    return work


def abandon(slots: Slots, release: threading.Event, count: int) -> None:
    # A deadline may pass before the work has begun; then no work is abandoned.
    while slots.abandoned < count:
        with pytest.raises(DeadlineExceededError):
            slots.run(stuck(release), time.monotonic() + 0.05)


def test_a_result_comes_back() -> None:
    slots = Slots(1)
    assert slots.run(lambda progress: progress.plugin + "done", late()) == "done"
    slots.stop()


def test_an_error_comes_back_as_it_was_raised() -> None:
    slots = Slots(1)

    def work(_: SlotProgress) -> None:
        raise KeyError("node-7")

    with pytest.raises(KeyError, match="node-7"):
        slots.run(work, late())
    assert slots.run(lambda _: 1, late()) == 1
    slots.stop()


def test_no_more_work_runs_at_once_than_there_are_slots() -> None:
    slots, release = Slots(2), threading.Event()
    running, most, lock = 0, 0, threading.Lock()

    def work(_: SlotProgress) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        release.wait(LONG)
        with lock:
            running -= 1

    with ThreadPoolExecutor(6) as callers:
        calls = [callers.submit(slots.run, work, late()) for _ in range(6)]
        until(lambda: running == 2)
        release.set()
        for call in calls:
            call.result()
    assert most == 2
    slots.stop()


def test_the_deadline_names_what_is_running() -> None:
    slots, release = Slots(1), threading.Event()
    with pytest.raises(DeadlineExceededError, match="plugin RackAffinity was running at Score") as raised:
        slots.run(stuck(release, "RackAffinity"), time.monotonic() + 1)
    assert raised.value.metadata == {"plugin": "RackAffinity", "extension_point": "Score"}
    release.set()
    slots.stop()


def test_an_abandoned_worker_is_replaced_counted_and_given_back() -> None:
    gauge = Gauge("abandoned", "-", registry=CollectorRegistry())
    before = threads()
    slots, release = Slots(1, max_abandoned=2, gauge=gauge), threading.Event()
    abandon(slots, release, 2)
    assert gauge._value.get() == 2
    assert slots.alive()
    assert slots.run(lambda _: "served", late()) == "served"
    release.set()
    until(lambda: slots.abandoned == 0)
    assert gauge._value.get() == 0
    assert slots.run(lambda _: "served", late()) == "served"
    until(lambda: len(threads() - before) == 1)
    slots.stop()
    until(lambda: not threads() - before)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("plugin-slot")}


def test_too_many_abandoned_workers_end_liveness_until_one_returns() -> None:
    slots, release = Slots(1, max_abandoned=1), threading.Event()
    abandon(slots, release, 2)
    assert not slots.alive()
    with pytest.raises(ResourceExhaustedError, match="stuck: 2 in plugin Stuck at Score; 1 may be") as raised:
        slots.run(lambda _: 1, late())
    assert raised.value.reason == "WORKERS_ABANDONED"
    release.set()
    until(slots.alive)
    assert slots.run(lambda _: "served", late()) == "served"
    slots.stop()


def test_calls_that_wait_when_too_many_workers_are_stuck_are_let_go_at_once() -> None:
    slots, begun, release = Slots(1, max_abandoned=0), threading.Event(), threading.Event()

    def work(progress: SlotProgress) -> str:
        begun.set()
        return stuck(release)(progress)

    with ThreadPoolExecutor(4) as callers:
        first = callers.submit(slots.run, work, time.monotonic() + 1)
        assert begun.wait(LONG)
        came: list[object] = []
        waiting = [callers.submit(slots.run, lambda _: "late", late(), came.append) for _ in range(3)]
        until(lambda: len(came) == 3)
        with pytest.raises(DeadlineExceededError):
            first.result()
        for call in waiting:
            with pytest.raises(ResourceExhaustedError, match="stuck: 1 in plugin Stuck at Score"):
                call.result(LONG / 2)
        assert not slots.alive()
        release.set()
        until(slots.alive)
        assert slots.run(lambda _: "served", late()) == "served"
    slots.stop()


def test_stuck_workers_are_logged_once_for_each_more_and_when_all_are_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slots, release = Slots(1, max_abandoned=2), threading.Event()
    with caplog.at_level(logging.INFO, "mooring"):
        abandon(slots, release, 2)
        release.set()
        until(lambda: slots.abandoned == 0)
        until(lambda: len(caplog.messages) == 3)
    slots.stop()
    stuck_text = (
        "a call's deadline passed in plugin Stuck at Score, where its thread still is; stuck workers: {}, "
        "and beyond 2 no calls are accepted; check what the plugin waits for"
    )
    assert caplog.messages == [*map(stuck_text.format, (1, 2)), "no worker is stuck"]


def test_work_that_got_no_slot_in_time_never_runs() -> None:
    slots, release, ran = Slots(1), threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as caller:
        first = caller.submit(slots.run, stuck(release), late())
        with pytest.raises(DeadlineExceededError):
            slots.run(lambda _: ran.set(), soon())
        release.set()
        assert first.result() == "late"
    assert slots.abandoned == 0
    assert slots.run(lambda _: ran.is_set(), late()) is False
    slots.stop()


@pytest.mark.parametrize(
    ("deadline", "cancelled", "raises"),
    [
        pytest.param(late, False, False, id="in time"),
        pytest.param(late, True, True, id="the client has gone"),
        pytest.param(lambda: time.monotonic() - 1, False, True, id="the deadline has passed"),
    ],
)
def test_work_can_ask_whether_anybody_still_waits(
    deadline: Callable[[], float], cancelled: bool, raises: bool
) -> None:
    progress = SlotProgress(deadline())
    if cancelled:
        progress.cancel()
    if raises:
        with pytest.raises(DeadlineExceededError):
            progress.check()
    else:
        progress.check()


def test_a_client_that_goes_away_reaches_the_work() -> None:
    slots = Slots(1)
    callbacks: list[Callable[[], None]] = []

    def work(progress: SlotProgress) -> None:
        callbacks[0]()
        progress.check()

    with pytest.raises(DeadlineExceededError):
        slots.run(work, late(), callbacks.append)
    slots.stop()


def test_a_worker_that_works_through_a_list_comes_back() -> None:
    slots, rounds, many = Slots(1, max_abandoned=0), [0], 100_000

    def plugin() -> None:
        for _ in timely(range(many)):
            rounds[0] += 1
            time.sleep(0.001)

    def work(progress: SlotProgress) -> None:
        PluginCalls("default", progress, Observer()).call("Thorough", "Filter", plugin)

    # The plugin notices the deadline, too, and may say so before the caller asks what was running.
    with pytest.raises(DeadlineExceededError, match=r"plugin Thorough was running|the deadline passed"):
        slots.run(work, time.monotonic() + 0.2)
    until(lambda: not slots.abandoned)
    assert 0 < rounds[0] < many
    assert slots.run(lambda _: 1, late()) == 1
    slots.stop()


def test_what_is_stuck_about_one_pod_takes_few_threads() -> None:
    slots, release = Slots(2, max_abandoned=8), threading.Event()

    def about(pod: str) -> Callable[[SlotProgress], str]:
        def work(progress: SlotProgress) -> str:
            progress.about(pod)
            return stuck(release)(progress)

        return work

    while slots.abandoned < MAX_STUCK_ABOUT_ONE_POD:
        with pytest.raises(DeadlineExceededError):
            slots.run(about("bad"), time.monotonic() + 0.05)
    for _ in range(20):
        with pytest.raises(ResourceExhaustedError, match="stuck about the pod with UID 'bad'") as rejected:
            slots.run(about("bad"), late())
        assert rejected.value.reason == "OVERLOADED"
    assert slots.abandoned == MAX_STUCK_ABOUT_ONE_POD
    assert slots.alive()
    release.set()
    assert slots.run(about("good"), late()) == "late"
    until(lambda: not slots.abandoned)
    assert slots.run(about("bad"), late()) == "late"
    slots.stop()


def test_clients_have_their_work_run_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    slots, release, queued = Slots(1), threading.Event(), threading.Semaphore(0)
    order: list[str] = []

    @contextmanager
    def waiting() -> Iterator[None]:
        queued.release()
        yield

    def work(name: str) -> Callable[[SlotProgress], None]:
        return lambda _: order.append(name)

    monkeypatch.setattr("mooring.service.calls.slots.waiting", waiting)
    with ThreadPoolExecutor(8) as callers:

        def begin(work: Callable[[SlotProgress], object], deadline: float, client: str) -> Future[object]:
            call = callers.submit(slots.run, work, deadline, None, client)
            assert queued.acquire(timeout=LONG)
            return call

        calls = [begin(stuck(release), late(), "greedy")]
        with pytest.raises(DeadlineExceededError):
            begin(work("given up"), soon(), "modest").result()
        calls += [begin(work(f"greedy {at}"), late(), "greedy") for at in range(4)]
        calls += [begin(work(f"modest {at}"), late(), "modest") for at in range(2)]
        calls += [begin(work("new"), late(), "new")]
        release.set()
        for call in calls:
            call.result()
    assert order[:3] in (["modest 0", "new", "greedy 0"], ["new", "modest 0", "greedy 0"])
    assert order[3:] == ["modest 1", "greedy 1", "greedy 2", "greedy 3"]
    slots.stop()


@dataclass
class Clock:
    """Stands in for ``time`` where work gives way: it goes on by hand, and sleeping takes no time."""

    worked: float = 0.0
    slept: list[float] = field(default_factory=list)

    def thread_time(self) -> float:
        return self.worked

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("mooring.service.calls.session_throttle.time", clock)
    return clock


@pytest.mark.parametrize(
    ("busy", "worked"),
    [
        pytest.param(True, [0.004, 0.008, 0.008 + CALL_SECONDS], id="others work"),
        pytest.param(False, [], id="alone"),
    ],
)
def test_slots_that_give_way_rest_for_a_multiple_of_what_they_worked(
    busy: bool, worked: list[float], clock: Clock
) -> None:
    slots = Slots(1)
    slots.give_way_to(lambda: busy)

    def work(progress: SlotProgress) -> str:
        for _ in range(2):
            clock.worked += 0.004
            progress.check()
        return "done"

    try:
        assert slots.run(work, late()) == "done"
        # The thread that worked goes on to rest.
        until(lambda: len(clock.slept) == len(worked))
    finally:
        slots.stop()
    assert clock.slept == pytest.approx([each / SHARE_BESIDE_OTHERS for each in worked])


def test_threads_that_give_way_rest_for_each_other(clock: Clock) -> None:
    ration = Ration(lambda: True)
    for _ in range(3):
        ration.spend(0.002)
    assert clock.slept == pytest.approx([0.002 * count / SHARE_BESIDE_OTHERS for count in (1, 2, 3)])


def test_long_work_is_rested_for_no_longer_than_others_can_wait(clock: Clock) -> None:
    Ration(lambda: True).spend(1.0)
    assert clock.slept == [LONGEST_REST_SECONDS]
