"""What every unary call passes on its way in and out: metrics, errors, the body,
access, admission and the deadline.

The layers are plain functions around the servicer's method, outermost first: `metered`, `mapped`, `received`,
`permitted`, `admitted`. grpcio waits for a unary request's body inside a worker thread, for ever; so the
method is offered in its stream-unary form, which is the same on the wire, takes its one message from the
iterator, and one thread cancels calls whose message does not arrive.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from mooring.framework.args import FieldError
from mooring.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnimplementedError,
)
from mooring.service.access import Access
from mooring.service.errors import abort
from mooring.service.metrics import MethodMetrics, Metrics

Behavior = Callable[[Any, grpc.ServicerContext], Any]
"""A method of a servicer: (request, context) to response. Messages differ by method, hence Any."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

LONGEST_SECONDS = 60.0
"""How long a call may take that has no deadline, or a later one."""

ANSWER_SHARE = 0.05
"""The part of a call's remaining time that is kept for sending the answer,"""
ANSWER_SECONDS = 0.1
"""and its upper bound: after the client's own clock has run out, the details of an error are lost."""


def time_limit(context: grpc.ServicerContext) -> float:
    """When the work of a call must end, on `time.monotonic`: its deadline, less the time to answer.

    Raises:
        DeadlineExceededError: The deadline has passed already.
    """
    remaining = min(context.time_remaining(), LONGEST_SECONDS)
    if remaining <= 0:
        raise DeadlineExceededError("the deadline had passed before the work began; allow more time")
    return time.monotonic() + remaining - min(ANSWER_SECONDS, ANSWER_SHARE * remaining)


class BodyTimeout:
    """Cancels calls whose request has not arrived in time. One thread for all calls; thread-safe.

    Args:
        seconds: How long a request may take to arrive; default 2.
    """

    def __init__(self, metrics: Metrics, seconds: float = 2.0) -> None:
        self._metrics = metrics
        self._seconds = seconds
        self._waits: deque[_Wait] = deque()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._reap, name="body-timeout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread. Calls that still wait are left alone."""
        self._stopped.set()

    def take(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes | None:
        """The one message of a call; None if the client closed without one.

        Raises:
            DeadlineExceededError: It did not arrive in time, and the call is cancelled.
            Exception: The client cancelled the call.
        """
        wait = _Wait(time.monotonic() + self._seconds, context)
        self._waits.append(wait)
        try:
            return next(requests, None)
        finally:
            wait.context = None
            if wait.expired:
                # The cancelled call has its end on the wire already; the code is for the metrics.
                context.set_code(grpc.StatusCode.DEADLINE_EXCEEDED)
                raise DeadlineExceededError(f"the request did not arrive within {self._seconds} s")

    def _reap(self) -> None:
        # All waits last equally long, so the oldest is always first.
        while not self._stopped.wait(self._seconds / 8):
            now = time.monotonic()
            while self._waits and (self._waits[0].context is None or self._waits[0].until <= now):
                self._expire(self._waits.popleft())

    def _expire(self, wait: _Wait) -> None:
        context = wait.context
        if context is not None:
            wait.expired = True
            self._metrics.body_timeouts.inc()
            context.cancel()


class _Wait:
    """A call that waits for its request; without a context once it has it."""

    __slots__ = ("context", "expired", "until")

    def __init__(self, until: float, context: grpc.ServicerContext) -> None:
        self.until = until
        self.expired = False
        self.context: grpc.ServicerContext | None = context


class Admission:
    """Counts the calls that are worked on and refuses those that are too many. Thread-safe.

    The count is taken after the request has arrived: a call without a body takes nobody's place.
    """

    def __init__(self, metrics: Metrics, limit: int) -> None:
        self._metrics = metrics
        self._limit = limit
        self._lock = threading.Lock()
        self._inflight = 0
        metrics.inflight_calls.set_function(lambda: self._inflight)

    def enter(self) -> None:
        """Counts a call in. Raises ResourceExhaustedError if there are `limit` already."""
        with self._lock:
            if self._inflight < self._limit:
                self._inflight += 1
                return
        self._metrics.shed_calls.inc()
        raise ResourceExhaustedError(
            f"{self._limit} calls are being worked on, which is the limit; retry after a pause",
            reason="OVERLOADED",
        )

    def leave(self) -> None:
        """Counts a call out."""
        with self._lock:
            self._inflight -= 1


class Pipeline(grpc.ServerInterceptor):
    """The one interceptor of the server: puts the layers around every unary method, once per method.

    Methods that stream (of reflection) and unknown ones are left as they are.
    """

    def __init__(self, metrics: Metrics, bodies: BodyTimeout, admission: Admission, access: Access) -> None:
        self._metrics = metrics
        self._bodies = bodies
        self._admission = admission
        self._access = access
        self._handlers: dict[str, Handler] = {}

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        method = handler_call_details.method
        known = self._handlers.get(method)
        if known is not None:
            return known
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        return self._handlers.setdefault(method, self._wrapped(method, handler))

    def _wrapped(self, method: str, handler: Handler) -> Handler:
        if handler.unary_unary is None or handler.request_deserializer is None:
            raise TypeError(f"{method} is no unary method of a generated servicer")
        meters = MethodMetrics(self._metrics, method)
        behavior = admitted(handler.unary_unary, self._admission)
        behavior = permitted(behavior, method, self._access)
        behavior = received(behavior, handler.request_deserializer, self._bodies, meters)
        # Without a deserializer the iterator yields bytes, so that malformed ones are an error of our own.
        return grpc.stream_unary_rpc_method_handler(
            metered(mapped(behavior), meters), None, handler.response_serializer
        )


def metered(behavior: Behavior, meters: MethodMetrics) -> Behavior:
    """Counts starts and ends by code, and measures the time between them."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        meters.started.inc()
        began = time.perf_counter()
        code = None
        try:
            response = behavior(request, context)
            code = grpc.StatusCode.OK if context.is_active() else None
        except Exception:
            code = _code_of(context)
            raise
        finally:
            meters.handling.observe(time.perf_counter() - began)
            meters.handled[code or _code_of_ended(context)].inc()
        meters.sent.inc()
        return response

    return call


def _code_of(context: grpc.ServicerContext) -> grpc.StatusCode | None:
    code = context.code()  # type: ignore[attr-defined]  # missing in grpcio's types
    return code if isinstance(code, grpc.StatusCode) else None


def _code_of_ended(context: grpc.ServicerContext) -> grpc.StatusCode:
    # A call that the client or a clock has ended has no code of its own.
    return grpc.StatusCode.CANCELLED if context.time_remaining() > 0 else grpc.StatusCode.DEADLINE_EXCEEDED


def mapped(behavior: Behavior) -> Behavior:
    """Ends the call by the table of errors if it raises, so that nobody sees a bare UNKNOWN."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return behavior(request, context)
        except Exception as error:
            if not context.is_active():
                raise
            # The generated servicer sets the code of a method that nobody has written.
            if _code_of(context) is grpc.StatusCode.UNIMPLEMENTED:
                abort(context, UnimplementedError("not offered by this server; see GetCapabilities"))
            abort(context, error)

    return call


def received(
    behavior: Behavior, deserialize: Callable[[bytes], Any], bodies: BodyTimeout, meters: MethodMetrics
) -> Behavior:
    """Turns the iterator of a stream-unary method into its one request."""

    def call(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
        body = bodies.take(requests, context)
        if body is None:
            raise InvalidArgumentError([FieldError("", "the call ended without a request; send one message")])
        meters.received.inc()
        try:
            request = deserialize(body)
        except DecodeError as error:
            fault = FieldError("", "the request is no message of this method; compare the .proto files")
            raise InvalidArgumentError([fault]) from error
        del body
        return behavior(request, context)

    return call


def permitted(behavior: Behavior, method: str, access: Access) -> Behavior:
    """Refuses calls that change something, from clients that may not."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        access.check(method, request, context)
        return behavior(request, context)

    return call


def admitted(behavior: Behavior, admission: Admission) -> Behavior:
    """Refuses calls that are too many, and those whose time has passed."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        admission.enter()
        try:
            time_limit(context)
            return behavior(request, context)
        finally:
            admission.leave()

    return call
