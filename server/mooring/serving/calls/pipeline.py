"""The steps of every call: metrics, errors, the request, steps that a server adds, deadlines.

The layers of a unary method are plain functions around the servicer's, outermost first: ``traced``,
``mapped``, ``received``, then those of the server, such as ``admitted``; ``Unary`` counts around them. It is
offered in its stream-unary form, which is the same on the wire, so that its request is bytes that arrive
outside the threads (``incoming_calls.py``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from itertools import chain
from math import inf
from typing import Any, NoReturn, TypeAlias, TypeVar

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from mooring.framework.args import FieldError
from mooring.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    MooringError,
    ResourceExhaustedError,
    UnimplementedError,
)
from mooring.serving.calls.errors import abort, failure_of
from mooring.serving.calls.incoming_calls import Arrival, Method, caller
from mooring.serving.calls.memory import MemoryBudget, Share
from mooring.serving.calls.pools import CallPool, client_of
from mooring.serving.calls.reading import Reader, decompressed, is_compressed, no_message
from mooring.serving.calls.threads import awaited, waiting
from mooring.serving.clients import for_client
from mooring.telemetry.metrics import MethodMetrics, Metrics
from mooring.tracing.spans import Entered, Tracer

Behavior = Callable[[Any, grpc.ServicerContext], Any]
"""A method of a servicer: (request, context) to response. Messages differ by method, hence Any."""

Response = TypeVar("Response")

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

LONGEST_SECONDS = 60.0
"""How long a call may take that has no deadline, or a later one."""

ANSWER_SHARE = 0.05
"""The part of a call's remaining time that is kept for sending the answer,"""
ANSWER_SECONDS = 0.1
"""and its upper bound: after the client's own clock has run out, the details of an error are lost."""

_SERVER_ERRORS = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""Codes with which a server's span has failed, by OpenTelemetry's conventions."""

log = logging.getLogger(__name__)


def time_limit(context: grpc.ServicerContext) -> float:
    """When the work of a call must end, on ``time.monotonic``: its deadline, less the time to answer.

    Raises:
        DeadlineExceededError: The deadline has passed already.
    """
    remaining = min(context.time_remaining(), LONGEST_SECONDS)
    if remaining <= 0:
        raise DeadlineExceededError("the deadline had passed before the work began; allow more time")
    return time.monotonic() + remaining - min(ANSWER_SECONDS, ANSWER_SHARE * remaining)


class Pipeline(grpc.ServerInterceptor):
    """The one interceptor of a listener: puts the layers around every method, once per method.

    Args:
        metrics: Counts the calls.
        budget: The memory that all bodies share.
        layer: Puts what the server does of its own around a method of that name.
        tracer: Decides which calls are traced; None = none.
        trusts: Whether a caller may have its call traced. Default: none may.
    """

    def __init__(
        self,
        metrics: Metrics,
        budget: MemoryBudget,
        layer: Callable[[Behavior, str], Behavior],
        tracer: Tracer | None = None,
        trusts: Callable[[grpc.ServicerContext], bool] = lambda _: False,
    ) -> None:
        self._metrics = metrics
        self._tracer = tracer
        self._trusts = trusts
        self._budget = budget
        self._layer = layer
        self._callers = EndedByCallers()
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
        if handler is None:
            return grpc.stream_unary_rpc_method_handler(Unknown(method))
        return self._handlers.setdefault(method, self._wrapped(method, handler))

    def _wrapped(self, method: str, handler: Handler) -> Handler:
        # Without a deserializer requests are bytes, so that malformed ones are an error of our own.
        deserialize = handler.request_deserializer
        if deserialize is None:
            raise TypeError(f"{method} has no request deserializer; register generated servicers")
        if handler.unary_unary is not None:
            meters = MethodMetrics(self._metrics, method)
            behavior = self._layer(handler.unary_unary, method)
            behavior = mapped(received(behavior, Reader(deserialize, _request_type(method)), meters), method)
            if self._tracer is not None:
                behavior = traced(behavior, method, self._tracer, self._trusts)
            unary = Unary(behavior, self._budget, meters, partial(self._callers.ended, method))
            return grpc.stream_unary_rpc_method_handler(unary, None, handler.response_serializer)
        if handler.unary_stream is not None:
            meters = MethodMetrics(self._metrics, method)
            behavior = self._layer(handler.unary_stream, method)
            behavior = received(behavior, Reader(deserialize, _request_type(method)), meters)
            stream = ServerStream(method, behavior, self._budget, meters)
            return grpc.stream_stream_rpc_method_handler(stream, None, handler.response_serializer)
        if handler.stream_stream is not None:
            streams = Streams(handler.stream_stream, streamed(deserialize, self._budget))
            return grpc.stream_stream_rpc_method_handler(streams, None, handler.response_serializer)
        raise TypeError(f"{method} streams its requests alone")


class EndedByCallers:
    """Logs calls that end before their answer: one line for all since the last one. Thread-safe.

    Calls that time out are reported at INFO. Those that are cancelled are reported at level 4: a tab that is
    closed cancels the call that waits for news.

    Args:
        every: Seconds between two lines at least.
    """

    def __init__(self, every: float = 10.0) -> None:
        self._every = every
        self._lock = threading.Lock()
        self._next: dict[grpc.StatusCode, float] = {}
        self._counts: Counter[grpc.StatusCode] = Counter()

    def ended(self, method: str, code: grpc.StatusCode, seconds: float) -> None:
        """Count a call that ended after ``seconds``: CANCELLED by its caller, or past its deadline."""
        now = time.monotonic()
        with self._lock:
            self._counts[code] += 1
            if now < self._next.get(code, -inf):
                return
            count = self._counts.pop(code)
            self._next[code] = now + self._every
        log.log(
            logging.INFO - 4 if code is grpc.StatusCode.CANCELLED else logging.INFO,
            "%s calls ended with %s since the last report; the last one: %s after %.3f s",
            *(count, code.name, method, seconds),
        )


class Unary(Method):
    """A unary method: counts starts and ends by code, and measures the time between them.

    Args:
        behavior: Answers an arrival; ends the call by itself if that fails.
        budget: The memory that all bodies share from their arrival on.
        meters: The metrics.
        ended_by_caller: Called with code and seconds of a call that ended before its answer.
    """

    def __init__(
        self,
        behavior: Behavior,
        budget: MemoryBudget,
        meters: MethodMetrics,
        ended_by_caller: Callable[[grpc.StatusCode, float], None],
    ) -> None:
        self._behavior = behavior
        self._budget = budget
        self._meters = meters
        self._ended_by_caller = ended_by_caller

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> Any:
        try:
            response = self._behavior(arrival, context)
        except Exception:
            self._count(arrival, _code_of(context) or grpc.StatusCode.UNKNOWN, context.is_active())
            raise
        finally:
            arrival.share.end()
        if context.is_active():
            self._count(arrival, grpc.StatusCode.OK, True)
        else:
            self._count(arrival, _code_of_ended(context), False)
        return response

    def begun(self) -> None:
        self._meters.started.inc()

    def takes(self, arrival: Arrival) -> bool:
        arrival.settle()
        arrival.share = Share(self._budget, partial(caller, arrival.call))
        try:
            arrival.share.grow_to(len(arrival.body or b""))
        except ResourceExhaustedError as error:
            arrival.body, arrival.fault = None, error
        return True

    def ended(self, arrival: Arrival, code: grpc.StatusCode) -> None:
        self._count(arrival, code, False)

    def _count(self, arrival: Arrival, code: grpc.StatusCode, active: bool) -> None:
        seconds = time.perf_counter() - arrival.began
        self._meters.handling.observe(seconds)
        self._meters.handled[code].inc()
        if not active:
            self._ended_by_caller(code, seconds)


class Unknown(Method):
    """A method that is not there: its calls fail like those of a method that is not offered.

    Args:
        name: The name that the caller used.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> NoReturn:
        abort(context, _not_offered(self._name))

    def begun(self) -> None:
        """Unknown methods are not counted: callers would choose the names of series."""

    def takes(self, arrival: Arrival) -> bool:
        arrival.settle()
        arrival.body = None
        return True

    def ended(self, arrival: Arrival, code: grpc.StatusCode) -> None:
        """Unknown methods are not counted."""


class ServerStream(Unary):
    """A method that streams its answer: counts starts and ends by code. Its thread makes room while it sends.

    Args:
        method: The method's full name.
        behavior: Answers an arrival.
        budget: The memory that all bodies share from their arrival on.
        meters: The metrics.
    """

    def __init__(self, method: str, behavior: Behavior, budget: MemoryBudget, meters: MethodMetrics) -> None:
        super().__init__(behavior, budget, meters, lambda _code, _seconds: None)
        self._method = method

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> Iterator[Any]:
        code = grpc.StatusCode.CANCELLED
        try:
            for part in self._behavior(arrival, context):
                with waiting():
                    yield part
            code = grpc.StatusCode.OK
        except Exception as error:  # noqa: BLE001 - it ends the call
            code = failure_of(error).code if isinstance(error, MooringError) else grpc.StatusCode.INTERNAL
            _end(context, error, self._method)
        finally:
            arrival.share.end()
            self._meters.handled[code].inc()


class Streams(Method):
    """A method that streams both ways: few at a time, a thread for each, as long as one request may take.

    Further streams wait; all are ended when they are overdue. If each new one ended the oldest, a client that
    keeps reopening it would push out all others.

    Args:
        behavior: The servicer's method.
        deserialize: Makes its messages.
        most: Streams that have a thread.
    """

    def __init__(self, behavior: Behavior, deserialize: Callable[[bytes], Any], most: int = 8) -> None:
        self._behavior = behavior
        self._deserialize = deserialize
        self._places = threading.Semaphore(most)

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> Iterator[Any]:
        first = () if arrival.body is None else (arrival.body,)
        try:
            messages = chain(first, awaited(arrival.more))
            yield from self._behavior(map(self._deserialize, messages), context)
        except MooringError as error:
            abort(context, error)
        finally:
            arrival.settle()
            self._places.release()

    def begun(self) -> None:
        """Streams are not counted."""

    def takes(self, arrival: Arrival) -> bool:
        return self._places.acquire(blocking=False)

    def ended(self, arrival: Arrival, code: grpc.StatusCode) -> None:
        """Streams are not counted."""


def _code_of(context: grpc.ServicerContext) -> grpc.StatusCode | None:
    code = context.code()  # type: ignore[attr-defined]  # missing in grpcio's types
    return code if isinstance(code, grpc.StatusCode) else None


def _details_of(context: grpc.ServicerContext) -> str:
    details = context.details()  # type: ignore[attr-defined]  # missing in grpcio's types
    return details.decode() if isinstance(details, bytes) else str(details)


def _code_of_ended(context: grpc.ServicerContext) -> grpc.StatusCode:
    # A call that the client or a clock has ended has no code of its own.
    return grpc.StatusCode.CANCELLED if context.time_remaining() > 0 else grpc.StatusCode.DEADLINE_EXCEEDED


def _not_offered(method: str) -> UnimplementedError:
    return UnimplementedError(f"{method} is not offered by this server; see GetCapabilities", method=method)


def mapped(behavior: Behavior, method: str) -> Behavior:
    """End the call by the table of errors if it raises, so that no client sees a bare UNKNOWN."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return behavior(request, context)
        except Exception as error:  # noqa: BLE001 - it ends the call
            _end(context, error, method)

    return call


def _end(context: grpc.ServicerContext, error: Exception, method: str) -> NoReturn:
    """End the call that failed with ``error``. Raises, like ``context.abort``."""
    if not context.is_active():
        # The caller has gone. A defect is logged all the same; abort spares grpcio's traceback.
        failure_of(error)
        context.abort(_code_of_ended(context), "the call had ended")
    # The generated servicer sets the code of a method that is not implemented.
    if _code_of(context) is grpc.StatusCode.UNIMPLEMENTED:
        abort(context, _not_offered(method))
    abort(context, error)


def traced(
    behavior: Behavior, method: str, tracer: Tracer, trusts: Callable[[grpc.ServicerContext], bool]
) -> Behavior:
    """Trace some of the calls, and those that trusted callers trace."""
    name = method.removeprefix("/")
    service, _, rpc = name.partition("/")
    about = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": rpc}

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        metadata = context.invocation_metadata() or ()
        traceparent = next((value for key, value in metadata if key == "traceparent"), "")
        span = tracer.begin_call(name, str(traceparent) if traceparent and trusts(context) else "")
        if span is None:
            return behavior(request, context)
        span.set_attributes(about)
        with Entered(span):
            try:
                return behavior(request, context)
            finally:
                code = _code_of(context) or grpc.StatusCode.OK
                span.set_attributes({"rpc.grpc.status_code": code.value[0]})
                span.end(_details_of(context) if code in _SERVER_ERRORS else "")

    return call


def received(behavior: Behavior, reader: Reader, meters: MethodMetrics) -> Behavior:
    """Read the request from its arrival."""

    def call(arrival: Arrival, context: grpc.ServicerContext) -> Any:
        if arrival.fault is not None:
            raise arrival.fault
        body, arrival.body = arrival.body, None
        if body is None:
            raise InvalidArgumentError([FieldError("", "the call ended without a request; send one message")])
        meters.received.inc()
        request = reader.read(body, arrival.share)
        del body
        return behavior(request, context)

    return call


def streamed(deserialize: Callable[[bytes], Any], budget: MemoryBudget) -> Callable[[bytes], Any]:
    """Return a deserializer of a stream's messages that decompresses them first."""

    def read(body: bytes) -> Any:
        share = Share(budget)
        try:
            return deserialize(decompressed(body, share) if is_compressed(body) else body)
        except DecodeError as error:
            raise no_message() from error
        finally:
            share.end()

    return read


def _request_type(method: str) -> Descriptor:
    """Return the type of a method's request, given the method's path."""
    name = method.removeprefix("/").replace("/", ".")
    found: Descriptor = descriptor_pool.Default().FindMethodByName(name).input_type
    return found


def admitted(behavior: Behavior, pool_of: Callable[[Any], CallPool]) -> Behavior:
    """Rejects calls that are too many, and those whose time has passed."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        pool = pool_of(request)
        client = client_of(context)
        pool.enter(client, time_limit(context))
        try:
            response = for_client(client, behavior, request, context)
        except BaseException:
            pool.leave(client)
            raise
        if isinstance(response, Iterator):
            return _left_at_end(response, pool, client)
        pool.leave(client)
        return response

    return call


def _left_at_end(stream: Iterator[Response], pool: CallPool, client: Hashable) -> Iterator[Response]:
    """Count a call out when its stream ends, which begins at once."""
    try:
        yield from stream
    finally:
        pool.leave(client)
