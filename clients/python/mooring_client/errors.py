"""Errors of failed calls, and whether a call may be sent again."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]  # ships no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no types

STALE: Final = "NODE_EPOCH_STALE"
"""The indices belong to nodes as they were; nothing was done."""

NO_SOURCE: Final = "SOURCE_NOT_FOUND"
"""No such push source."""

_NOTHING_DONE: Final = frozenset({"NOT_SYNCED", "STATE_STALE", "OVERLOADED", "WORKERS_ABANDONED"})
"""Reasons for which a server rejects a call before it begins, and that pass."""

_PASSING: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED})
_KEY: Final = "grpc-status-details-bin"


def info_of(error: grpc.RpcError) -> Any:
    """Return the ``google.rpc.ErrorInfo`` in the error's details: reason and metadata; an empty one
    without.
    """
    info = ErrorInfo()
    trailers: Any = error.trailing_metadata()  # grpcio's types have it wrong
    for key, value in trailers or ():
        if key == _KEY and isinstance(value, bytes):
            for detail in Status.FromString(value).details:
                if detail.Unpack(info):
                    return info
    return info


def reason_of(error: grpc.RpcError) -> str:
    """Return the reason in the error's details, a value of ``ErrorReason`` without its prefix; "" without
    one.
    """
    return str(info_of(error).reason)


def may_be_sent_again(error: grpc.RpcError, *, idempotent: bool) -> bool:
    """Return whether the same call may succeed in a moment and can do no harm."""
    if reason_of(error) in _NOTHING_DONE:
        return True
    return idempotent and error.code() in _PASSING
