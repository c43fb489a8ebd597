"""Columns of numbers between numpy and repeated fields, without a Python object per number."""

from __future__ import annotations

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from numpy.typing import ArrayLike

_WIRE_TYPES = {FieldDescriptor.TYPE_FIXED32: "<u4", FieldDescriptor.TYPE_SFIXED64: "<i8"}
_LENGTH_DELIMITED = 2


def put(message: Message, field: str, column: ArrayLike) -> None:
    """Append ``column`` to a repeated ``fixed32`` or ``sfixed64`` field.

    A negative number in a ``fixed32`` column is sent as its two's complement: -1 as 4294967295.
    """
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    data = np.asarray(column).astype(_WIRE_TYPES[descriptor.type]).tobytes()
    if data:
        tag = _varint(descriptor.number << 3 | _LENGTH_DELIMITED)
        message.MergeFromString(tag + _varint(len(data)) + data)


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)
