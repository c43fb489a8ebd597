"""Waits for the requests of calls outside the threads that answer them.

grpcio's threaded server gives a call to a thread as soon as its headers are there, and the thread waits for
the request. A client that opens streams and sends nothing thus takes every thread. Here the thread that
receives gRPC's events starts the read and learns when it is done; only then does the call go to a thread.
A call that waits holds some 25 kB and no thread, and a good one is spared a switch of threads.

grpcio has no public way to do this. ``Arrivals.submit``, ``inside_of`` and ``certificate_of`` alone use its
inside.
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import grpc
from grpc import _server
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # missing in grpcio's types

from mooring.serving.calls.memory import Share
from mooring.serving.calls.threads import Threads
from mooring.telemetry.metrics import Metrics

MAX_WAITING: Final = 16_384
"""Calls that may wait for their request; a good one waits less than a millisecond."""

ENDED_AT_ONCE: Final = 20
"""Overdue calls that are ended together,"""
PAUSE_SECONDS: Final = 0.02
"""and the pause after them. Who opens a new stream for each that is ended would set the server's pace
otherwise: so it is 1,000 streams/s at most, a tenth of a processor, however many there are."""


class Arrival:
    """The request of one call.

    Attributes:
        began: When the call came, in seconds of ``time.perf_counter``.
        body: The serialised request; None if the caller ended without one, or when it was taken out.
        share: The share of the memory for all bodies that this one takes, once the call is taken.
        fault: Why the call can't be answered.
        more: The requests after the first one.
    """

    __slots__ = ("_forget", "began", "body", "call", "due", "fault", "more", "overdue", "share")

    def __init__(
        self, call: Any, due: float, more: Iterator[bytes], forget: Callable[[Arrival], None]
    ) -> None:
        self.began = time.perf_counter()
        self.body: bytes | None = None
        self.share: Share
        self.fault: Exception | None = None
        self.more = more
        self.call = call
        self.due = due
        self.overdue = False
        self._forget = forget

    def settle(self) -> None:
        """Keep the call from being ended as overdue."""
        self._forget(self)


def inside_of(context: grpc.ServicerContext) -> Any:
    """Return the call of grpcio's inside."""
    return context._rpc_event.call  # type: ignore[attr-defined]  # noqa: SLF001


def certificate_of(call: Any) -> bytes:
    """Return the verified certificate of the client of a call of grpcio's inside, PEM; b"" without one.

    A context's ``auth_context`` has it, too, but decodes all properties of the connection first: 3 µs a call.
    """
    # gRPC's own names end at a NUL, so that kube-scheduler\0.evil would be kube-scheduler.
    shown = cygrpc.auth_context(call).get(b"x509_pem_cert", ())
    found: bytes = shown[0] if shown else b""
    return found


class Method(ABC):
    """A method whose calls have an ``Arrival`` instead of grpcio's iterator of requests. Thread-safe.

    By default calls are not counted.
    """

    @abstractmethod
    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> Any:
        """Answers a call, in a thread of its own."""

    def begun(self) -> None:  # noqa: B027 - counting is optional
        """Count a call that has begun. Must not wait or raise."""

    @abstractmethod
    def takes(self, arrival: Arrival) -> bool:
        """Return whether a call whose request has arrived gets a thread. It settles the arrival when it is in
        time.

        A call that gets none is ended when it is overdue. Must not wait or raise.
        """

    def ended(self, arrival: Arrival, code: grpc.StatusCode) -> None:  # noqa: B027 - as above
        """Count a call that ended before its request arrived. Must not wait or raise."""


class Arrivals:
    """The executor of a ``grpc.server`` all of whose methods are ``Method``s. Thread-safe.

    Args:
        threads: The threads in which calls run once their request has arrived.
        metrics: Counts the calls whose request doesn't arrive.
        seconds: How long a request may take to arrive, or up to a quarter more, in time that this process
            had; default 2. Longer if more than 1,000 calls become overdue each second; shorter for the
            oldest if more than ``most`` wait.
        most: How many calls may wait.
    """

    def __init__(
        self, threads: Threads, metrics: Metrics, seconds: float = 2.0, most: int = MAX_WAITING
    ) -> None:
        self._threads = threads
        self._metrics = metrics
        self._seconds = seconds
        self._pause = seconds / 8
        self._clock = 0.0
        self._most = most
        self._lock = threading.Lock()
        self._waiting: dict[Arrival, None] = {}
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begins to end calls that are overdue."""
        threading.Thread(target=self._reap, name="overdue-calls", daemon=True).start()

    def stop(self) -> None:
        """Stop: no more calls are ended."""
        self._stopped.set()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> None:
        """Run a call once its request has arrived. grpcio would only count it by a future."""
        in_pool, event, state, method, requests, *rest = args
        arrival = Arrival(event.call, self._clock + self._seconds + self._pause, requests(), self._forget)
        run = partial(fn, in_pool, event, state, method, lambda: arrival, *rest)
        received = _server._receive_message(state, event.call, None)  # noqa: SLF001

        def arrived(batch: Any) -> Any:
            finished = received(batch)
            arrival.body, state.request = state.request, None
            if arrival.overdue:
                method.ended(arrival, grpc.StatusCode.DEADLINE_EXCEEDED)
            elif state.client is _server._CANCELLED:  # noqa: SLF001
                arrival.settle()
                method.ended(arrival, grpc.StatusCode.CANCELLED)
            elif method.takes(arrival):
                self._threads.start(run)
            return finished

        method.begun()
        self._remember(arrival)
        event.call.start_server_batch((cygrpc.ReceiveMessageOperation(0),), arrived)
        state.due.add(_server._RECEIVE_MESSAGE_TOKEN)  # noqa: SLF001

    def _remember(self, arrival: Arrival) -> None:
        with self._lock:
            self._waiting[arrival] = None
            crowded = len(self._waiting) > self._most
        if crowded:
            self._end_oldest(math.inf)

    def _forget(self, arrival: Arrival) -> None:
        with self._lock:
            self._waiting.pop(arrival, None)

    def _reap(self) -> None:
        pause, looked = self._pause, time.monotonic()
        while not self._stopped.wait(pause):
            now = time.monotonic()
            # While a process is stopped it doesn't read the requests that arrive: they are not late.
            self._clock += min(now - looked, 2 * self._pause)
            looked = now
            full = all(self._end_oldest(self._clock) for _ in range(ENDED_AT_ONCE))
            pause = PAUSE_SECONDS if full else self._pause

    def _end_oldest(self, now: float) -> bool:
        """End the call that has waited longest if it is overdue; return whether it was."""
        with self._lock:
            oldest = next(iter(self._waiting), None)
            if oldest is None or oldest.due > now:
                return False
            del self._waiting[oldest]
            oldest.overdue = True
        self._metrics.body_timeouts.inc()
        oldest.call.cancel()
        return True
