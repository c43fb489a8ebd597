"""The answers to kube-scheduler when a call failed.

kube-scheduler drops the body of every answer that is not a 200. filter and bind have an ``Error`` field, so
their failures are 200 with the text in it. prioritize and preempt have none, so theirs are 400 where the
question is at fault, else 5xx: the text is for people and logs. Other 4xx are for other requests.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import grpc
import msgspec

from mooring.serving.http.asgi import Answer
from mooring_extender import wire

VERBS: Final = ("filter", "prioritize", "bind", "preempt")
_MAX_CHARACTERS: Final = 900


class CallError(Exception):
    """mooring did not answer a call. ``code`` is gRPC's, the text is mooring's own."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def shortened(error: object) -> str:
    """Return what ``error`` says, at most about 1 kB: it may quote a question of many megabytes."""
    text = str(error)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} ..."


def misfit(text: str) -> CallError:
    """Return the error for an answer of mooring's that does not fit the question."""
    return CallError(grpc.StatusCode.INTERNAL, f"its answer does not fit the question: {text}")


_STATUS_OF_CODE: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    grpc.StatusCode.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: HTTPStatus.SERVICE_UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
    grpc.StatusCode.UNIMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
}

_NO_ANSWER: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})
"""mooring may be out of reach. On another connection another replica may answer."""

_ERROR_FIELD: Final[dict[str, Callable[[str], msgspec.Struct]]] = {
    "filter": lambda text: wire.ExtenderFilterResult(error=text),
    "bind": lambda text: wire.ExtenderBindingResult(error=text),
}


def reject(status: HTTPStatus, text: str, *headers: tuple[bytes, bytes]) -> Answer:
    """Answer another request; the connection is closed, because the rest of the body is not read."""
    return Answer(status, error_body(text), failure=status.name, headers=headers, close=True)


def answer_failure(verb: str, error: Exception) -> Answer:
    """Return the answer of ``verb``, one of VERBS, for a call that ended with ``error``.

    Knows MalformedBodyError, ArgumentsError and CallError; anything else is a defect of the adapter.
    """
    if isinstance(error, wire.MalformedBodyError):
        return Answer(HTTPStatus.BAD_REQUEST, error_body(str(error)), failure="MALFORMED")
    if isinstance(error, CallError):
        status = _STATUS_OF_CODE.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR)
        lost = error.code in _NO_ANSWER
        return _answer(verb, status, error.code.name, f"mooring: {error}", close=lost)
    if isinstance(error, wire.ArgumentsError):
        return _answer(verb, HTTPStatus.BAD_REQUEST, "BAD_ARGUMENTS", f"mooring-extender: {error}")
    text = f"mooring-extender: internal error: {type(error).__name__}; its log has the details"
    return _answer(verb, HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL", text)


def _answer(verb: str, status: HTTPStatus, failure: str, text: str, *, close: bool = False) -> Answer:
    if verb in _ERROR_FIELD:
        body = msgspec.json.encode(_ERROR_FIELD[verb](shortened(text)))
        return Answer(HTTPStatus.OK, body, failure=failure, close=close)
    return Answer(status, error_body(text), failure=failure, close=close)


def error_body(text: str) -> bytes:
    """Return the JSON error of a non-200 answer."""
    return msgspec.json.encode({"error": shortened(text)})
