"""The functions and operators of expressions, each with its overloads.

Mirrors cel-go's standard library and ``k8s.io/apiserver/pkg/cel/library`` (quantity.go, semverlib.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.framework.quantity import NANO
from mooring.plugins.dynamic_resources.cel import texts
from mooring.plugins.dynamic_resources.cel.values import Amount, EvaluationError, Semver

ANY = "any"
"""The type of a value that is known only with a device."""

_INTEGER = re.compile("[-+]?[0-9]{1,40}")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a function: its parameters' types, its result's type and what it does."""

    parameters: tuple[str, ...]
    result: str
    apply: Callable[..., Any]


def _in_range(value: int) -> int:
    if value not in _INT64:
        raise EvaluationError("integer overflow")
    return value


def _quotient(left: int, right: int) -> int:
    """Division that rounds towards zero, as Go's does."""
    if not right:
        raise EvaluationError("division by zero")
    magnitude = abs(left) // abs(right)
    return _in_range(magnitude if (left < 0) == (right < 0) else -magnitude)


def _remainder(left: int, right: int) -> int:
    if not right:
        raise EvaluationError("modulus by zero")
    return _in_range(left - right * _quotient(left, right))


def _integer(value: int | str) -> int:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise EvaluationError(f"{value[:40]!r} is not an integer")
    return _in_range(int(value))


def _text(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except EvaluationError:
        return False
    return True


def _overloads(result: str, apply: Callable[..., Any], *signatures: str) -> tuple[Overload, ...]:
    return tuple(Overload(tuple(signature.split()), result, apply) for signature in signatures)


_ORDERED = ("int int", "string string", "bool bool")
_COMPARED = ("quantity quantity", "semver semver")

OPERATORS: Mapping[str, tuple[Overload, ...]] = {
    "!_": _overloads("bool", lambda value: not value, "bool"),
    "-_": _overloads("int", lambda value: _in_range(-value), "int"),
    "_<_": _overloads("bool", lambda left, right: left < right, *_ORDERED),
    "_<=_": _overloads("bool", lambda left, right: left <= right, *_ORDERED),
    "_>_": _overloads("bool", lambda left, right: left > right, *_ORDERED),
    "_>=_": _overloads("bool", lambda left, right: left >= right, *_ORDERED),
    "_+_": (
        *_overloads("int", lambda left, right: _in_range(left + right), "int int"),
        *_overloads("string", lambda left, right: left + right, "string string"),
    ),
    "_-_": _overloads("int", lambda left, right: _in_range(left - right), "int int"),
    "_*_": _overloads("int", lambda left, right: _in_range(left * right), "int int"),
    "_/_": _overloads("int", _quotient, "int int"),
    "_%_": _overloads("int", _remainder, "int int"),
}
"""Operators whose sides are evaluated first; those that compare or join conditions are the checker's."""

FUNCTIONS: Mapping[str, tuple[Overload, ...]] = {
    "quantity": _overloads("quantity", Amount.parse, "string"),
    "isQuantity": _overloads("bool", lambda text: _parses(Amount.parse, text), "string"),
    "semver": _overloads("semver", Semver.parse, "string"),
    "isSemver": _overloads("bool", lambda text: _parses(Semver.parse, text), "string"),
    "size": _overloads("int", len, "string", "list", "map"),
    "sign": _overloads("int", lambda amount: amount.compare(Amount(0)), "quantity"),
    "int": _overloads("int", _integer, "int", "string"),
    "string": _overloads("string", _text, "bool", "int", "string"),
}
"""Functions that are called by their name."""

METHODS: Mapping[str, tuple[Overload, ...]] = {
    "compareTo": _overloads("int", lambda left, right: left.compare(right), *_COMPARED),
    "isGreaterThan": _overloads("bool", lambda left, right: left.compare(right) > 0, *_COMPARED),
    "isLessThan": _overloads("bool", lambda left, right: left.compare(right) < 0, *_COMPARED),
    "add": (
        *_overloads("quantity", lambda left, right: left.plus(right.nanos), "quantity quantity"),
        *_overloads("quantity", lambda left, right: left.plus(right * NANO), "quantity int"),
    ),
    "sub": (
        *_overloads("quantity", lambda left, right: left.plus(-right.nanos), "quantity quantity"),
        *_overloads("quantity", lambda left, right: left.plus(-right * NANO), "quantity int"),
    ),
    "major": _overloads("int", lambda version: _in_range(version.major), "semver"),
    "minor": _overloads("int", lambda version: _in_range(version.minor), "semver"),
    "patch": _overloads("int", lambda version: _in_range(version.patch), "semver"),
    "startsWith": _overloads("bool", lambda text, start: text.startswith(start), "string string"),
    "endsWith": _overloads("bool", lambda text, end: text.endswith(end), "string string"),
    "lowerAscii": _overloads("string", texts.lower_ascii, "string"),
    "upperAscii": _overloads("string", texts.upper_ascii, "string"),
    "trim": _overloads("string", texts.trim, "string"),
    "split": _overloads("list of string", texts.split, "string string", "string string int"),
    "join": _overloads("string", texts.join, "list", "list string"),
    "replace": _overloads("string", texts.replace, "string string string", "string string string int"),
    "charAt": _overloads("string", texts.character_at, "string int"),
    "indexOf": _overloads("int", str.find, "string string"),
    "lastIndexOf": _overloads("int", str.rfind, "string string"),
    "substring": _overloads("string", texts.substring, "string int", "string int int"),
    "contains": _overloads("bool", lambda text, part: part in text, "string string"),
    "size": _overloads("int", len, "string", "list", "map"),
}
"""Functions that are called on a value, which is their first argument."""
