"""The span that a thread, or a task of an event loop, works on.

Most calls have none: whether one is traced is decided first, so code that measures something only checks
whether there is a span.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from functools import partial
from types import TracebackType
from typing import ParamSpec, Protocol, TypeVar

Attributes = Mapping[str, str | int | bool]

P = ParamSpec("P")
T = TypeVar("T")


class Span(Protocol):
    """A call or an attempt that is traced.

    One thread at a time may call its methods, but for ``begin_child``, which any thread may call at any time.
    """

    @property
    def trace_id(self) -> str:
        """The trace that it belongs to, 32 lower-case hexadecimal digits."""
        ...

    @property
    def traceparent(self) -> str:
        """The header by which the callee continues the trace (W3C Trace Context)."""
        ...

    def set_attributes(self, attributes: Attributes) -> None:
        """Say more about it."""
        ...

    def record(self, name: str, seconds: float, attributes: Attributes) -> None:
        """Add something that ended just now and took ``seconds``; what it recorded itself is a part of it."""
        ...

    def begin_child(self, name: str) -> Span:
        """Begin something that belongs to it, perhaps in another thread, and may end later."""
        ...

    def end(self, error: str = "") -> None:
        """End it, once; ``error`` says why it failed."""
        ...


class Tracer(Protocol):
    """Decides what is traced. Safe from any thread."""

    def begin_call(self, name: str, traceparent: str) -> Span | None:
        """Begin to answer a call, whose caller may trace it; None when it is not traced."""
        ...

    def begin_attempt(self, name: str) -> Span | None:
        """Begin something by itself; None when it is not traced."""
        ...

    def close(self) -> None:
        """Send what was not sent yet, within a few seconds."""
        ...


_CURRENT: ContextVar[Span | None] = ContextVar("span", default=None)

current_span: Callable[[], Span | None] = _CURRENT.get
"""Return the span that is being worked on here; None when nothing is traced."""


def current_trace_id() -> str:
    """Return the trace that is being worked on here; "" when nothing is traced."""
    span = _CURRENT.get()
    return "" if span is None else span.trace_id


class Entered:
    """A ``with`` block that works on a span, which ends with it; None = nothing is traced.

    A class of its own, because every decision enters one and ``contextmanager`` costs more.
    """

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span | None) -> None:
        self._span = span
        self._token: Token[Span | None] | None = None

    def __enter__(self) -> Span | None:
        if self._span is not None:
            self._token = _CURRENT.set(self._span)
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._span is not None and self._token is not None:
            _CURRENT.reset(self._token)
            self._span.end("" if error is None else str(error) or type(error).__name__)


def outgoing_headers() -> Mapping[str, str]:
    """Return the headers by which the callee continues the trace; none when nothing is traced."""
    span = _CURRENT.get()
    return {} if span is None else {"traceparent": span.traceparent}


def carried(work: Callable[P, T]) -> Callable[P, T]:
    """Return ``work`` for another thread, where it works on the span that is worked on here."""
    span = _CURRENT.get()
    return work if span is None else partial(_within, span, work)


def in_child(name: str, work: Callable[P, T]) -> Callable[P, T]:
    """Return ``work`` for another thread, where it works on a child of the span that is worked on here."""
    span = _CURRENT.get()
    return work if span is None else partial(_in_child, span, name, work)


def _within(span: Span, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    token = _CURRENT.set(span)
    try:
        return work(*args, **named)
    finally:
        _CURRENT.reset(token)


def _in_child(span: Span, name: str, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    with Entered(span.begin_child(name)):
        return work(*args, **named)
