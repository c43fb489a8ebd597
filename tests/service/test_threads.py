"""The number of parallel calls, and the order in which calls make room for others."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import grpc
import pytest

from mooring.serving.calls.incoming_calls import Arrival
from mooring.serving.calls.pipeline import Streams
from mooring.serving.calls.threads import AT_WORK, Threads, waiting
from tests.process import until
from tests.service.harness import LONG


class Gate:
    """Calls that stay until it opens, and how many are there."""

    def __init__(self, threads: Threads, *, announced: bool = False) -> None:
        self._threads = threads
        self._around: Callable[[], Any] = waiting if announced else nullcontext
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside = self.most_inside = 0
        self.names: list[str] = []

    def enter(self, count: int) -> list[Future[None]]:
        return [self._threads.submit(self._stay) for _ in range(count)]

    def open(self) -> None:
        self._open.set()

    def _stay(self) -> None:
        with self._lock:
            self.inside += 1
            self.most_inside = max(self.inside, self.most_inside)
            self.names.append(threading.current_thread().name)
        with self._around():
            self._open.wait(LONG)
        with self._lock:
            self.inside -= 1


@contextmanager
def threads_of(name: str, most: int = 64, standstill: float = LONG) -> Iterator[Threads]:
    threads = Threads(most, name, standstill)
    try:
        yield threads
    finally:
        threads.shutdown()
        until(lambda: not any(thread.name.startswith(name) for thread in threading.enumerate()))


def test_calls_work_one_after_the_other() -> None:
    with threads_of("few") as threads:
        gate = Gate(threads)
        calls = gate.enter(40)
        until(lambda: gate.inside == AT_WORK)
        gate.open()
        wait(calls, LONG)
    assert gate.most_inside == AT_WORK


def test_calls_begin_in_the_order_in_which_they_came() -> None:
    with threads_of("order", most=1) as threads:
        begun: list[int] = []
        wait([threads.submit(begun.append, number) for number in range(20)], LONG)
    assert begun == list(range(20))


def test_what_a_call_raises_that_nobody_waits_for_is_logged_and_its_thread_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names: list[str] = []

    def fail() -> None:
        names.append(threading.current_thread().name)
        raise RuntimeError("broken")

    with threads_of("unheard", most=1) as threads:
        for _ in range(2):
            threads.start(fail)
        until(lambda: len(caplog.records) == 2)
    assert len(names) == 2
    assert len(set(names)) == 1
    assert "RuntimeError: broken" in caplog.text


def test_the_thread_that_was_idle_last_works_next() -> None:
    with threads_of("again") as threads:
        gate = Gate(threads, announced=True)
        calls = gate.enter(3)
        until(lambda: gate.inside == 3)
        gate.open()
        wait(calls, LONG)
        names = {threads.submit(lambda: threading.current_thread().name).result(LONG) for _ in range(20)}
    assert len(names) < 3


@pytest.mark.parametrize(
    ("announced", "standstill"),
    [pytest.param(True, LONG, id="who says so"), pytest.param(False, 0.01, id="who is found out")],
)
def test_calls_that_wait_hold_up_nobody(announced: bool, standstill: float) -> None:
    with threads_of("wait", standstill=standstill) as threads:
        gate = Gate(threads, announced=announced)
        gate.enter(3 * AT_WORK)
        until(lambda: gate.inside == 3 * AT_WORK)
        assert threads.submit(str, 5).result(LONG) == "5"
        gate.open()


def test_a_stream_holds_up_nobody_until_its_next_message() -> None:
    asked, ended = threading.Event(), threading.Event()

    def more() -> Iterator[bytes]:
        asked.set()
        ended.wait(LONG)
        yield b"second"

    stream = Streams(lambda messages, _: messages, bytes)
    arrival = Arrival(None, 0.0, more(), lambda _: None)
    arrival.body = b"first"
    assert stream.takes(arrival)
    with threads_of("stream") as threads:
        answers = threads.submit(lambda: list(stream(arrival, cast("grpc.ServicerContext", None))))
        assert asked.wait(LONG)
        assert threads.submit(str, 5).result(LONG) == "5"
        ended.set()
        assert answers.result(LONG) == [b"first", b"second"]


def test_who_has_waited_counts_again() -> None:
    with threads_of("back") as threads:
        came, leave = threading.Semaphore(0), threading.Event()
        order: list[str] = []

        def wait_and_work() -> None:
            with waiting():
                pass
            came.release()
            leave.wait(LONG)
            order.append("worked")

        for _ in range(AT_WORK):
            threads.submit(wait_and_work)
            assert came.acquire(timeout=LONG)
        queued = threads.submit(order.append, "began")
        # Not what decides: it gives a call that is not queued the time to begin too early.
        wait([queued], 0.05)
        leave.set()
        queued.result(LONG)
    assert order[0] == "worked"


def test_there_are_never_more_threads_than_allowed() -> None:
    with threads_of("most", most=2) as threads:
        gate = Gate(threads, announced=True)
        calls = gate.enter(5)
        until(lambda: gate.inside == 2)
        gate.open()
        wait(calls, LONG)
    assert len(gate.names) == 5
    assert len(set(gate.names)) == 2


def test_an_error_comes_back_as_it_was_raised() -> None:
    with threads_of("error") as threads, pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(LONG)


def test_a_call_that_was_called_off_does_not_run() -> None:
    with threads_of("off", most=1) as threads:
        gate = Gate(threads)
        [first, second] = gate.enter(2)
        until(lambda: gate.inside == 1)
        assert second.cancel()
        gate.open()
        first.result(LONG)
    assert len(gate.names) == 1


def test_after_the_end_no_call_is_taken() -> None:
    with threads_of("end") as threads:
        threads.shutdown()
        with pytest.raises(RuntimeError, match="shut down"):
            threads.submit(str)


def test_waiting_means_nothing_to_other_threads() -> None:
    with waiting():
        pass
