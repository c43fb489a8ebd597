"""From Kubernetes' protobuf messages to the objects that JSON gives.

Both have the same field names, so the way to read a kind is made from the two type descriptions. A field
that Go's JSON leaves out because it is empty counts as absent here as well.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, TypeVar

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from msgspec import inspect

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.errors import rejected
from mooring.cluster.kinds import ClusterObject
from mooring.kubernetes.v1.meta_pb2 import Quantity, Time

ObjectT = TypeVar("ObjectT", bound=ClusterObject)

Reader = Callable[[Any], Any]
"""Turns a field's value into an attribute's."""

INLINE = ("volume_source", "persistent_volume_source")
"""The messages whose fields JSON has in the message around them."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def object_from(message: Message, kind: type[ObjectT], *, named: bool = True) -> ObjectT:
    """Return the object of struct type ``kind`` that ``message`` says. Raises InvalidArgumentError as
    ``checked`` does, and if a string is not UTF-8 or a time is beyond the calendar.
    """
    shape: type[msgspec.Struct] = kind
    try:
        item = kind(**_attributes_reader(shape, message.DESCRIPTOR)(message))
    except (UnicodeDecodeError, OverflowError) as error:
        raise rejected("", f"the object can't be read: {error}") from None
    return checked(item, named=named)


@cache
def _attributes_reader(kind: type[msgspec.Struct], descriptor: Descriptor) -> Reader:
    """Give the attributes of ``kind`` that a message sets."""
    # By the field's descriptor, a single object: reading its name would take longer.
    readers: dict[FieldDescriptor, tuple[str, Reader, bool]] = {}
    for field in msgspec.structs.fields(kind):
        wire = descriptor.fields_by_name.get(field.name)
        if wire is not None:
            readers[wire] = (field.name, *_reader(inspect.type_info(field.type), wire))
    inlined = {
        descriptor.fields_by_name[name]: _attributes_reader(
            kind, descriptor.fields_by_name[name].message_type
        )
        for name in INLINE
        if name in descriptor.fields_by_name
    }

    def read(message: Message) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for wire, value in message.ListFields():
            found = readers.get(wire)
            if found is not None:
                name, reader, keeps_empty = found
                attribute = reader(value)
                if attribute or keeps_empty:
                    attributes[name] = attribute
            elif wire in inlined:
                attributes |= inlined[wire](value)
        return attributes

    return read


def _reader(shape: inspect.Type, wire: FieldDescriptor) -> tuple[Reader, bool]:
    """Return how to read a field, and whether empty differs from absent, as with a Go pointer."""
    if isinstance(shape, inspect.UnionType):
        parts = [part for part in shape.types if not isinstance(part, inspect.NoneType)]
        # A text in one API version may be a message in another.
        fitting = [part for part in parts if isinstance(part, inspect.StructType) == bool(wire.message_type)]
        return _reader((fitting or parts)[0], wire)[0], len(parts) < len(shape.types)
    if isinstance(shape, inspect.DictType):
        return _map_reader(shape.value_type, wire.message_type), False
    if isinstance(shape, inspect.VarTupleType):
        item, _ = _reader(shape.item_type, wire)
        return lambda values: tuple(map(item, values)), False
    if isinstance(shape, inspect.StructType):
        kind, attributes = shape.cls, _attributes_reader(shape.cls, wire.message_type)
        return lambda message: kind(**attributes(message)), False
    if wire.message_type is Time.DESCRIPTOR:
        return time_text, False
    if wire.message_type is Quantity.DESCRIPTOR:
        return _quantity, False
    return (_text if isinstance(shape, inspect.StrType) else _same), False


def _map_reader(shape: inspect.Type, entry: Any) -> Reader:
    """Return how to read a map of ``entry`` messages; a value that says nothing is empty, not absent.

    Values come in the order of their keys, as in Go's JSON. A map gives them by hash, and of several that
    are faulty a rejection names the first; and equal maps are encoded alike.
    """
    wire: FieldDescriptor = entry.fields_by_name["value"]
    item, _ = _reader(shape, wire)
    if wire.message_type is Time.DESCRIPTOR:
        return lambda values: {_text(name): item(value) or "" for name, value in values.items()}
    return lambda values: dict(sorted((_text(name), item(value)) for name, value in values.items()))


def _same(value: Any) -> Any:
    return value


def _text(value: str | bytes) -> str:
    """Protobuf hands over bytes where a string is not UTF-8."""
    return value.decode() if isinstance(value, bytes) else value


def _quantity(value: Quantity) -> str:
    return _text(value.string) if value.HasField("string") else "0"


def time_text(value: Time) -> str | None:
    """As Go's JSON has it: whole seconds, and no time at all at zero. Raises OverflowError if it is beyond
    the calendar.
    """
    return _second(value.seconds) if value.seconds or value.nanos else None


@lru_cache(maxsize=1 << 10)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
