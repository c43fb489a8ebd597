"""The threads that gRPC's calls run in: one at work, and others while that one waits.

Only one thread at a time runs Python. Calls in flight gain nothing from threads of their own: they take turns
at the interpreter's lock, and each turn wakes a thread that has left the processor's caches. Yet none may
hold up the others by waiting, so a thread that waits makes room.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Final, ParamSpec, TypeAlias, TypeVar

log = logging.getLogger(__name__)

Job: TypeAlias = Callable[[], object]

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

AT_WORK: Final = 1
"""Threads that work at once. With 4, batches of 100 pods, 8 batches in flight, took a fifth more of the
server's processor time, and calls of Schedule over 50 connections a tenth."""

STANDSTILL_SECONDS: Final = 0.01
"""Usually longer than a working thread needs for a call."""

_current = threading.local()


@contextmanager
def waiting() -> Iterator[None]:
    """Lets another call run while this one waits for another thread; does nothing outside these threads."""
    worker: _Worker | None = getattr(_current, "worker", None)
    if worker is None:
        yield
        return
    worker.threads.make_room(worker)
    try:
        yield
    finally:
        worker.threads.take_room(worker)


def awaited(items: Iterator[Result]) -> Iterator[Result]:
    """Each of ``items``, while other calls run until it is there."""
    while True:
        with waiting():
            item = next(items, None)
        if item is None:
            return
        yield item


def _fulfil(future: Future[Result], work: Callable[[], Result]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - it is for the future's reader
        future.set_exception(error)
    else:
        future.set_result(result)


class Threads(Executor):
    """Runs calls in the order in which they come, ``AT_WORK`` at once and more while those wait. Thread-safe.

    Threads are made on demand and reused; the one that became idle last works next. Code that waits for a
    plugin slot says so with ``waiting``. Other waiting, as for the next message of a stream, is detected:
    when no call begins for a while, those at work no longer count, and all that are queued get threads.

    Args:
        most: How many threads there may be, 1 or more.
        standstill: Seconds during which no queued call begins, after which each gets a thread.
    """

    def __init__(self, most: int, name: str, standstill: float = STANDSTILL_SECONDS) -> None:
        self._most = most
        self._name = name
        self._standstill = standstill
        self._lock = threading.Lock()
        self._queue: deque[Job] = deque()
        self._crowded = threading.Event()
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._at_work = 0
        self._begun = 0
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name=f"{name}-watch", daemon=True).start()

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Run a call as soon as it has its turn. Raises RuntimeError if this was shut down."""
        future: Future[Result] = Future()
        self.start(partial(_fulfil, future, partial(fn, *args, **kwargs)))
        return future

    def start(self, job: Job) -> None:
        """``submit`` for a call without a caller that waits; its exceptions are logged.

        A future is a lock and a condition, which cost a call more than its way into a thread.
        """
        with self._lock:
            if self._ended.is_set():
                raise RuntimeError("a call came after the threads were shut down")
            if self._at_work >= AT_WORK or not self._engage(job):
                self._queue.append(job)
                self._crowded.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the idle threads, and the others when no call is left; waits for none, cancels none."""
        with self._lock:
            self._ended.set()
            for worker in self._idle:
                worker.wake.release()
            self._idle.clear()
            self._crowded.set()

    def make_room(self, worker: _Worker) -> None:
        """Count ``worker`` no more, and give its place to a call that is queued."""
        with self._lock:
            self._discount(worker)
            if self._queue and self._at_work < AT_WORK and self._engage(self._queue[0]):
                self._queue.popleft()

    def take_room(self, worker: _Worker) -> None:
        """Count ``worker`` again: what it waited for is there."""
        with self._lock:
            self._count(worker)

    def next_job(self, worker: _Worker) -> Job | None:
        """Return what ``worker`` is to do after a call; None when it is to wait, or to end."""
        with self._lock:
            self._discount(worker)
            if self._queue and self._at_work < AT_WORK:
                self._count(worker)
                return self._queue.popleft()
            if self._ended.is_set():
                worker.wake.release()
            else:
                self._idle.append(worker)
            return None

    def _engage(self, job: Job) -> bool:
        """Give ``job`` to an idle thread or a new one; False if there may be no more. The lock is held."""
        if self._idle:
            worker = self._idle.pop()
            worker.job = job
            self._count(worker)
            worker.wake.release()
            return True
        if len(self._workers) >= self._most:
            return False
        worker = _Worker(self, job)
        self._workers.append(worker)
        self._count(worker)
        threading.Thread(target=worker.work, name=f"{self._name}-{len(self._workers)}", daemon=True).start()
        return True

    def _count(self, worker: _Worker) -> None:
        self._begun += 1
        self._at_work += not worker.counts
        worker.counts = True

    def _discount(self, worker: _Worker) -> None:
        self._at_work -= worker.counts
        worker.counts = False

    def _watch(self) -> None:
        """Look for standstills while calls are queued."""
        while not self._ended.is_set():
            self._crowded.wait()
            begun = self._begun
            self._ended.wait(self._standstill)
            with self._lock:
                if not self._queue:
                    self._crowded.clear()
                elif begun == self._begun:
                    self._relieve()

    def _relieve(self) -> None:
        for worker in self._workers:
            self._discount(worker)
        while self._queue and self._engage(self._queue[0]):
            self._queue.popleft()


class _Worker:
    """One thread: what it is to do, and whether it counts as one that is at work."""

    __slots__ = ("counts", "job", "threads", "wake")

    def __init__(self, threads: Threads, job: Job) -> None:
        self.threads = threads
        self.job: Job | None = job
        self.wake = threading.Lock()
        self.wake.acquire()
        self.counts = False

    def work(self) -> None:
        _current.worker = self
        while (job := self.job) is not None:
            self.job = None
            while job is not None:
                try:
                    job()
                except BaseException:  # later work must not be lost with this thread
                    log.exception("background call failed")
                # Nothing of a call is kept while waiting for the next one.
                del job
                job = self.threads.next_job(self)
            self.wake.acquire()
