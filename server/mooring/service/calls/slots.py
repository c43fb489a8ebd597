"""Plugin slots: the few threads that run plugins' code, and what happens when one does not come back.

A call hands its work to a slot and waits until its deadline. If the work is still running then, the call is
answered with the name of the plugin; the slot's thread, which nothing can stop, is abandoned and replaced.
Waiting work of the level and the client that used least processor time is next.
Too many abandoned threads end the process: ``alive`` turns false, the kubelet restarts it, and
calls that wait for a slot are rejected as new ones are.
"""

import logging
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar

import grpc
from prometheus_client import Gauge

from mooring.framework.errors import DeadlineExceededError, ResourceExhaustedError
from mooring.service.calls.session_throttle import Ration, Rest
from mooring.serving.access.access import current_call, for_call
from mooring.serving.calls.layers import time_limit
from mooring.serving.calls.threads import waiting
from mooring.serving.shares import Level, ProcessorShares, level_of
from mooring.tracing.spans import carried

Result = TypeVar("Result")

MAX_STUCK_ABOUT_ONE_POD = 2
"""With this many threads stuck about one pod, calls about it are rejected. So a client that repeats calls
about a pod whose plugin never returns takes no more threads from others."""

JOB_SECONDS = 0.0005
"""Processor time that counts when a job begins: what a small one takes."""

log = logging.getLogger(__name__)


class SlotProgress:
    """The progress of the work in a slot, and the caller's deadline.

    The work sets ``plugin`` and ``extension_point`` before it calls a plugin and calls ``check`` between
    plugins; the waiting call reads them. Plain attributes, because an assignment must cost nothing.

    Attributes:
        extension_point: The running extension point, such as "Filter"; "" for none.
        deadline: When the caller stops waiting, in seconds of ``time.monotonic``.
        pod: The UID of the pod that it is about; "" until ``about`` sets it.
        answered_by: Afterwards ``cache``, or ``full`` with the reason in brackets.
    """

    may_call_plugins = True

    __slots__ = (
        "_admit",
        "_cancelled",
        "_rest",
        "answered_by",
        "deadline",
        "extension_point",
        "plugin",
        "pod",
    )

    def __init__(
        self,
        deadline: float,
        admit: Callable[[str], None] = lambda _: None,
        rest: Callable[[], None] | None = None,
    ) -> None:
        """``admit`` is called with the pod; it raises when no more work about it is taken. ``rest`` may
        sleep.
        """
        self.plugin = ""
        self.extension_point = ""
        self.answered_by = ""
        self.deadline = deadline
        self.pod = ""
        self._admit = admit
        self._rest = rest
        self._cancelled = False

    def about(self, pod: str) -> None:
        """Note that the work is about the pod with this UID from now on. Raises ResourceExhaustedError if too
        many threads are stuck about it.
        """
        self._admit(pod)
        self.pod = pod

    def cancel(self) -> None:
        """Make the next ``check`` raise. For when the caller has gone away."""
        self._cancelled = True

    def check(self) -> None:
        """Raise DeadlineExceededError if the caller no longer waits."""
        if self._rest is not None:
            self._rest()
        if self._cancelled or time.monotonic() >= self.deadline:
            raise self.exceeded()

    def exceeded(self) -> DeadlineExceededError:
        """Return the error for a caller whose deadline passed, with the name of the running plugin."""
        if not self.plugin:
            return DeadlineExceededError("the deadline passed; allow more time or request less")
        return DeadlineExceededError(
            f"the deadline passed while plugin {self.plugin} was running at {self.extension_point}; "
            "allow more time or check the plugin",
            plugin=self.plugin,
            extension_point=self.extension_point,
        )


class _Stage(Enum):
    QUEUED = auto()
    RUNNING = auto()
    DONE = auto()
    GIVEN_UP = auto()


@dataclass(slots=True, eq=False)
class _SlotJob:
    work: Callable[[SlotProgress], Any]
    progress: SlotProgress
    client: Hashable = None
    rest: Rest | None = None
    finished: threading.Lock = field(default_factory=threading.Lock)
    stage: _Stage = _Stage.QUEUED
    result: Any = None
    error: BaseException | None = None

    def finish(self) -> None:
        """Hand the job back to the thread that waits for it."""
        self.stage = _Stage.DONE
        self.finished.release()

    @property
    def where(self) -> str:
        """The extension point and plugin in which the work is, in words."""
        progress = self.progress
        if not progress.plugin:
            return "mooring itself"
        return f"plugin {progress.plugin} at {progress.extension_point}"


class _Turns:
    """Waiting jobs: the next one is of the level, and there of the client, with the least processor time for
    it. Not thread-safe.
    """

    def __init__(self) -> None:
        self.used = ProcessorShares()
        self._levels: dict[Level | None, dict[Hashable, deque[_SlotJob]]] = {}

    def add(self, job: _SlotJob) -> None:
        """Add ``job`` after the others of its client."""
        self._levels.setdefault(level_of(job.client), {}).setdefault(job.client, deque()).append(job)

    def next(self) -> _SlotJob | None:
        """Take out the next job; None when no caller waits for one."""
        return next(self.all(), None)

    def all(self) -> Iterator[_SlotJob]:
        """Take out all jobs for which a caller waits, in order."""
        while self._levels:
            level = min(self._levels, key=self.used.of_level)
            clients = self._levels.pop(level)
            client = min(clients, key=self.used.of)
            jobs = clients.pop(client)
            job = jobs.popleft()
            while jobs and job.stage is _Stage.GIVEN_UP:
                job = jobs.popleft()
            if jobs:
                clients[client] = jobs
            if clients:
                self._levels[level] = clients
            if job.stage is _Stage.QUEUED:
                self.used.add(client, JOB_SECONDS)
                yield job


class Slots:
    """A bounded number of worker threads for plugins' code. Thread-safe.

    Args:
        count: How many, 1 or more; default 4. More help only plugins that wait: on 2 cores, 8 calls of numpy
            plugins in flight did 669 calls/s with 1 slot, 534 with 2, 341 with 8.
        max_abandoned: How many threads may be stuck before new work is rejected, 0 or more; default 32.
        gauge: Set to the number of abandoned threads; optional.
    """

    def __init__(self, count: int = 4, max_abandoned: int = 32, gauge: Gauge | None = None) -> None:
        self._count = count
        self._max_abandoned = max_abandoned
        self._gauge = gauge
        self._turns = _Turns()
        self.used = self._turns.used
        self._wakes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """For each job True, and False for each thread that is to end."""
        self._ration: Ration | None = None
        self._lock = threading.Lock()
        self._workers = 0
        self._stuck: set[_SlotJob] = set()
        self._most_stuck = 0
        self._started = 0
        with self._lock:
            self._fill()

    def give_way_to(self, others: Callable[[], bool]) -> None:
        """Let all work here rest, as ``Ration`` says, while ``others`` says that there is more."""
        self._ration = Ration(others)

    @property
    def abandoned(self) -> int:
        """How many threads are stuck in work whose caller no longer waits."""
        return len(self._stuck)

    def alive(self) -> bool:
        """Return whether new work is taken: no more than ``max_abandoned`` threads are stuck."""
        return len(self._stuck) <= self._max_abandoned

    def fault(self) -> str:
        """Why no new work is taken: how many threads are stuck, and where; "" while it is taken."""
        return "" if self.alive() else self._too_many()

    def check(self) -> None:
        """Raise ResourceExhaustedError if too many threads are stuck: liveness then fails."""
        if not self.alive():
            raise self._rejection()

    def run(
        self,
        work: Callable[[SlotProgress], Result],
        deadline: float,
        on_cancel: Callable[[Callable[[], None]], object] | None = None,
        client: Hashable = None,
    ) -> Result:
        """Run the work in a slot and return its result, or raise what it raised.

        Args:
            work: Called with the Progress that it keeps up to date.
            deadline: When to stop waiting, in seconds of ``time.monotonic``.
            on_cancel: Registers a callback for when the caller goes away, such as ``context.add_callback``.
            client: The client of the work. The next job is of the client that used least processor time here
                in the last seconds.

        Raises:
            DeadlineExceededError: The deadline passed; it names the plugin that was running.
            ResourceExhaustedError: Too many threads are stuck.
        """
        self.check()
        rest = None if self._ration is None else Rest(self._ration)
        job = _SlotJob(work, SlotProgress(deadline, self._admit, rest), client, rest)
        if on_cancel is not None:
            on_cancel(job.progress.cancel)
        job.finished.acquire()
        with self._lock:
            self.check()
            self._turns.add(job)
            self._wakes.put(True)
        with waiting():
            in_time = job.finished.acquire(timeout=max(0.0, deadline - time.monotonic()))
        if not in_time and self._give_up(job):
            raise job.progress.exceeded()
        if job.error is not None:
            raise job.error
        result: Result = job.result
        return result

    def stop(self) -> None:
        """End the idle threads, and the busy ones when their work ends. Work that is queued still runs."""
        for _ in range(self._workers):
            self._wakes.put(False)

    def _give_up(self, job: _SlotJob) -> bool:
        """Give up the job; False if it was done in the meantime."""
        with self._lock:
            if job.stage is _Stage.DONE:
                return False
            running, job.stage = job.stage is _Stage.RUNNING, _Stage.GIVEN_UP
            if running:
                self._workers -= 1
                self._stuck.add(job)
                self._note_stuck(job)
                if self.alive():
                    self._fill()
                else:
                    self._reject_waiting()
            return True

    def _reject_waiting(self) -> None:
        """Reject the calls that wait for a slot: few will come free, and other replicas have some."""
        for job in self._turns.all():
            job.error = self._rejection()
            job.finish()

    def _admit(self, pod: str) -> None:
        if not self._stuck or not pod:
            return
        stuck = [job for job in tuple(self._stuck) if job.progress.pod == pod]
        if len(stuck) >= MAX_STUCK_ABOUT_ONE_POD:
            raise ResourceExhaustedError(
                f"{len(stuck)} workers are stuck about the pod with UID {pod!r}, one in {stuck[0].where}; "
                "check what the plugin waits for",
                reason="OVERLOADED",
            )

    def _rejection(self) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"{self._too_many()}; {self._max_abandoned} may be; retry at another replica",
            reason="WORKERS_ABANDONED",
        )

    def _too_many(self) -> str:
        places = Counter(job.where for job in tuple(self._stuck)).most_common()
        return f"too many workers are stuck: {', '.join(f'{count} in {where}' for where, count in places)}"

    def _fill(self) -> None:
        while self._workers < self._count:
            self._workers += 1
            self._started += 1
            threading.Thread(target=self._work, name=f"plugin-slot-{self._started}", daemon=True).start()

    def _work(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """Wait for a job and run it, keeping nothing of it; False if this thread is to end."""
        if not self._wakes.get():
            return False
        with self._lock:
            job = self._turns.next()
            if job is None:
                return True
            job.stage = _Stage.RUNNING
        if job.rest is not None:
            job.rest.begin()
        began = time.thread_time()
        try:
            job.result = job.work(job.progress)
        except BaseException as error:  # noqa: BLE001 - it is for the caller, which waits in ``run``
            job.error = error
        goes_on = self._finish(job, time.thread_time() - began)
        if job.rest is not None:
            job.rest.end()
        return goes_on

    def _finish(self, job: _SlotJob, used: float) -> bool:
        """Hands the job back; False if this thread was abandoned and another one has its place."""
        with self._lock:
            self._turns.used.add(job.client, max(0.0, used - JOB_SECONDS))
            if job.stage is not _Stage.GIVEN_UP:
                job.finish()
                return True
            self._stuck.discard(job)
            self._note_returned()
            if self._workers >= self._count:
                return False
            self._workers += 1
            return True

    def _note_stuck(self, job: _SlotJob) -> None:
        """Count a stuck thread, and log it if more are stuck than ever since all were free."""
        self._show()
        if len(self._stuck) > self._most_stuck:
            self._most_stuck = len(self._stuck)
            log.warning(
                "a call's deadline passed in %s, where its thread still is; stuck workers: %d, and beyond %d "
                "no calls are accepted; check what the plugin waits for",
                job.where,
                len(self._stuck),
                self._max_abandoned,
            )

    def _note_returned(self) -> None:
        self._show()
        if not self._stuck:
            self._most_stuck = 0
            log.info("no worker is stuck")

    def _show(self) -> None:
        if self._gauge is not None:
            self._gauge.set(len(self._stuck))


def in_slot(slots: Slots, context: grpc.ServicerContext, work: Callable[[SlotProgress], Result]) -> Result:
    """Run ``work`` in a slot once it is its client's turn."""
    call, work = current_call(), carried(work)
    return slots.run(
        lambda progress: for_call(call, work, progress),
        time_limit(context),
        context.add_callback,
        call.claimant,
    )
