"""The values of expressions, and what comparing them gives.

A value is a bool, int, str, ``Semver``, ``Amount``, list or dict. Errors are raised, and caught where CEL
lets an operator's other side decide. Mirrors cel-go's ``common/types`` and ``k8s.io/apiserver/pkg/cel``
(quantity.go, semver.go).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from mooring.framework.quantity import Quantity, exact_quantity

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_MAX_PART = 2**64
_MAX_DIGITS = 20

PreRelease = tuple[bool, int, str]
"""A part of a pre-release: numbers, by value, before words, by letters."""


class EvaluationError(Exception):
    """An expression failed on a device; the decision fails, as in kube-scheduler."""


class InternalError(EvaluationError):
    """cel-go panics there, which ends the whole evaluation: no other operand makes up for it."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity, in billionths of a unit."""

    nanos: int

    @classmethod
    def parse(cls, text: Quantity) -> Amount:
        """Parse a quantity; raises EvaluationError if the text is invalid."""
        try:
            return cls(exact_quantity(text))
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    def plus(self, nanos: int) -> Amount:
        """Return the sum."""
        return Amount(self.nanos + nanos)

    def compare(self, other: Amount) -> int:
        """-1, 0 or 1."""
        return (self.nanos > other.nanos) - (self.nanos < other.nanos)


@dataclass(frozen=True)
class Semver:
    """A semantic version; two that differ in build metadata alone are equal."""

    major: int
    minor: int
    patch: int
    pre_release: tuple[PreRelease, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Semver:
        """Parse a version; raises EvaluationError if the text is invalid."""
        form = _SEMVER.fullmatch(text)
        if form is None:
            raise EvaluationError(f"{text[:80]!r} is not a semantic version")
        words = form[4].split(".") if form[4] else []
        found = [form[1], form[2], form[3], *filter(str.isdigit, words)]
        padded = any(word.isdigit() and len(word) > 1 and word[0] == "0" for word in words)
        # Python reads no number of thousands of digits.
        if padded or max(map(len, found)) > _MAX_DIGITS or max(map(int, found)) >= _MAX_PART:
            raise EvaluationError(f"{text[:80]!r} is not a semantic version: a number is padded or too large")
        parts = tuple((False, int(word), "") if word.isdigit() else (True, 0, word) for word in words)
        return cls(int(form[1]), int(form[2]), int(form[3]), parts)

    @cached_property
    def _order(self) -> tuple[int, int, int, bool, tuple[PreRelease, ...]]:
        return self.major, self.minor, self.patch, not self.pre_release, self.pre_release

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1."""
        return (self._order > other._order) - (self._order < other._order)


Value = bool | int | str | Amount | Semver | list["Value"] | dict[str, "Value"]

_KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    str: "string",
    Amount: "quantity",
    Semver: "semver",
    list: "list",
}


def kind_of(value: Value) -> str:
    """Return the name of the value's type; "map" for all maps."""
    return _KINDS.get(type(value), "map")


def equal(left: Value, right: Value) -> bool:
    """``left == right``; values of different types are different. Raises EvaluationError if a quantity or
    version on the left meets another type.
    """
    if type(left) is type(right):
        return left == right
    if isinstance(left, Amount | Semver):
        raise EvaluationError(f"no such overload: {kind_of(left)} == {kind_of(right)}")
    return False


def differ(left: Value, right: Value) -> bool:
    """Return ``left != right``; true also if ``==`` fails."""
    try:
        return not equal(left, right)
    except EvaluationError:
        return True


def one_of_constants(item: Value, constants: frozenset[tuple[type, Value]]) -> bool:
    """``item in [...]`` of a list of literals. Raises InternalError if ``item`` is a version: cel-go looks it
    up by a hash.
    """
    if isinstance(item, Semver):
        raise InternalError("a version in a constant list")
    return (type(item), item) in constants


def one_of(item: Value, items: Value) -> bool:
    """``item in items``; raises EvaluationError if ``items`` has no items."""
    if isinstance(items, dict):
        return isinstance(item, str) and item in items
    if not isinstance(items, list):
        raise EvaluationError(f"no such overload: in {kind_of(items)}")
    return any(type(item) is type(other) and item == other for other in items)


def condition(value: Value) -> bool:
    """Return ``value``; raises EvaluationError if it is not a bool."""
    if not isinstance(value, bool):
        raise EvaluationError(f"no such overload: a condition of type {kind_of(value)}")
    return value
