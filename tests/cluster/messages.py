"""Any object that the types allow, and the same as Kubernetes' protobuf message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
from google.protobuf.message import Message
from hypothesis import strategies as st
from msgspec import inspect

from mooring.cluster.decoding.messages import INLINE
from mooring.cluster.decoding.protobuf_objects import MESSAGES
from mooring.cluster.kinds import ClusterObject
from mooring.cluster.pod_parts import PodParts
from mooring.framework.objects import Object
from mooring.kubernetes.v1.meta_pb2 import Time

SOME_TEXTS = ("x", 'é\n"\0')
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
SOME_TIMES = ("2026-03-01T12:00:00Z", "1999-12-31T23:59:59Z")
TIMES = {
    "allocation_timestamp",
    "creation_timestamp",
    "deletion_timestamp",
    "disrupted_pods",
    "start_time",
    "time_added",
}
MAX_INT = 2**31 - 1
QUANTITIES = ("0", "1", "250m", "1.5Gi", "3e2", "-1", "x")
OLDER_FIELDS = ("pod_group_template_ref",)
"""Fields that the newest version of a kind lacks."""
DEFAULT_TEXTS = ("Shared", "default-scheduler", "rbd")


def objects(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return objects of ``kind`` with any fields set, usable or not."""
    shape = inspect.type_info(kind)
    assert isinstance(shape, inspect.StructType)
    # Go leaves an empty text out, so one with a default of its own is never empty on the wire.
    fields = {
        field.name: TEXTS.filter(bool) if field.default in DEFAULT_TEXTS else _values(field.name, field.type)
        for field in shape.fields
        if field.name not in OLDER_FIELDS
    }
    return st.fixed_dictionaries({}, optional=fields).map(lambda values: kind(**values))


def _values(name: str, shape: inspect.Type) -> st.SearchStrategy[Any]:
    match shape:
        case inspect.UnionType():
            alone = _newest(shape)
            return st.none() | _values(name, alone) if alone else st.sampled_from(QUANTITIES)
        case inspect.StructType():
            return objects(shape.cls)
        case inspect.DictType():
            return st.dictionaries(TEXTS, _values(name, shape.value_type), max_size=2)
        case inspect.VarTupleType():
            return st.lists(_values(name, shape.item_type), max_size=2).map(tuple)
        case inspect.IntType():
            return st.integers(0, MAX_INT)
        case inspect.BoolType():
            return st.booleans()
    return st.sampled_from(SOME_TIMES) if name in TIMES else TEXTS


def each_field(kind: type[msgspec.Struct]) -> Iterator[Any]:
    """Yield objects of ``kind`` that say one thing each: every field, at every place, with every sort of
    value.
    """
    shape = inspect.type_info(kind)
    assert isinstance(shape, inspect.StructType)
    for field in shape.fields:
        if field.name not in OLDER_FIELDS:
            for value in _each_value(field.name, field.type):
                yield kind(**{field.name: value})


def _each_value(name: str, shape: inspect.Type) -> Iterator[Any]:
    match shape:
        case inspect.UnionType():
            alone = _newest(shape)
            yield from _each_value(name, alone) if alone else QUANTITIES
        case inspect.StructType():
            yield shape.cls()
            yield from each_field(shape.cls)
        case inspect.DictType():
            yield from ({"x": value} for value in _each_value(name, shape.value_type))
        case inspect.VarTupleType():
            yield from ((value, value) for value in _each_value(name, shape.item_type))
        case inspect.IntType():
            yield from (1, MAX_INT)
        case inspect.BoolType():
            yield True
        case _:
            yield from SOME_TIMES if name in TIMES else SOME_TEXTS


def _newest(shape: inspect.UnionType) -> inspect.Type | None:
    """Return the type besides None; None = a quantity, which is a text or a number."""
    parts = [part for part in shape.types if not isinstance(part, inspect.NoneType)]
    # The newest version has a message for an older version's text.
    message = [part for part in parts if isinstance(part, inspect.StructType)]
    alone = message or (parts if len(parts) == 1 else [])
    return alone[0] if alone else None


def whole(item: ClusterObject | PodParts | None) -> ClusterObject | None:
    """Return the object as one, also if it came in parts."""
    return item.pod if isinstance(item, PodParts) else item


def message_of(item: Object) -> Message:
    """Return the message that Go would marshal for ``item``."""
    return _filled(MESSAGES[type(item).__name__](), item)


def _filled(message: Message, item: msgspec.Struct) -> Message:
    known = message.DESCRIPTOR.fields_by_name
    for name in item.__struct_fields__:
        value = getattr(item, name)
        if value is None:
            continue
        if name in known:
            _set(message, name, value)
        else:
            inline = next(field for field in INLINE if field in known)
            _set(getattr(message, inline), name, value)
    return message


def _set(message: Any, name: str, value: Any) -> None:
    target = getattr(message, name)
    if isinstance(value, dict):
        for key, entry in value.items():
            if hasattr(target, "get_or_create"):
                _say(target[key], entry)
            else:
                target[key] = entry
    elif isinstance(value, tuple):
        for entry in value:
            if hasattr(target, "add"):
                _say(target.add(), entry)
            else:
                target.append(entry)
    elif isinstance(target, Message):
        target.SetInParent()
        _say(target, value)
    else:
        setattr(message, name, value)


def _say(message: Any, value: Any) -> None:
    """Fill a message with ``value``: an object, a time or a quantity."""
    if isinstance(value, msgspec.Struct):
        _filled(message, value)
    elif isinstance(message, Time):
        message.seconds = int(datetime.fromisoformat(value).timestamp())
    else:
        message.string = str(value)


def fields_of(kind: type[msgspec.Struct]) -> set[tuple[str, str]]:
    """Return struct and name of every field of ``kind`` and of its nested structs."""
    found: set[tuple[str, str]] = set()
    waiting: list[inspect.Type] = [inspect.type_info(kind)]
    while waiting:
        match waiting.pop():
            case inspect.StructType(cls=cls, fields=fields):
                own = {(cls.__name__, field.name) for field in fields}
                waiting += [field.type for field in fields if not own <= found]
                found |= own
            case inspect.UnionType(types=types):
                waiting += types
            case inspect.DictType(value_type=inner) | inspect.VarTupleType(item_type=inner):
                waiting.append(inner)
    return found


def fields_set(item: Any) -> Iterator[tuple[str, str]]:
    """Struct and name of every field that says something, in ``item`` and in what stands in it."""
    if isinstance(item, dict):
        item = tuple(item.values())
    if isinstance(item, tuple):
        for entry in item:
            yield from fields_set(entry)
    elif isinstance(item, msgspec.Struct):
        for name in msgspec.to_builtins(item, enc_hook=dict):
            field = next(each for each in msgspec.structs.fields(item) if each.encode_name == name)
            yield type(item).__name__, field.name
            yield from fields_set(getattr(item, field.name))
