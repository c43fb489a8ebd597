"""The interceptor of a listener, and the kinds of methods: they count calls, and put the layers around them.

A unary method is offered in its stream-unary form, which is the same on the wire, so that its request is
bytes that arrive outside the threads (``incoming_calls.py``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from math import inf
from typing import Any, NoReturn, TypeAlias

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor

from mooring.framework.errors import MooringError, ResourceExhaustedError
from mooring.serving.access.access import Access, CurrentCall
from mooring.serving.calls.errors import abort, failure_of
from mooring.serving.calls.identity import client_of, connected_by
from mooring.serving.calls.incoming_calls import Arrival, Method
from mooring.serving.calls.layers import (
    Behavior,
    code_of,
    code_of_ended,
    end_failed,
    mapped,
    not_offered,
    received,
    streamed,
    traced,
)
from mooring.serving.calls.memory import MemoryBudget, Share
from mooring.serving.calls.reading import Reader
from mooring.serving.calls.threads import awaited, waiting
from mooring.telemetry.metrics import MethodMetrics, Metrics
from mooring.tracing.spans import Tracer

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

log = logging.getLogger(__name__)


class Pipeline(grpc.ServerInterceptor):
    """The one interceptor of a listener: puts the layers around every method, once per method.

    Args:
        layer: Puts what the server does of its own around a method of that name.
        access: The rule of the listener: who shares the memory, and whose calls may be traced.
    """

    def __init__(
        self,
        metrics: Metrics,
        budget: MemoryBudget,
        layer: Callable[[Behavior, str], Behavior],
        access: Access,
        tracer: Tracer | None = None,
    ) -> None:
        self._metrics = metrics
        self._tracer = tracer
        self._access = access
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
                behavior = traced(behavior, method, self._tracer, partial(_trusts, self._access))
            share = partial(_share, self._budget, self._access)
            unary = Unary(behavior, share, meters, partial(self._callers.ended, method))
            return grpc.stream_unary_rpc_method_handler(unary, None, handler.response_serializer)
        if handler.unary_stream is not None:
            meters = MethodMetrics(self._metrics, method)
            behavior = self._layer(handler.unary_stream, method)
            behavior = received(behavior, Reader(deserialize, _request_type(method)), meters)
            share = partial(_share, self._budget, self._access)
            stream = ServerStream(method, behavior, share, meters)
            return grpc.stream_stream_rpc_method_handler(stream, None, handler.response_serializer)
        if handler.stream_stream is not None:
            streams = Streams(handler.stream_stream, streamed(deserialize, self._budget))
            return grpc.stream_stream_rpc_method_handler(streams, None, handler.response_serializer)
        raise TypeError(f"{method} streams its requests alone")


def _trusts(access: Access, context: grpc.ServicerContext) -> bool:
    """Whether a call's caller may have it traced; not while that can't be found out."""
    with suppress(MooringError):
        return access.knows(client_of(access, context))
    return False


def _share(budget: MemoryBudget, access: Access, call: Any) -> Share:
    """Return the share of a body that has arrived. It is its connection's: tokens are read later."""
    return Share(budget, lambda: CurrentCall(connected_by(call), access).claimant)


class EndedByCallers:
    """Logs calls that end before their answer: one line for all since the last one. Thread-safe.

    Calls that time out are reported at INFO. Those that are cancelled are reported at level 4: a tab that is
    closed cancels the call that waits for news. There are ``every`` seconds between two lines at least.
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
        share: Returns the share of the memory for all bodies that a call of grpcio's inside takes.
        ended_by_caller: Called with code and seconds of a call that ended before its answer.
    """

    def __init__(
        self,
        behavior: Behavior,
        share: Callable[[Any], Share],
        meters: MethodMetrics,
        ended_by_caller: Callable[[grpc.StatusCode, float], None],
    ) -> None:
        self._behavior = behavior
        self._share = share
        self._meters = meters
        self._ended_by_caller = ended_by_caller

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> Any:
        try:
            response = self._behavior(arrival, context)
        except Exception:
            self._count(arrival, code_of(context) or grpc.StatusCode.UNKNOWN, context.is_active())
            raise
        finally:
            arrival.share.end()
        if context.is_active():
            self._count(arrival, grpc.StatusCode.OK, True)
        else:
            self._count(arrival, code_of_ended(context), False)
        return response

    def begun(self) -> None:
        self._meters.started.inc()

    def takes(self, arrival: Arrival) -> bool:
        arrival.settle()
        arrival.share = self._share(arrival.call)
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

    They are not counted: callers would choose the names of series.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, arrival: Arrival, context: grpc.ServicerContext) -> NoReturn:
        abort(context, not_offered(self._name))

    def takes(self, arrival: Arrival) -> bool:
        arrival.settle()
        arrival.body = None
        return True


class ServerStream(Unary):
    """A method that streams its answer: counts starts and ends by code, and makes room while it sends."""

    def __init__(
        self, method: str, behavior: Behavior, share: Callable[[Any], Share], meters: MethodMetrics
    ) -> None:
        super().__init__(behavior, share, meters, lambda _code, _seconds: None)
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
            end_failed(context, error, self._method)
        finally:
            arrival.share.end()
            self._meters.handled[code].inc()


class Streams(Method):
    """A method that streams both ways: few at a time, a thread for each, as long as one request may take.

    Further streams wait; all are ended when they are overdue. If each new one ended the oldest, a client that
    keeps reopening it would push out all others. At most ``most`` have a thread.
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

    def takes(self, arrival: Arrival) -> bool:
        return self._places.acquire(blocking=False)


def _request_type(method: str) -> Descriptor:
    """Return the type of a method's request, given the method's path."""
    name = method.removeprefix("/").replace("/", ".")
    found: Descriptor = descriptor_pool.Default().FindMethodByName(name).input_type
    return found
