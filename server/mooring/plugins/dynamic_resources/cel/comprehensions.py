"""The macros over lists, and over the keys of maps.

Mirrors cel-go's ``parser/macro.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mooring.plugins.dynamic_resources.cel.checked import (
    LIST,
    METER,
    SCALARS,
    Check,
    Checked,
    Form,
    Names,
    Scope,
    element_kind,
)
from mooring.plugins.dynamic_resources.cel.functions import ANY
from mooring.plugins.dynamic_resources.cel.syntax import Name, Node, UnsupportedExpressionError
from mooring.plugins.dynamic_resources.cel.values import (
    EvaluationError,
    InternalError,
    Value,
    condition,
)

_MAX_ITEMS = 64

Scopes = Callable[[Scope], Iterator[tuple[Any, Scope]]]
"""Each item, and the values by name with the item among them."""


def _loop(
    arguments: tuple[Node, ...], names: Names, check: Check, count: int
) -> tuple[Checked, Scopes, list[Checked]]:
    """Target, scopes, and the ``count`` parts behind the name, which may use it."""
    target = check(arguments[0], names)
    kind = element_kind(target.kind)
    name = arguments[1] if len(arguments) == count + 2 > 2 else None
    if kind is None or not isinstance(name, Name):
        raise UnsupportedExpressionError(f"a macro over {target.kind}, or without a name and {count} parts")
    slot = object()

    def scopes(scope: Scope) -> Iterator[tuple[Any, Scope]]:
        items = target.run(scope)
        if len(items) > _MAX_ITEMS:
            raise EvaluationError(f"a macro over {len(items)} items, more than {_MAX_ITEMS}")
        for item in items:
            scope[METER].spend(0)
            yield item, {**scope, slot: item}

    inner = {**names, name.name: Checked(kind, lambda scope: scope[slot])}
    return target, scopes, [check(part, inner) for part in arguments[2:]]


def decided(parts: Iterable[tuple[Checked, Scope]], deciding: bool) -> bool:
    """Return the result of conditions with their scopes: the ``deciding`` value wins over errors."""
    failure: EvaluationError | None = None
    for part, scope in parts:
        try:
            if condition(part.run(scope)) is deciding:
                return deciding
        except InternalError:
            raise
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not deciding


def _conditional(arguments: tuple[Node, ...], names: Names, check: Check) -> tuple[Checked, Scopes, Checked]:
    target, scopes, (wanted,) = _loop(arguments, names, check, 1)
    if wanted.kind not in ("bool", ANY):
        raise UnsupportedExpressionError(f"a condition of type {wanted.kind}")
    return target, scopes, wanted


def _quantified(deciding: bool) -> Form:
    """``exists`` (True decides) or ``all`` (False)."""

    def form(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
        _, scopes, wanted = _conditional(arguments, names, check)

        return Checked(
            "bool", lambda scope: decided(((wanted, inner) for _, inner in scopes(scope)), deciding)
        )

    return form


def _exists_one(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    _, scopes, wanted = _conditional(arguments, names, check)
    return Checked(
        "bool", lambda scope: sum([condition(wanted.run(inner)) for _, inner in scopes(scope)]) == 1
    )


def _filter(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    target, scopes, wanted = _conditional(arguments, names, check)

    def run(scope: Scope) -> list[Value]:
        return [item for item, inner in scopes(scope) if condition(wanted.run(inner))]

    return Checked(f"{LIST}{element_kind(target.kind)}", run)


def _map(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    """``map(name, value)``, or ``map(name, condition, value)``."""
    _, scopes, parts = _loop(arguments, names, check, len(arguments) - 2)
    conditions = [part.kind for part in parts[:-1]]
    if len(conditions) > 1 or not {"bool", ANY}.issuperset(conditions) or parts[-1].kind not in SCALARS:
        raise UnsupportedExpressionError(f"map() of {', '.join(part.kind for part in parts)}")

    def run(scope: Scope) -> list[Any]:
        inner = (each for _, each in scopes(scope))
        if len(parts) == 2:
            inner = (each for each in inner if condition(parts[0].run(each)))
        return [parts[-1].run(each) for each in inner]

    return Checked(f"{LIST}{parts[-1].kind}", run)


MACROS: Mapping[str, Form] = {
    "exists": _quantified(True),
    "all": _quantified(False),
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
}
"""By name."""
