"""The one table of errors on the wire, and the details that clients decode: mooring's own, and Google's.

The tree of errors is drawn in mooring.framework.errors. Whatever is not part of it is a defect: the caller
gets INTERNAL with an incident number, the log gets the number and the traceback.
"""

import logging
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import grpc
from google.rpc.error_details_pb2 import (  # type: ignore[import-untyped]  # ships no types
    BadRequest,
    ErrorInfo,
    RetryInfo,
)
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no types

from mooring.framework import errors
from mooring.framework.args import FieldError
from mooring_client.v1.errors_pb2 import CallError, ErrorReason

DOMAIN = "mooring.dev"
"""ErrorInfo.domain of every failed call."""

DETAILS_KEY = "grpc-status-details-bin"
"""The trailing metadata that holds the serialised google.rpc.Status."""

_REASONS = dict(ErrorReason.items())

# HTTP/2 peers reject trailers above 8 KiB. Text is percent-encoded (three bytes for one at worst) and the
# details grow by a third, so 600 bytes of text and 4,400 of details always fit.
MAX_TEXT_BYTES = 600
MAX_DETAILS_BYTES = 4_400

CODES: dict[type[errors.MooringError], grpc.StatusCode] = {
    errors.InvalidArgumentError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.NotFoundError: grpc.StatusCode.NOT_FOUND,
    errors.FailedPreconditionError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.AbortedError: grpc.StatusCode.ABORTED,
    errors.OutOfRangeError: grpc.StatusCode.OUT_OF_RANGE,
    errors.UnavailableError: grpc.StatusCode.UNAVAILABLE,
    errors.ResourceExhaustedError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.DeadlineExceededError: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.UnauthenticatedError: grpc.StatusCode.UNAUTHENTICATED,
    errors.PermissionDeniedError: grpc.StatusCode.PERMISSION_DENIED,
    errors.PluginFailureError: grpc.StatusCode.INTERNAL,
    errors.PluginUnavailableError: grpc.StatusCode.UNAVAILABLE,
    errors.UnimplementedError: grpc.StatusCode.UNIMPLEMENTED,
}
"""The gRPC code of each class of error; a subclass has the code of its nearest ancestor here."""

log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """A failed call as gRPC sends it: the code, its text, and the serialised google.rpc.Status."""

    code: grpc.StatusCode
    text: str
    details: bytes


def failure_of(error: Exception) -> Failure:
    """Translate any exception. One outside the tree is logged, with the incident number that is sent.

    The failure of another server that was called for this one is passed on.
    """
    if isinstance(error, errors.MooringError):
        return _failure(code_of(error), error)
    if isinstance(error, grpc.RpcError):
        return _passed_on(error)
    incident = uuid.uuid4().hex[:12]
    log.error("incident %s: uncaught %s", incident, type(error).__name__, exc_info=error)
    text = f"defect of the server; its log has the details under incident {incident}"
    return _failure(grpc.StatusCode.INTERNAL, errors.MooringError(text, reason="INTERNAL", incident=incident))


def received_failure(error: grpc.RpcError) -> Failure:
    """Return the failure that another server sent."""
    # A stub's exception is a call, too, which grpcio's types leave out.
    failed: Any = error
    details = dict(failed.trailing_metadata() or ()).get(DETAILS_KEY, b"")
    return Failure(failed.code(), failed.details() or "", details)


def abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """End the call with the status of ``failure_of``. Raises, like ``context.abort``."""
    failure = failure_of(error)
    context.set_trailing_metadata(((DETAILS_KEY, failure.details),))
    context.abort(failure.code, failure.text)


def code_of(error: errors.MooringError) -> grpc.StatusCode:
    """Return the code of an error: that of its class, or of the nearest class above it."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def call_error(error: errors.MooringError) -> CallError:
    """Return the detail of an error, but for fields that are wrong."""
    metadata = {key: _cut(value, 300) for key, value in error.metadata.items()}
    # A program on top of mooring may have reasons of its own: only ErrorInfo has room for those.
    reason = _REASONS.get(f"ERROR_REASON_{error.reason}", ErrorReason.ERROR_REASON_UNSPECIFIED)
    return CallError(reason=reason, metadata=metadata)


def _failure(code: grpc.StatusCode, error: errors.MooringError) -> Failure:
    text = _cut(error.message, MAX_TEXT_BYTES)
    status = Status(code=code.value[0], message=text)
    told, bad = call_error(error), BadRequest()
    metadata = dict(told.metadata)
    _attach(status, ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata))
    if isinstance(error, errors.InvalidArgumentError):
        for violation in _violations(error, (MAX_DETAILS_BYTES - status.ByteSize() - told.ByteSize()) // 2):
            told.field_violations.add(field=violation.path, description=violation.message)
            bad.field_violations.add(field=violation.path, description=violation.message)
        _attach(status, bad)
    if isinstance(error, errors.ResourceExhaustedError) and error.retry_seconds:
        pause = RetryInfo()
        pause.retry_delay.FromMicroseconds(round(error.retry_seconds * 1e6))
        _attach(status, pause)
    _attach(status, told)
    return Failure(code, text, status.SerializeToString())


def _passed_on(error: grpc.RpcError) -> Failure:
    received = received_failure(error)
    text = _cut(f"mooring: {received.text}", MAX_TEXT_BYTES)
    status = Status.FromString(received.details)
    status.code, status.message = received.code.value[0], text
    return Failure(received.code, text, status.SerializeToString())


def _violations(error: errors.InvalidArgumentError, room: int) -> Iterator[FieldError]:
    """Yield the violations, as many as fit into ``room`` bytes; the last one says how many did not."""
    for index, violation in enumerate(error.violations):
        shown = FieldError(_cut(violation.path, 200), _cut(violation.message, 300))
        room -= len(shown.path.encode()) + len(shown.message.encode()) + 8
        if room < 100:
            yield FieldError("", f"and {len(error.violations) - index} more violations")
            return
        yield shown


def _attach(status: Status, detail: ErrorInfo | BadRequest | RetryInfo | CallError) -> None:
    status.details.add().Pack(detail)


def _cut(text: str, limit: int) -> str:
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[: limit - 3].decode(errors="ignore") + "..."
