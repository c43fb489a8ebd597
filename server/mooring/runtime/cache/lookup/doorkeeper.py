"""Values that are cached from their second use on, within a budget of bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Counted(Protocol):
    """A value of such a cache.

    Attributes:
        nbytes: Its size by now.
        used: When it was used last; written by the cache.
    """

    @property
    def nbytes(self) -> int: ...

    used: int


Value = TypeVar("Value", bound=Counted)

_MAX_HASHES = 1 << 14
"""Two generations of this many hashes of keys that were used once; 3 MB at most."""

_NEWEST, _NEWEST_SHARE = 32, 8
"""Values used once that are kept for a second use, in at most an eighth of the budget. After as many without
a second use, only the last is kept, so as not to fill the processor's cache."""

_MEASURED_EACH, _MEASURED_SHARE = 16, 8
"""Values grow, so all are measured again each time this many were added, or this share of them."""


class DoorkeeperCache(Generic[Value]):
    """The newest values that were used once are kept for a while; then only the hashes of their keys are.

    Past the budget the values that were used least recently are dropped, down to half of it. Safe from any
    thread: two that miss the same key at the same time may both make its value, and one is dropped.

    Args:
        most_bytes: The budget.
        dropped: Called after values were dropped.
    """

    def __init__(self, most_bytes: int, dropped: Callable[[], object] = lambda: None) -> None:
        self._most_bytes = most_bytes
        self._dropped = dropped
        self._uses = 0
        self._lock = threading.Lock()
        self._values: dict[Hashable, Value] = {}
        self._newest: dict[Hashable, Value] = {}
        # By hash: two keys with the same one keep a value too many, which does no harm.
        self._used_once: set[int] = set()
        self._used_before: set[int] = set()
        self._in_a_row = 0
        self._unmeasured = 0

    def __len__(self) -> int:
        """How many values are cached."""
        return len(self._values)

    @property
    def bytes(self) -> int:
        """The bytes of the cached values."""
        with self._lock:
            return sum(value.nbytes for value in self._values.values())

    def get(self, key: Hashable) -> Value | None:
        """Return the value of ``key``, which counts as a use and so is cached; None when there is none."""
        value = self._values.get(key)
        if value is not None:
            self.use(value)
            return value
        value = self._newest.get(key)
        if value is not None:
            self.put(key, value)
        return value

    def use(self, value: Value) -> None:
        """Count a use of ``value`` by a caller that still holds it."""
        self._uses += 1
        value.used = self._uses

    def put(self, key: Hashable, value: Value) -> bool:
        """Count a use of ``key``, whose value is ``value`` from now on; return whether it is cached."""
        self.use(value)
        with self._lock:
            mark = hash(key)
            again = key in self._values or mark in self._used_once or mark in self._used_before
            if again:
                self._newest.pop(key, None)
                self._values[key] = value
                self._in_a_row = 0
                dropped = self._trim()
            else:
                self._put_first(key, mark, value)
                dropped = False
        if dropped:
            self._dropped()
        return again

    def clear(self) -> None:
        """Forget every value."""
        with self._lock:
            self._values.clear()
            self._used_once, self._used_before = set(), set()
            self._newest.clear()
        self._dropped()

    def _put_first(self, key: Hashable, mark: int, value: Value) -> None:
        """Put in what is used for the first time, with the hash of its key."""
        if len(self._used_once) >= _MAX_HASHES:
            self._used_before, self._used_once = self._used_once, set()
        self._used_once.add(mark)
        newest = self._newest
        self._in_a_row += 1
        if self._in_a_row > _NEWEST:
            newest.clear()
        elif len(newest) == _NEWEST:
            del newest[next(iter(newest))]
        newest[key] = value

    def _trim(self) -> bool:
        """Keep to the budget; whether anything was dropped."""
        self._unmeasured += 1
        count = len(self._values)
        if self._unmeasured < min(max(_MEASURED_EACH, count // _MEASURED_SHARE), count):
            return False
        self._unmeasured = 0
        if sum(value.nbytes for value in self._newest.values()) > self._most_bytes // _NEWEST_SHARE:
            self._newest.clear()
        sizes = {key: value.nbytes for key, value in self._values.items()}
        total = sum(sizes.values())
        if total <= self._most_bytes:
            return False
        for key in sorted(self._values, key=lambda key: self._values[key].used):
            if total <= self._most_bytes // 2 or len(self._values) == 1:
                break
            del self._values[key]
            total -= sizes[key]
        return True
