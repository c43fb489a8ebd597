"""A bearer token in each call of a channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import grpc

from mooring.serving.access.authentication import TOKEN_HEADER


class _Details(NamedTuple):
    """The details of a call, as grpc reads them."""

    method: str
    timeout: float | None
    metadata: list[tuple[str, str | bytes]]
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Shows a token in each call."""

    def __init__(self, token: str) -> None:
        self._shown = (TOKEN_HEADER, f"Bearer {token}")

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """Call with the token."""
        return continuation(self._with_token(details), request)

    def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        """Call with the token."""
        return continuation(self._with_token(details), request)

    def _with_token(self, details: Any) -> Any:
        return _Details(
            details.method,
            details.timeout,
            [*(details.metadata or ()), self._shown],
            details.credentials,
            details.wait_for_ready,
            details.compression,
        )
