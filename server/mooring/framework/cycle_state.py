"""The plugins' own data between the extension points of one cycle."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


class NotWrittenError(KeyError):
    """A plugin reads what its earlier extension point would have written, had the profile called it there."""

    def __init__(self, key: Hashable) -> None:
        name = key.__name__ if isinstance(key, type) else key
        super().__init__(f"{name} is not in the cycle state: the profile leaves out the point that writes it")

    def __str__(self) -> str:
        return str(self.args[0])


class CycleState:
    """The plugins' data for one pod during one cycle, by key.

    A value is immutable or has ``clone()``. One CycleState belongs to one cycle and one thread, so it takes
    no lock; a plugin must never keep such values on itself, because plugins are shared between threads.

    Mirrors ``framework/cycle_state.go``.
    """

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Hashable, object] = {}

    def write(self, key: Hashable, value: object) -> None:
        """Store ``value``; an earlier one under ``key`` is replaced."""
        self._values[key] = value

    def read(self, key: Hashable, kind: type[T]) -> T:
        """Return the value under ``key``.

        Raises:
            NotWrittenError: Nothing was written under ``key``; the plugin's earlier point did not run.
            TypeError: The value is not a ``kind``.
        """
        value = self._values.get(key, self)
        if value is self:
            raise NotWrittenError(key)
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")
        return value

    def get(self, key: Hashable, kind: type[T]) -> T | None:
        """Return the value under ``key``, or None when nothing was written."""
        value = self._values.get(key)
        # Most values are of the very class, which is found out in a third of the time.
        if value is None or type(value) is kind:
            return value
        return self.read(key, kind)

    def delete(self, key: Hashable) -> None:
        """Forget ``key``, if it is there."""
        self._values.pop(key, None)

    def shared(self) -> CycleState:
        """Return a copy that shares the values, which must not change, for plugins with other keys."""
        copy = CycleState()
        copy._values = self._values.copy()
        return copy

    def clone(self) -> CycleState:
        """Return a copy for a what-if evaluation: immutable values are shared, the others cloned."""
        copy = CycleState()
        copy._values = {key: _cloned(value) for key, value in self._values.items()}
        return copy

    def cloned_when_read(self) -> CycleState:
        """Return ``clone`` of unchanging values, each made when it is first read: most never are."""
        return _ClonedWhenRead(self._values)


class _ClonedWhenRead(CycleState):
    """A copy that clones each value when it is first read."""

    __slots__ = ("_theirs",)

    def __init__(self, values: dict[Hashable, object]) -> None:
        super().__init__()
        self._values = values.copy()
        self._theirs = set(values)

    def write(self, key: Hashable, value: object) -> None:
        """As in ``CycleState``."""
        self._theirs.discard(key)
        super().write(key, value)

    def read(self, key: Hashable, kind: type[T]) -> T:
        """As in ``CycleState``."""
        self._clone(key)
        return super().read(key, kind)

    def get(self, key: Hashable, kind: type[T]) -> T | None:
        """As in ``CycleState``."""
        self._clone(key)
        return super().get(key, kind)

    def delete(self, key: Hashable) -> None:
        """As in ``CycleState``."""
        self._theirs.discard(key)
        super().delete(key)

    def shared(self) -> CycleState:
        """Return ``clone``: values of the original must not be shared."""
        return self.clone()

    def _clone(self, key: Hashable) -> None:
        if key in self._theirs:
            self._theirs.remove(key)
            self._values[key] = _cloned(self._values[key])


def _cloned(value: object) -> object:
    # An isinstance of the protocol takes ten times as long, in each decision that counts.
    clone: Callable[[], object] | None = getattr(value, "clone", None)
    return value if clone is None else clone()
