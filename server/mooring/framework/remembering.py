"""Results about immutable objects, cached while they are used often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
V = TypeVar("V")

_encode = msgspec.msgpack.Encoder().encode

MAX_PODS = 1 << 10
"""The number of pods for which a plugin remembers a value that each decision about equal pods reads."""

MAX_POD_BYTES = 1 << 19
"""The most bytes of these pods together, encoded; as objects they take several times as much."""

MAX_AT_ONCE = 1 << 5
"""The number for values that one decision reads several times, and later ones hardly: new memory is
slower."""


class ByIdentity(Generic[T, V]):
    """A function of one immutable object with a cache of its results. Safe from any thread.

    Args:
        work_out: The function.
        most: How many results are stored before all are dropped.
        most_bytes: The bytes that the objects may have together, encoded, unless one alone has more.
    """

    def __init__(self, work_out: Callable[[T], V], most: int, most_bytes: int | None = None) -> None:
        self._work_out = work_out
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        # The object is kept with its answer, so that its number isn't given to another one meanwhile.
        self._known: dict[int, tuple[T, V]] = {}

    def __call__(self, item: T) -> V:
        known = self._known.get(id(item))
        if known is not None:
            return known[1]
        answer = self._work_out(item)
        if len(self._known) >= self._most or not self._has_room_for(item):
            self._known.clear()
            self._bytes = 0
        self._known[id(item)] = item, answer
        return answer

    def _has_room_for(self, item: T) -> bool:
        if self._most_bytes is None:
            return True
        self._bytes += encoded_size(item)
        return self._bytes <= self._most_bytes


def encoded_size(item: object) -> int:
    """Return the bytes of an object's encoding; in memory it takes several times as much."""
    try:
        return len(_encode(item))
    except UnicodeEncodeError:
        return len(repr(item))
