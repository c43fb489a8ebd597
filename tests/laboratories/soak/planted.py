"""Bugs for the processes that a row starts: each function puts one into the process that calls it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import grpc.aio

from mooring.serving.calls.pools import CallPool
from mooring.serving.calls.reading import Reader
from mooring_client.v1.scheduling_service_pb2 import FilterRequest, FilterResponse
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub

KEPT = 8_000_000
"""Bytes that leak at a time,"""
PAUSE = 0.3
"""and the seconds between: how much leaks in a round does not depend on how many calls come."""


def wrap(owner: type, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by ``around``, whose first argument is the method as it was."""
    inner = getattr(owner, name)
    setattr(owner, name, lambda *args, **fields: around(inner, *args, **fields))


def calls_leave_memory_behind() -> None:
    """A leak in what every call does."""
    kept, last = list[bytearray](), [0.0]

    def leave(inner: Any, *args: Any) -> None:
        if time.monotonic() > last[0] + PAUSE:
            last[0] = time.monotonic()
            kept.append(bytearray(b"x" * KEPT))
        inner(*args)

    wrap(CallPool, "leave", leave)


def bodies_stay() -> None:
    """No body is ever let go."""
    kept = list[bytes]()

    def read(inner: Any, reader: Reader, body: bytes, *args: Any) -> Any:
        kept.append(body + b"")
        return inner(reader, body, *args)

    wrap(Reader, "read", read)


def clients_are_one() -> None:
    """All callers count as one client, so a greedy one takes the places of others."""
    wrap(CallPool, "enter", lambda inner, pool, _, *args: inner(pool, None, *args))
    wrap(CallPool, "leave", lambda inner, pool, _: inner(pool, None))


def filter_has_another_name() -> None:
    """An RPC was renamed."""

    def begin(inner: Any, stub: Any, channel: grpc.aio.Channel) -> None:
        inner(stub, channel)
        stub.Filter = channel.unary_unary(
            "/mooring.v1.SchedulingService/FilterNodes",
            request_serializer=FilterRequest.SerializeToString,
            response_deserializer=FilterResponse.FromString,
        )

    wrap(SchedulingServiceStub, "__init__", begin)
