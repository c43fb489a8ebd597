"""The layers around a servicer's methods: errors, traces, the request, places and deadlines.

They are plain functions, outermost first: ``traced``, ``mapped``, ``received``, then the server's own:
``identified`` (``identity.py``), ``admitted`` and others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf.message import DecodeError

from mooring.framework.args import FieldError
from mooring.framework.errors import DeadlineExceededError, InvalidArgumentError, UnimplementedError
from mooring.serving.access.access import current_call
from mooring.serving.calls.errors import abort, failure_of
from mooring.serving.calls.incoming_calls import Arrival
from mooring.serving.calls.memory import MemoryBudget, Share
from mooring.serving.calls.pools import CallPool
from mooring.serving.calls.reading import Reader, decompressed, is_compressed, no_message
from mooring.telemetry.metrics import MethodMetrics
from mooring.tracing.spans import Entered, Tracer

Behavior = Callable[[Any, grpc.ServicerContext], Any]
"""A method of a servicer: (request, context) to response. Messages differ by method, hence Any."""

Response = TypeVar("Response")

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


def time_limit(context: grpc.ServicerContext) -> float:
    """When the work of a call must end, on ``time.monotonic``: its deadline, less the time to answer. Raises
    DeadlineExceededError if the deadline has passed already.
    """
    remaining = min(context.time_remaining(), LONGEST_SECONDS)
    if remaining <= 0:
        raise DeadlineExceededError("the deadline had passed before the work began; allow more time")
    return time.monotonic() + remaining - min(ANSWER_SECONDS, ANSWER_SHARE * remaining)


def code_of(context: grpc.ServicerContext) -> grpc.StatusCode | None:
    """Return the code that the call was given; None without one."""
    code = context.code()  # type: ignore[attr-defined]  # missing in grpcio's types
    return code if isinstance(code, grpc.StatusCode) else None


def _details_of(context: grpc.ServicerContext) -> str:
    details = context.details()  # type: ignore[attr-defined]  # missing in grpcio's types
    return details.decode() if isinstance(details, bytes) else str(details)


def code_of_ended(context: grpc.ServicerContext) -> grpc.StatusCode:
    """Return the code of a call that its client or a clock has ended, and that has none of its own."""
    return grpc.StatusCode.CANCELLED if context.time_remaining() > 0 else grpc.StatusCode.DEADLINE_EXCEEDED


def not_offered(method: str) -> UnimplementedError:
    """Return the error of a method that this server lacks."""
    return UnimplementedError(f"{method} is not offered by this server; see GetCapabilities", method=method)


def mapped(behavior: Behavior, method: str) -> Behavior:
    """End the call by the table of errors if it raises, so that no client sees a bare UNKNOWN."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return behavior(request, context)
        except Exception as error:  # noqa: BLE001 - it ends the call
            end_failed(context, error, method)

    return call


def end_failed(context: grpc.ServicerContext, error: Exception, method: str) -> NoReturn:
    """End the call that failed with ``error``. Raises, like ``context.abort``."""
    if not context.is_active():
        # Nothing is awaited any longer. A defect is still logged; abort spares grpcio's traceback.
        failure_of(error)
        context.abort(code_of_ended(context), "the call had ended")
    # The generated servicer sets the code of a method that is not implemented.
    if code_of(context) is grpc.StatusCode.UNIMPLEMENTED:
        abort(context, not_offered(method))
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
                code = code_of(context) or grpc.StatusCode.OK
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


def admitted(behavior: Behavior, pool_of: Callable[[Any], CallPool]) -> Behavior:
    """Rejects calls that are too many, and those whose time has passed."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        pool = pool_of(request)
        client = current_call().claimant
        pool.enter(client, time_limit(context))
        try:
            response = behavior(request, context)
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
