"""Large answers in parts, which protobuf's own merging puts together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

MessageT = TypeVar("MessageT", bound=Message)

_FIXED = {FieldDescriptor.TYPE_FIXED32: 4, FieldDescriptor.TYPE_SFIXED64: 8}
_TAG = 6
"""The most bytes of a field's tag and length."""


def parts(message: MessageT, most: int) -> Iterator[MessageT]:
    """Yield parts of ``message`` that, merged in order, are equal to it.

    A part has at most ``most`` bytes, unless a single value has more: a text, or a message in a list.
    """
    if message.ByteSize() <= most:
        yield message
        return
    part: Any = type(message)()
    for descriptor, value in message.ListFields():
        name = descriptor.name
        if descriptor.is_repeated:
            for run in _runs(descriptor, value, most):
                if part.ByteSize() and part.ByteSize() + run[1] > most:
                    yield part
                    part = type(message)()
                getattr(part, name).extend(run[0])
        elif descriptor.message_type is not None:
            for piece in parts(value, most):
                if part.ByteSize() and part.ByteSize() + piece.ByteSize() + _TAG > most:
                    yield part
                    part = type(message)()
                getattr(part, name).MergeFrom(piece)
        else:
            setattr(part, name, value)
    yield part


def _runs(descriptor: FieldDescriptor, values: Any, most: int) -> Iterator[tuple[Any, int]]:
    """Yield runs of a repeated field's values, each with its bytes."""
    size = _FIXED.get(descriptor.type)
    if size is not None:
        count = max(1, (most - _TAG) // size // 4)
        for start in range(0, len(values), count):
            run = values[start : start + count]
            yield run, len(run) * size + _TAG
        return
    run, taken = [], 0
    for value in values:
        bytes_of = _size(value) + _TAG
        if run and taken + bytes_of > most // 4:
            yield run, taken
            run, taken = [], 0
        run.append(value)
        taken += bytes_of
    if run:
        yield run, taken


def _size(value: Any) -> int:
    if isinstance(value, Message):
        return value.ByteSize()
    return len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 10
