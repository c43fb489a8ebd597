"""Inputs that are nearly right: bytes, values as JSON has them, and protobuf messages with faults in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

LARGEST = 1 << 16
"""Bytes of an input; what many more do is measured elsewhere."""

NUMBERS = (0, 1, -1, 2, 63, 100, 2**31 - 1, -(2**31), 2**32, 2**53, 2**63 - 1, -(2**63), 2**64, 10**30)
TEXTS = (
    *(
        "",
        " ",
        "*",
        "a",
        "n0",
        "p0",
        "default",
        "\0",
        "\n",
        "é",
        "\u2028",
        "😀",
        "x" * 300,
        "../..",
        "%s",
        "{}",
    ),
    *("-1", "0", "1e999", "1.5Gi", "100m", "999999999999Ei", "1E9999", ".", "m", "+.5e-3", "NaN", "Infinity"),
    *("In", "NotIn", "Exists", "Gt", "NoSchedule", "NoExecute", "kubernetes.io/hostname", "zone", "true"),
    *("2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "Pod", "Node", "v1", "Always", "ScheduleAnyway"),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        1.5,
        -0.0,
        1e300,
        [],
        {},
        [None],
        [[]],
        {"": None},
        {"a": {"b": []}},
        [{}],
        ["x", 5],
    ),
    *NUMBERS,
    *TEXTS,
)
TOKENS = (
    *(
        b"null",
        b"{}",
        b"[]",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\xc0\x80",
    ),
    *(
        b"\0",
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b",",
        b":",
        b"-",
        b"e999",
        b"9" * 25,
        b"0x",
        b"1e400",
        b"\xef\xbb\xbf",
    ),
    *(b"true", b"!!int z", b"&a", b"*a", b"<<: *a", b"---\n", b"? ", b"|", b"[" * 200, b"(" * 50, b"#", b"%"),
)


def changed_bytes(
    dice: Random, data: bytes, others: Sequence[bytes], tokens: Sequence[bytes] = TOKENS
) -> bytes:
    """Return the same with one to four parts left out, doubled, replaced, swapped or taken from another
    input.
    """
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        at, end = sorted((dice.randint(0, len(data)), dice.randint(0, len(data))))
        if end - at > 32 and dice.random() < 0.7:
            end = at + dice.randint(1, 32)
        part = data[at:end]
        match dice.randrange(7):
            case 0:
                part = b""
            case 1:
                part += part
            case 2:
                part = dice.choice(tokens)
            case 3:
                part += dice.choice(tokens)
            case 4:
                part = dice.randbytes(dice.randint(1, 4))
            case 5 if part:
                flipped = dice.randrange(len(part))
                part = (
                    part[:flipped] + bytes([part[flipped] ^ (1 << dice.randrange(8))]) + part[flipped + 1 :]
                )
            case _:
                other = dice.choice(others)
                begin = dice.randint(0, len(other))
                part = other[begin : begin + dice.randint(1, 64)]
        data = data[:at] + part + data[end:]
    return data[:LARGEST]


def changed_value(dice: Random, value: Any, others: Sequence[Any] = VALUES) -> Any:
    """Return the same with a value somewhere in it left out, doubled, renamed, or replaced by another."""
    if not isinstance(value, dict | list) or not value or dice.random() < 0.1:
        return dice.choice(others) if dice.random() < 0.9 else _nested(dice, value)
    if isinstance(value, list):
        return _changed_list(dice, value, others)
    key = dice.choice(list(value))
    match dice.randrange(12):
        case 0:
            return {name: item for name, item in value.items() if name != key}
        case 1:
            return value | {str(dice.choice(TEXTS)): value[key]}
        case 2:
            name = dice.choice((key.upper(), key.lower(), key.swapcase(), key + "x"))
            return {name if name_ == key else name_: item for name_, item in value.items()}
        case _:
            return value | {key: changed_value(dice, value[key], others)}


def _changed_list(dice: Random, value: list[Any], others: Sequence[Any]) -> list[Any]:
    at = dice.randrange(len(value))
    match dice.randrange(8):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return value[:at] + value[at : at + 1] * dice.choice((2, 3, 40)) + value[at + 1 :]
        case 2:
            return [*value, dice.choice(others)]
        case _:
            return [*value[:at], changed_value(dice, value[at], others), *value[at + 1 :]]


def _nested(dice: Random, value: Any) -> Any:
    for _ in range(dice.choice((2, 20, 300))):
        value = [value] if dice.random() < 0.5 else {"a": value}
    return value


def changed_json(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """JSON whose values were changed, or whose bytes were, too."""
    if dice.random() < 0.2:
        return changed_bytes(dice, data, others)
    try:
        value = msgspec.json.decode(data)
        for _ in range(dice.choice((1, 1, 2, 4))):
            value = changed_value(dice, value)
        data = msgspec.json.encode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return changed_bytes(dice, data, others)
    return changed_bytes(dice, data, others) if dice.random() < 0.05 else data[:LARGEST]


SomeBytes = Callable[[Random, str, bytes], bytes]
"""Changes a field of bytes, given its name and its content."""


def change_message(dice: Random, message: Message, some_bytes: SomeBytes) -> None:
    """Change a few fields of a message, at any depth."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        _change_somewhere(dice, message, some_bytes)


def _change_somewhere(dice: Random, message: Any, some_bytes: SomeBytes) -> None:
    fields = message.DESCRIPTOR.fields
    if not fields:
        return
    held = [field for field, _ in message.ListFields()]
    field = dice.choice(held) if held and dice.random() < 0.8 else dice.choice(fields)
    if field in held and dice.random() < 0.08:
        message.ClearField(field.name)
    elif field.is_repeated:
        _change_repeated(dice, message, field, some_bytes)
    elif field.message_type is not None:
        inner = getattr(message, field.name)
        inner.SetInParent()
        _change_somewhere(dice, inner, some_bytes)
    else:
        setattr(message, field.name, _scalar(dice, field, getattr(message, field.name), some_bytes))


def _change_repeated(dice: Random, message: Any, field: FieldDescriptor, some_bytes: SomeBytes) -> None:
    items = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if field.message_type.fields_by_name["value"].message_type is None:
            items.clear()
        else:
            _ = items[dice.choice(TEXTS)]
        return
    if items and dice.random() < 0.3:
        del items[dice.randrange(len(items)) :]
    elif items and dice.random() < 0.4:
        items.extend([items[dice.randrange(len(items))]] * dice.choice((1, 2, 50)))
    elif field.message_type is not None:
        item = dice.choice(items) if items and dice.random() < 0.7 else items.add()
        _change_somewhere(dice, item, some_bytes)
    elif items and dice.random() < 0.5:
        at = dice.randrange(len(items))
        items[at] = _scalar(dice, field, items[at], some_bytes)
    else:
        items.append(_scalar(dice, field, items[0] if items else None, some_bytes))


_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def _scalar(dice: Random, field: FieldDescriptor, held: Any, some_bytes: SomeBytes) -> Any:
    kind = field.cpp_type
    if kind in _RANGES:
        least, most = _RANGES[kind]
        chosen = dice.choice(NUMBERS) if dice.random() < 0.6 else dice.randint(0, 8)
        return min(max(chosen, least), most)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return not held
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return dice.choice((0.0, -1.5, float("inf"), float("nan"), 1e300))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return some_bytes(dice, field.name, held or b"")
    return dice.choice(TEXTS)
