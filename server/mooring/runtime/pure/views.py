"""Objects as a plugin gets them that note each read. For one call and one thread.

A view has the attributes and the class of the object that it stands for. It returns real values, except for
objects and mappings within it, which are views again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from types import FunctionType, UnionType
from typing import Any, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from mooring.framework import CycleState, Pod, Snapshot
from mooring.framework.node_table import FIXED_RESOURCES
from mooring.framework.objects import Object
from mooring.runtime.pure.reads import (
    ALLOCATABLE,
    ENTRY,
    OFFERED,
    POD,
    PRESENT,
    STATE,
    WHOLE,
    Key,
    NotFollowedError,
    amounts,
    encoded,
    noted,
)

T = TypeVar("T")

Seen = dict[Key, Hashable]
"""The reads of one call: each key once, with the first value, in order."""


class ReadOnlyError(TypeError):
    """A rule changes a mapping that it is given."""


class MappingView(Mapping[Any, Any]):
    """A mapping that notes each entry that is read; a loop over it reads all entries."""

    __slots__ = ("_path", "_real", "_seen")

    def __init__(self, seen: Seen, path: Key, real: Mapping[Any, Any]) -> None:
        self._seen, self._path, self._real = seen, path, real

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        name = ".".join(map(str, self._path))
        raise ReadOnlyError(f"{name} is read-only: what a rule is given belongs to all rules")

    # Without these the rule would be called with the mapping itself, which it must not change.
    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a dict."""
        value = self._entry(key)
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return self._entry(key) is not None

    def __getitem__(self, key: Any) -> Any:
        value = self._entry(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def _entry(self, key: Any) -> Any:
        value = self._real.get(key)
        self._seen.setdefault((*self._path, ENTRY, key), noted(value))
        return value

    def _whole(self) -> Mapping[Any, Any]:
        self._seen.setdefault((*self._path, WHOLE), encoded(self._real))
        return self._real


class AmountsView(MappingView):
    """The amounts of one node by resource: those that it offers, or those that its pods request."""

    __slots__ = ("_row", "_snapshot")

    def __init__(self, seen: Seen, subject: str, snapshot: Snapshot, row: int) -> None:
        super().__init__(seen, (subject,), {})
        self._snapshot, self._row = snapshot, row

    def _entry(self, key: Any) -> int | None:
        table = self._snapshot.nodes
        columns = table.allocatable if self._path[0] == ALLOCATABLE else table.requested
        at = table.resource_index.get(key, -1)
        value = columns.item(at, self._row) if 0 <= at < len(columns) else None
        if not 0 <= at < FIXED_RESOURCES:
            self._seen.setdefault((OFFERED, key), at >= 0)
        self._seen.setdefault((*self._path, ENTRY, key), value)
        return value

    def _whole(self) -> Mapping[str, int]:
        self._seen.setdefault((OFFERED, WHOLE), tuple(self._snapshot.nodes.resource_index))
        found = amounts(self._snapshot, str(self._path[0]), self._row)
        self._seen.setdefault((*self._path, WHOLE), encoded(found))
        return found


class MeasurementsView(MappingView):
    """The measured values of one node."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> int | None:
        """None without a value, as of ``NodeMeasurements``."""
        return self._entry(key)

    def _entry(self, key: Any) -> int | None:
        value: int | None = self._real.get(key)
        self._seen.setdefault((*self._path, ENTRY, key), value)
        return value

    def _whole(self) -> Mapping[str, int]:
        raise NotFollowedError("reads all measurements")


_View = Callable[[Seen, Any], Any]
_VIEWS: dict[tuple[type[Object], Key], _View] = {}


def view_class(kind: type[Object], path: Key) -> _View:
    """Return the class of views of objects of ``kind`` that are found under ``path``.

    There is one for each, so that the keys are constants: ``__getattr__`` would take twice as long.
    """
    made = _VIEWS.get((kind, path))
    if made is None:
        made = _VIEWS[kind, path] = _new_view_class(kind, path)
    return made


def _new_view_class(kind: type[Object], path: Key) -> _View:
    whole_key = (*path, WHOLE)

    def start(self: Any, seen: Seen, real: Any) -> None:
        self._seen, self._real = seen, real

    def whole(self: Any) -> Any:
        self._seen.setdefault(whole_key, encoded(self._real))
        return self._real

    body: dict[str, Any] = {
        "__slots__": ("_real", "_seen"),
        "__init__": start,
        # isinstance holds, as plugins ask for it.
        "__class__": property(lambda _: kind),
        "__repr__": lambda self: repr(whole(self)),
        "__eq__": lambda self, other: whole(self) == getattr(other, "_real", other),
        "__hash__": lambda self: hash(whole(self)),
    }
    hints = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        body[field.name] = property(_reader(field.name, (*path, field.name), _is_optional(hints[field.name])))
    for name, member in vars(kind).items():
        if name not in body and isinstance(member, property | FunctionType) and not name.startswith("__"):
            body[name] = member
    return type(kind.__name__, (), body)


def _is_optional(hint: Any) -> bool:
    """Return whether a field has an object or None."""
    if get_origin(hint) not in (Union, UnionType):
        return False
    return any(isinstance(each, type) and issubclass(each, Object) for each in get_args(hint))


def _reader(name: str, path: Key, optional: bool) -> Callable[[Any], Any]:
    whole_key, present_key = (*path, WHOLE), (*path, PRESENT)

    def read(self: Any) -> Any:
        value = getattr(self._real, name)
        if optional:
            self._seen.setdefault(present_key, noted(value is not None))
            return value if value is None else view_class(type(value), path)(self._seen, value)
        if isinstance(value, Object):
            return view_class(type(value), path)(self._seen, value)
        if isinstance(value, Mapping):
            return MappingView(self._seen, path, value)
        if isinstance(value, tuple):
            self._seen.setdefault(whole_key, encoded(value))
            return value
        self._seen.setdefault(path, noted(value))
        return value

    return read


def pod_view(seen: Seen, pod: Pod) -> Pod:
    """Return a view of ``pod``."""
    view: Pod = view_class(Pod, (POD,))(seen, pod)
    return view


class StateView(CycleState):
    """The plugin's CycleState.

    Args:
        seen: Notes the reads.
        real: The state.
        writable: Whether the point may write to it. Filter and Score may not, because they are not always
            called.
    """

    __slots__ = ("_real", "_seen", "_writable")

    def __init__(self, seen: Seen, real: CycleState, *, writable: bool) -> None:
        self._seen, self._real, self._writable = seen, real, writable

    def write(self, key: Hashable, value: object) -> None:
        """As of ``CycleState``."""
        self._may_write(key)
        self._real.write(key, value)

    def read(self, key: Hashable, kind: type[T]) -> T:
        """As of ``CycleState``."""
        return self._noted(key, self._real.read(key, kind))

    def get(self, key: Hashable, kind: type[T]) -> T | None:
        """As of ``CycleState``."""
        return self._noted(key, self._real.get(key, kind))

    def delete(self, key: Hashable) -> None:
        """As of ``CycleState``."""
        self._may_write(key)
        self._real.delete(key)

    def _may_write(self, key: Hashable) -> None:
        if not self._writable:
            raise NotFollowedError(f"writes {key!r} to the CycleState at a point that is not always called")

    def _noted(self, key: Hashable, value: T) -> T:
        if self._writable:
            return value
        if type(value) is dict:
            view: Any = MappingView(self._seen, (STATE, key), cast("dict[Any, Any]", value))
            return cast("T", view)
        self._seen.setdefault((STATE, key), noted(value))
        return value
