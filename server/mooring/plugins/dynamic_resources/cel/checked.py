"""The result of checking a part of an expression: its type, and how its value is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mooring.plugins.dynamic_resources.cel.functions import ANY
from mooring.plugins.dynamic_resources.cel.syntax import Node, UnsupportedExpressionError

SCALARS = frozenset({"bool", "int", "string", "quantity", "semver", ANY})
"""The types of values that have no parts."""

DOMAINS = {"attribute domains": "attributes", "capacity domains": "capacities"}
"""The types of maps by domain, with those of their entries."""

ENTRIES = {"attributes": ANY, "capacities": "quantity"}
"""The types of maps by name, with those of their entries."""

OPTIONAL = "optional "
"""The prefix of the type of an optional value."""

MISSING = object()
"""The value of an absent optional."""

LIST = "list of "
"""The prefix of a list's type."""

METER = object()
"""The name of the evaluation's meter in a scope."""

Scope = Mapping[object, Any]
"""Values by name: the device, what comprehensions and bindings name, and the meter."""

Run = Callable[[Scope], Any]
"""Gives a value; raises EvaluationError."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A part of an expression.

    Attributes:
        kind: The type that it has.
        run: How to get its value.
    """

    kind: str
    run: Run


Names = Mapping[str, Checked]
"""The values of names."""

Check = Callable[[Node, Names], Checked]
"""Checks a part of an expression, which may use the names; raises UnsupportedExpressionError."""

Form = Callable[[tuple[Node, ...], Names, Check], Checked]
"""A function or macro that checks its arguments itself."""


def checked_each(
    nodes: Sequence[Node], names: Names, check: Check, *, count: int | None = None
) -> list[Checked]:
    """Return the checked arguments of a function that takes ``count`` of them; None = any number."""
    if count not in (None, len(nodes)):
        raise UnsupportedExpressionError(f"a function of {len(nodes)} arguments, not {count}")
    found: list[Checked] = []
    for node in nodes:  # A comprehension would take a frame more for each operator of a chain.
        found.append(check(node, names))  # noqa: PERF401
    return found


def element_kind(kind: str) -> str | None:
    """Return the type that iterating over a ``kind`` gives: of its items, or keys; None for other types."""
    if kind in DOMAINS or kind in ENTRIES:
        return "string"
    return kind.removeprefix(LIST) if kind.startswith(LIST) else None


def family(kind: str) -> str:
    """``kind`` without what it is made of: "list" of all lists, "map" of all maps."""
    if kind in DOMAINS or kind in ENTRIES:
        return "map"
    return "list" if kind.startswith(LIST) else kind
