"""From Kubernetes' protobuf messages to the objects that JSON gives.

Both have the same field names, so the way to read a kind is made from the two type descriptions. A field
that Go's JSON leaves out because it is empty counts as absent here as well.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from msgspec import inspect

from mooring.kubernetes.v1.meta_pb2 import Quantity, Time

Reader = Callable[[Any], Any]
"""Turns a field's value into an attribute's."""

_INLINE = "volume_source"
"""The one message whose fields JSON has in the message around it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def object_from(message: Message, kind: type[msgspec.Struct]) -> Any:
    """The object of struct type ``kind`` that ``message`` says.

    Raises:
        UnicodeDecodeError: A string is not UTF-8.
        OverflowError: A time is beyond the calendar.
    """
    return kind(**_attributes_reader(kind, message.DESCRIPTOR)(message))


@cache
def _attributes_reader(kind: type[msgspec.Struct], descriptor: Descriptor) -> Reader:
    """Gives the attributes of ``kind`` that a message sets."""
    readers: dict[str, tuple[Reader, bool]] = {}
    for field in msgspec.structs.fields(kind):
        wire = descriptor.fields_by_name.get(field.name)
        if wire is not None:
            readers[field.name] = _reader(inspect.type_info(field.type), wire)
    inline = descriptor.fields_by_name.get(_INLINE)
    inlined = _attributes_reader(kind, inline.message_type) if inline is not None else None

    def read(message: Message) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for wire, value in message.ListFields():
            if wire.name in readers:
                reader, keeps_empty = readers[wire.name]
                attribute = reader(value)
                if attribute or keeps_empty:
                    attributes[wire.name] = attribute
            elif inlined is not None and wire.name == _INLINE:
                attributes |= inlined(value)
        return attributes

    return read


def _reader(shape: inspect.Type, wire: FieldDescriptor) -> tuple[Reader, bool]:
    """How to read a field, and whether an empty value differs from an absent one, as a Go pointer's does."""
    if isinstance(shape, inspect.UnionType):
        parts = [part for part in shape.types if not isinstance(part, inspect.NoneType)]
        return _reader(parts[0], wire)[0], len(parts) < len(shape.types)
    if isinstance(shape, inspect.DictType):
        of_strings = inspect.type_info(str) == shape.value_type
        return (_texts if of_strings else _quantities), False
    if isinstance(shape, inspect.VarTupleType):
        item, _ = _reader(shape.item_type, wire)
        return lambda values: tuple(map(item, values)), False
    if isinstance(shape, inspect.StructType):
        kind, attributes = shape.cls, _attributes_reader(shape.cls, wire.message_type)
        return lambda message: kind(**attributes(message)), False
    if wire.message_type is Time.DESCRIPTOR:
        return _time, False
    return (_text if isinstance(shape, inspect.StrType) else _same), False


def _same(value: Any) -> Any:
    return value


def _text(value: str | bytes) -> str:
    """Protobuf hands over bytes where a string is not UTF-8."""
    return value.decode() if isinstance(value, bytes) else value


def _texts(values: Any) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in values.items()}


def _quantities(values: Any) -> dict[str, str]:
    return {_text(name): _quantity(value) for name, value in values.items()}


def _quantity(value: Quantity) -> str:
    return _text(value.string) if value.HasField("string") else "0"


def _time(value: Time) -> str | None:
    """As Go's JSON has it: whole seconds, and no time at all at zero."""
    if not value.seconds and not value.nanos:
        return None
    return (_EPOCH + timedelta(seconds=value.seconds)).isoformat().replace("+00:00", "Z")
