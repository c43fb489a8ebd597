"""Answers of the page's server over HTTP, and errors in the form of the Connect protocol.

Its specification is at https://connectrpc.com/docs/protocol.
"""

from __future__ import annotations

import base64
import json
from http import HTTPStatus
from typing import Any, Final

import grpc
from google.protobuf import json_format
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no types
from msgspec.structs import replace

from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.serving.calls.errors import failure_of, received_failure
from mooring.serving.http.asgi import Answer

HTTP_STATUSES: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.FAILED_PRECONDITION: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.OUT_OF_RANGE: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    grpc.StatusCode.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    grpc.StatusCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    grpc.StatusCode.ABORTED: HTTPStatus.CONFLICT,
    grpc.StatusCode.RESOURCE_EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    grpc.StatusCode.UNIMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
}
"""The HTTP status of each gRPC code, as Connect has it; of others it is 500."""


def json_answer(document: Any) -> Answer:
    """Return a document as JSON."""
    return Answer(HTTPStatus.OK, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def failed_call(error: grpc.RpcError) -> Answer:
    """Return the error that a process answered."""
    return _failure(*received_failure(error))


def rejected(error: MooringError) -> Answer:
    """Return the answer to a request for which no process is called."""
    return _failure(*failure_of(error))


def misdirected(status: HTTPStatus, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    """Return the answer to an invalid HTTP request; its body is not read."""
    answer = rejected(InvalidArgumentError.at("", message))
    return replace(answer, status=status, headers=headers, close=True)


def _failure(code: grpc.StatusCode, message: str, details: bytes) -> Answer:
    """Return a Connect error; ``details`` is a serialised google.rpc.Status."""
    name = "canceled" if code is grpc.StatusCode.CANCELLED else code.name.lower()
    told = [_detail(detail) for detail in Status.FromString(details).details]
    body = json.dumps({"code": name, "message": message, "details": told}).encode()
    return Answer(HTTP_STATUSES.get(code, HTTPStatus.INTERNAL_SERVER_ERROR), body)


def _detail(detail: Any) -> dict[str, Any]:
    """Return a detail as clients decode it, and as people read it."""
    value = base64.b64encode(detail.value).rstrip(b"=").decode()
    told: dict[str, Any] = {"type": detail.TypeName(), "value": value}
    try:
        told["debug"] = json_format.MessageToDict(detail)
    except TypeError:
        # The process is newer, or something else: its type isn't known here.
        return told
    del told["debug"]["@type"]
    return told
