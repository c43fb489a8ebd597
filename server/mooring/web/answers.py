"""Answers and errors of the page's server over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import grpc

from mooring.framework.errors import MooringError
from mooring.serving.calls.errors import code_of
from mooring_client.errors import reason_of

HTTP_STATUSES: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.FAILED_PRECONDITION: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.OUT_OF_RANGE: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    grpc.StatusCode.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    grpc.StatusCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    grpc.StatusCode.ABORTED: HTTPStatus.CONFLICT,
    grpc.StatusCode.RESOURCE_EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    grpc.StatusCode.UNIMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
}
"""The HTTP status of each gRPC code, as google.rpc.Code has it; of others it is 500."""

JSON: Final = b"application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        body: Its bytes.
        content_type: Their media type.
        status: The HTTP status.
        headers: Further headers.
        close: Whether the connection ends with it, because the rest of the request is not read.
    """

    body: bytes
    content_type: bytes = JSON
    status: int = HTTPStatus.OK
    headers: tuple[tuple[bytes, bytes], ...] = ()
    close: bool = False


def json_answer(document: Any) -> Answer:
    """Return a document as JSON."""
    return Answer(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def failed_call(error: grpc.RpcError) -> Answer:
    """Return the error that a process answered."""
    return _failure(error.code(), reason_of(error), error.details() or "")


def rejected(error: MooringError) -> Answer:
    """Return the answer to a request for which no process is called."""
    return _failure(code_of(error), error.reason, error.message)


def misdirected(status: HTTPStatus, message: str, *headers: tuple[bytes, bytes]) -> Answer:
    """Return the answer to an invalid HTTP request; its body is not read."""
    body = _body(grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID", message)
    return Answer(body, status=status, headers=headers, close=True)


def _failure(code: grpc.StatusCode, reason: str, message: str) -> Answer:
    status = HTTP_STATUSES.get(code, HTTPStatus.INTERNAL_SERVER_ERROR)
    return Answer(_body(code, reason, message), status=status)


def _body(code: grpc.StatusCode, reason: str, message: str) -> bytes:
    return json.dumps({"code": code.name, "reason": reason, "message": message}).encode()
