"""Why a call failed, and whether it may be sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as Detail
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet

from mooring_client.v1.errors_pb2 import ERROR_REASON_NODE_EPOCH_STALE, CallError, ErrorReason, FieldViolation

STALE: Final = "NODE_EPOCH_STALE"
"""Indices belong to the nodes of another epoch; nothing was done."""

NOT_LEADER: Final = "NOT_LEADER"
"""The replica does not hold the lease; nothing was done."""

_NOTHING_DONE: Final = frozenset(
    {"NOT_SYNCED", "STATE_STALE", "OVERLOADED", "WORKERS_ABANDONED", "AUDIT_UNWRITABLE", NOT_LEADER}
)
"""Reasons that pass, and for which a server rejects a call before it does anything."""

_PASSING: Final = frozenset({"DRAINING", "API_SERVER_UNAVAILABLE", "OBJECT_CHANGED", "PLUGIN_UNAVAILABLE"})
"""Reasons that pass. Something may have been done."""

_KEY: Final = "grpc-status-details-bin"
_DETAILS: Final = 3
"""The field ``details`` of ``google.rpc.Status``; its package is not installed with this one."""


_REASONS: Final = {number: name.removeprefix("ERROR_REASON_") for name, number in ErrorReason.items()} | {
    0: ""
}


class CallFailedError(Exception):
    """A call that failed. Its text is the server's.

    Attributes:
        code: The gRPC code.
        reason: The name of an ``ErrorReason`` without its prefix, or the number of one that came later; ""
            if no server of mooring has answered.
        metadata: What belongs to the reason.
        fields: The fields of the request that are wrong.
        repeatable: Whether the same call may be sent again later: it can do no harm, and the cause may pass.
    """

    def __init__(self, code: grpc.StatusCode, message: str, detail: CallError, *, repeatable: bool) -> None:
        super().__init__(message)
        self.code = code
        self.reason = _REASONS.get(detail.reason, str(detail.reason))
        self.metadata: Mapping[str, str] = dict(detail.metadata)
        self.fields: Sequence[FieldViolation] = list(detail.field_violations)
        self.repeatable = repeatable

    @property
    def ended_by_time(self) -> bool:
        """Whether the time was over before the server could answer."""
        return self.code is grpc.StatusCode.DEADLINE_EXCEEDED and not self.reason

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.args[0]}"


def failure_of(error: grpc.RpcError, *, idempotent: bool = False) -> CallFailedError:
    """Return what a gRPC error says.

    Args:
        error: Of a stub's call.
        idempotent: Whether the call is.
    """
    detail = detail_of(error)
    made = CallFailedError(error.code(), error.details() or "", detail, repeatable=False)
    if made.reason:
        made.repeatable = made.reason in _NOTHING_DONE or (idempotent and made.reason in _PASSING)
    else:
        made.repeatable = idempotent and (made.code is grpc.StatusCode.UNAVAILABLE or _is_reset(made))
    return made


def _is_reset(failed: CallFailedError) -> bool:
    """Return whether a proxy, or a server that ends, has reset the stream: with CANCEL or INTERNAL_ERROR."""
    if failed.code is grpc.StatusCode.INTERNAL:
        return "RST_STREAM" in failed.args[0]
    return failed.code is grpc.StatusCode.CANCELLED


def other_epoch() -> CallFailedError:
    """Return the failure of a call whose answer has indices that could not be translated."""
    detail = CallError(reason=ERROR_REASON_NODE_EPOCH_STALE)
    text = "the nodes of the answer are not those that the server lists"
    return CallFailedError(grpc.StatusCode.FAILED_PRECONDITION, text, detail, repeatable=True)


def stream_ended() -> CallFailedError:
    """Return the failure of a stream that the server ended, as it does after some minutes."""
    return CallFailedError(grpc.StatusCode.UNAVAILABLE, "the stream has ended", CallError(), repeatable=True)


def detail_of(error: grpc.RpcError) -> CallError:
    """Return the typed detail of a gRPC error; an empty one without."""
    found = CallError()
    trailers: Any = error.trailing_metadata()  # grpcio's types have it wrong
    for key, value in trailers or ():
        if key == _KEY and isinstance(value, bytes):
            fields: Any = UnknownFieldSet(Empty.FromString(value))  # its types lack __iter__
            for field in fields:
                if field.field_number == _DETAILS and Detail.FromString(field.data).Unpack(found):
                    return found
    return found


def reason_of(error: grpc.RpcError) -> str:
    """Return the reason of a gRPC error, an ``ErrorReason`` without its prefix; "" without one."""
    return failure_of(error).reason
