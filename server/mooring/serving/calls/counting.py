"""How much a request holds, counted in its bytes before any object is made of them.

Two bytes of a message become an object of fifty, and hundreds once its fields are read; so repeated fields
are counted on the wire, where they cost nothing yet. Only lengths are read: the content of an object, or the
bytes between two names, are skipped.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from mooring.framework.errors import InvalidArgumentError

MAX_ENTRIES: Final = 1 << 17
"""How many entries a repeated field of a request may have, at any depth and in all."""

MAX_FIELDS: Final = 1 << 20
"""How many fields a request may have that are worth counting, known or not: each costs time."""

MAX_BYTES: Final = 8 * 2**20
"""The most bytes of a request besides the objects of a whole cluster that it may contain."""

_WHOLE_CLUSTER: Final = frozenset(
    {
        "mooring.v1.NodeSelection.inline",
        "mooring.v1.PushObjectsRequest.events",
        "grpcplugin.BestOptionsRequest.options",
    }
)

_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT: Final = 10
_MAX_SHORT: Final = 15
_TEXT: Final = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


class _Field(NamedTuple):
    """A field that is counted, or has some that are.

    Attributes:
        path: Its path from the request.
        repeated: Whether its entries are counted.
        whole_cluster: Whether its bytes don't count to the usual limit.
        fields: The fields inside that are read, by tag.
        tags: The tags of these, where they are lists of text and nothing else.
    """

    path: str
    repeated: bool
    whole_cluster: bool
    fields: Fields
    tags: tuple[int, ...]


Fields = dict[int, _Field]


class Counting:
    """Counts requests of one type. Thread-safe."""

    def __init__(self, request: Descriptor) -> None:
        self._fields = _counted_fields(request, "")

    def entries(self, data: bytes) -> int:
        """How many entries the repeated fields of a request have together, at most.

        Raises:
            DecodeError: The bytes are not a message.
            InvalidArgumentError: A field has too many, there are too many fields, or too many bytes.
        """
        tally = _Tally()
        if self._fields:
            tally.walk(data, 0, len(data), self._fields)
        usual = len(data) - tally.whole_cluster_bytes
        if usual > MAX_BYTES:
            raise InvalidArgumentError.at(
                "",
                f"{usual} bytes besides inline nodes, pushed objects and options, more than {MAX_BYTES}",
            )
        return sum(tally.counts.values())


class _Tally:
    """The counts of one request."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.whole_cluster_bytes = 0
        self._fields = 0

    def walk(self, data: bytes, at: int, end: int, fields: Fields) -> None:
        """Count the fields of the message between two positions."""
        while at < end:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise InvalidArgumentError.at("", f"the request has more than {MAX_FIELDS} fields")
            tag = data[at]
            at += 1
            if tag > 0x7F:
                tag, at = _varint(data, at - 1, end)
            kind = tag & 7
            if kind == _DELIMITED:
                length, begin = _varint(data, at, end)
                at = begin + length
                field = fields.get(tag)
                if field is not None and at <= end:
                    self._count(field, data, begin, at)
            elif kind == _VARINT:
                _, at = _varint(data, at, end)
            elif kind == _FIXED32:
                at += 4
            elif kind == _FIXED64:
                at += 8
            else:
                raise DecodeError(f"wire type {kind} is in no request")
        if at > end:
            raise DecodeError("a field ends behind its message")

    def _count(self, field: _Field, data: bytes, at: int, end: int) -> None:
        if field.repeated:
            self._add(field.path, 1)
        if field.whole_cluster:
            self.whole_cluster_bytes += end - at
        if field.tags:
            # Each name has a tag, so the bytes that look like one bound their number: counting those is
            # fastest.
            most = sum(data.count(tag, at, end) for tag in field.tags)
            if self.counts.get(field.path, 0) + most <= MAX_ENTRIES:
                self._add(field.path, most)
                return
        if field.fields:
            self.walk(data, at, end, field.fields)

    def _add(self, path: str, count: int) -> None:
        self.counts[path] = count = self.counts.get(path, 0) + count
        if count > MAX_ENTRIES:
            raise InvalidArgumentError.at(path, f"has more than {MAX_ENTRIES} entries")


def _counted_fields(message: Descriptor, path: str) -> Fields:
    """Return the fields of a type of message that are counted, or contain such fields."""
    found: Fields = {}
    for field in message.fields:
        where = f"{path}{field.name}"
        inner = _counted_fields(field.message_type, f"{where}.") if field.message_type else {}
        if inner or (field.is_repeated and (field.message_type or field.type in _TEXT)):
            found[field.number << 3 | _DELIMITED] = _Field(
                where,
                field.is_repeated,
                field.full_name in _WHOLE_CLUSTER,
                inner,
                _text_tags(field.message_type) if field.message_type else (),
            )
    return found


def _text_tags(message: Descriptor) -> tuple[int, ...]:
    """Return the tags of lists of text if the message has none inside and tags of one byte; else none."""
    if any(field.message_type or field.number > _MAX_SHORT for field in message.fields):
        return ()
    lists = (field for field in message.fields if field.is_repeated and field.type in _TEXT)
    return tuple(field.number << 3 | _DELIMITED for field in lists)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    if at < end and (number := data[at]) < 0x80:
        return number, at + 1
    number = 0
    for shift in range(min(_LONGEST_VARINT, end - at)):
        octet = data[at + shift]
        number |= (octet & 0x7F) << 7 * shift
        if octet < 0x80:
            return number, at + shift + 1
    raise DecodeError("a number does not end")
