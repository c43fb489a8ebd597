"""Values that a fork shares with its origin until one of the two writes to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SharedValues(Generic[K, V]):
    """Guards the mutable values of a table's dict: a shared one is copied before it is written to.

    Args:
        values: The table's dict.
        copy: Makes an independent value.
    """

    __slots__ = ("_copy", "_private", "values")

    def __init__(self, values: dict[K, V], copy: Callable[[V], V]) -> None:
        self.values = values
        self._copy = copy
        self._private: set[K] = set()

    def writable(self, key: K) -> V | None:
        """Return the value of ``key`` to write to; None when there is none."""
        value = self.values.get(key)
        if value is not None and key not in self._private:
            value = self._copy(value)
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Set a value that has no other holder."""
        self.values[key] = value
        self._private.add(key)

    def drop(self, key: K) -> None:
        """Remove ``key``, if it is there."""
        self.values.pop(key, None)
        self._private.discard(key)

    def fork(self, values: dict[K, V]) -> SharedValues[K, V]:
        """Return the guard of ``values``, a shallow copy; from now on both sides copy before they write."""
        self._private = set()
        return SharedValues(values, self._copy)


def add_to(sets: SharedValues[K, dict[str, None]], key: K, member: str) -> None:
    """Add ``member`` to the set of ``key``."""
    members = sets.writable(key)
    if members is None:
        sets.put(key, {member: None})
    else:
        members[member] = None


def discard_from(sets: SharedValues[K, dict[str, None]], key: K, member: str) -> None:
    """Remove ``member``, if it is there; an empty set goes."""
    members = sets.writable(key)
    if members is not None:
        members.pop(member, None)
        if not members:
            sets.drop(key)
