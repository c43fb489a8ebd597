"""Decoding errors in our own terms: the field's path and what was expected there."""

from __future__ import annotations

import re

from mooring.framework.errors import InvalidArgumentError

MAX_OBJECT_BYTES = 4 * 1024 * 1024
"""More than an API server stores in one object."""

_LOCATED = re.compile(r"(?P<message>.*) - at `(?:key in )?`?\$\.?(?P<path>[^`]*)`", re.DOTALL)


def rejected(path: str, message: str) -> InvalidArgumentError:
    """Return the error for one field; ``path`` "" means the object as a whole."""
    return InvalidArgumentError.at(path, message)


def translated(error: Exception) -> InvalidArgumentError:
    """Return a msgspec error, or a RecursionError, with the field's path as Kubernetes spells it."""
    if isinstance(error, RecursionError):
        return rejected("", "the object is nested too deeply")
    text = str(error)
    located = _LOCATED.fullmatch(text)
    if located is None:
        return rejected("", text)
    message = located["message"].replace("`", "")
    if message.startswith("Expected str, got") and message.endswith(("bool", "int", "float")):
        message += "; put it in quotes"
    return rejected(located["path"], message)


def check_size(data: bytes) -> None:
    """Raise InvalidArgumentError if ``data`` is empty or too large for an API server to store."""
    if not data:
        raise rejected("", "the object is empty")
    if len(data) > MAX_OBJECT_BYTES:
        raise rejected("", f"the object has {len(data)} bytes; at most {MAX_OBJECT_BYTES} are taken")
