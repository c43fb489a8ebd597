"""Functions of strings.

Mirrors cel-go's ``ext/strings.go``, version 2.
"""

from __future__ import annotations

from mooring.plugins.dynamic_resources.cel.costs import MAX_COST
from mooring.plugins.dynamic_resources.cel.values import EvaluationError

_SPACES = "".join(
    map(
        chr,
        (
            *range(9, 14),
            32,
            0x85,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
            0x202F,
            0x205F,
            0x3000,
        ),
    )
)
_MAX_LENGTH = 10 * MAX_COST
"""Going once through such a text costs as much as an evaluation may."""
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER = {lower: upper for upper, lower in _LOWER.items()}


def lower_ascii(text: str) -> str:
    """``text`` with A to Z in lower case."""
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """``text`` with a to z in upper case."""
    return text.translate(_UPPER)


def trim(text: str) -> str:
    """``text`` without white space around it."""
    return text.strip(_SPACES)


def split(text: str, separator: str, most: int = -1) -> list[str]:
    """Split ``text`` into at most ``most`` parts, unless that is negative; "" separates all characters."""
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    count = len(text) if most < 0 else min(most, len(text))
    return [*text[: count - 1], text[count - 1 :]] if count else []


def replace(text: str, old: str, new: str, most: int = -1) -> str:
    """``text`` with ``old`` replaced, at most ``most`` times if that isn't negative. Raises EvaluationError
    if the result would be longer than any text that may be gone through.
    """
    count = text.count(old) if most < 0 else min(text.count(old), most)
    if len(text) + count * (len(new) - len(old)) > _MAX_LENGTH:
        raise EvaluationError(f"replace: a result of more than {_MAX_LENGTH} characters")
    return text.replace(old, new, max(most, -1))


def join(parts: list[str], separator: str = "") -> str:
    """``parts`` with ``separator`` between them; raises EvaluationError if some of them are not strings."""
    if not all(isinstance(part, str) for part in parts):
        raise EvaluationError("join: other than strings")
    return separator.join(parts)


def character_at(text: str, index: int) -> str:
    """Return the character at ``index``; "" at the end; raises EvaluationError if there is none."""
    return text[_index(text, index) :][:1]


def substring(text: str, start: int, end: int | None = None) -> str:
    """``text`` from ``start`` to before ``end``; raises EvaluationError if there is no such part."""
    last = len(text) if end is None else _index(text, end)
    if _index(text, start) > last:
        raise EvaluationError(f"invalid substring range {start} to {end}")
    return text[start:last]


def _index(text: str, index: int) -> int:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return index
