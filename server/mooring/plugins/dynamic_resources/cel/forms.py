"""Operators, functions and macros that check their arguments themselves.

Mirrors cel-go's ``parser/macro.go``, ``ext/bindings.go`` and the operators that don't evaluate all sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mooring.plugins.dynamic_resources.cel.checked import (
    ENTRIES,
    LIST,
    METER,
    MISSING,
    OPTIONAL,
    SCALARS,
    Check,
    Checked,
    Form,
    Names,
    Run,
    Scope,
    checked_each,
    element_kind,
)
from mooring.plugins.dynamic_resources.cel.costs import comparing, matching, size
from mooring.plugins.dynamic_resources.cel.functions import ANY
from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from mooring.plugins.dynamic_resources.cel.syntax import (
    Entry,
    Literal,
    Name,
    Node,
    UnsupportedExpressionError,
    literals,
)
from mooring.plugins.dynamic_resources.cel.values import (
    EvaluationError,
    InternalError,
    Value,
    condition,
    differ,
    equal,
    kind_of,
    one_of,
    one_of_constants,
)

_MAX_ITEMS = 64

Scopes = Callable[[Scope], Iterator[tuple[Any, Scope]]]
"""Each item, and the values by name with the item among them."""


def _comparison(compare: Callable[[Value, Value], bool]) -> Form:
    def form(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
        left, right = checked_each(arguments, names, check, count=2)
        kinds = {left.kind, right.kind}
        if not kinds <= SCALARS or len(kinds - {ANY}) > 1:
            raise UnsupportedExpressionError(f"comparing {left.kind} with {right.kind}")

        def run(scope: Scope) -> bool:
            one, other = left.run(scope), right.run(scope)
            scope[METER].spend(comparing(one, other))
            return compare(one, other)

        return Checked("bool", run)

    return form


def _decided(parts: Iterable[tuple[Checked, Scope]], deciding: bool) -> bool:
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


def _junction(deciding: bool) -> Form:
    """``&&`` (False decides) or ``||`` (True decides)."""

    def form(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
        sides = checked_each(arguments, names, check)
        for side in sides:
            if side.kind not in ("bool", ANY):
                raise UnsupportedExpressionError(f"a condition of type {side.kind}")

        return Checked("bool", lambda scope: _decided(((side, scope) for side in sides), deciding))

    return form


def _choice(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    wanted, yes, no = checked_each(arguments, names, check, count=3)
    if wanted.kind not in ("bool", ANY) or yes.kind != no.kind or yes.kind not in SCALARS:
        raise UnsupportedExpressionError(f"a choice between {yes.kind} and {no.kind}")
    return Checked(yes.kind, lambda scope: (yes if condition(wanted.run(scope)) else no).run(scope))


def _membership(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    item, items = checked_each(arguments, names, check, count=2)
    held = element_kind(items.kind)
    if held not in ("bool", "int", "string") or item.kind not in (held, ANY):
        raise UnsupportedExpressionError(f"{item.kind} in {items.kind}")
    values = literals(arguments[1])
    constant = None if values is None else frozenset((type(value), value) for value in values)

    def run(scope: Scope) -> bool:
        wanted = item.run(scope)
        if constant is not None:
            return one_of_constants(wanted, constant)
        among = items.run(scope)
        scope[METER].spend(size(among) if isinstance(among, list) else 1)
        return one_of(wanted, among)

    return Checked("bool", run)


def _presence(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    entry = arguments[0] if len(arguments) == 1 else None
    if not isinstance(entry, Entry) or not entry.selected or entry.optional:
        raise UnsupportedExpressionError("has() of something other than a selection")
    container, key = check(entry.operand, names), check(entry.key, names)
    if container.kind not in ENTRIES:
        raise UnsupportedExpressionError(f"has() of an entry of type {container.kind}")
    return Checked("bool", lambda scope: key.run(scope) in container.run(scope))


class _Bound:
    """A value that is evaluated when it is first used, and then kept; so is the error, if it fails."""

    def __init__(self, run: Run, scope: Scope) -> None:
        self._run, self._scope = run, scope
        self._error: EvaluationError | None = None
        self._value: Any = self

    def value(self) -> Any:
        if self._error is not None:
            raise self._error.with_traceback(None)
        if self._value is self:
            try:
                self._value = self._run(self._scope)
            except EvaluationError as error:
                self._error = error
                raise
        return self._value


def _binding(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    """``cel.bind(name, value, body)``: the value is evaluated, and may fail, where it is first used."""
    name = arguments[1] if len(arguments) == 4 and arguments[0] == Name("cel") else None
    if not isinstance(name, Name):
        raise UnsupportedExpressionError("bind() other than cel.bind(name, value, expression)")
    value, slot = check(arguments[2], names), object()
    body = check(arguments[3], {**names, name.name: Checked(value.kind, lambda scope: scope[slot].value())})
    return Checked(body.kind, lambda scope: body.run({**scope, slot: _Bound(value.run, scope)}))


def _or_value(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    optional, default = checked_each(arguments, names, check, count=2)
    kind = optional.kind.removeprefix(OPTIONAL)
    if kind == optional.kind or default.kind not in (SCALARS if kind == ANY else {kind}):
        raise UnsupportedExpressionError(f"orValue() of {optional.kind} and {default.kind}")

    def run(scope: Scope) -> Value:
        value = optional.run(scope)
        result: Value = default.run(scope) if value is MISSING else value
        return result

    return Checked(kind, run)


def _has_value(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    (optional,) = checked_each(arguments, names, check, count=1)
    if not optional.kind.startswith(OPTIONAL):
        raise UnsupportedExpressionError(f"hasValue() of {optional.kind}")
    return Checked("bool", lambda scope: optional.run(scope) is not MISSING)


def _matching(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    text = checked_each(arguments, names, check, count=2)[0]
    pattern = arguments[1].value if isinstance(arguments[1], Literal) else None
    if text.kind not in ("string", ANY) or not isinstance(pattern, str):
        raise UnsupportedExpressionError("matches() other than of a string and a constant pattern")
    compiled = Pattern(pattern)
    constant = arguments[0].value if isinstance(arguments[0], Literal) else None
    known = compiled.found_in(constant) if isinstance(constant, str) else None

    def run(scope: Scope) -> bool:
        value = text.run(scope)
        if not isinstance(value, str):
            raise EvaluationError(f"no such overload: matches of {kind_of(value)}")
        scope[METER].spend(matching(value, pattern))
        return compiled.found_in(value, scope[METER].check_time) if known is None else known

    return Checked("bool", run)


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
            "bool", lambda scope: _decided(((wanted, inner) for _, inner in scopes(scope)), deciding)
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


FORMS: Mapping[tuple[str, bool], Form] = {
    ("_==_", False): _comparison(equal),
    ("_!=_", False): _comparison(differ),
    ("_&&_", False): _junction(False),
    ("_||_", False): _junction(True),
    ("_?:_", False): _choice,
    ("@in", False): _membership,
    ("has", False): _presence,
    ("matches", False): _matching,
    ("matches", True): _matching,
    ("bind", True): _binding,
    ("orValue", True): _or_value,
    ("hasValue", True): _has_value,
    ("exists", True): _quantified(True),
    ("all", True): _quantified(False),
    ("exists_one", True): _exists_one,
    ("filter", True): _filter,
    ("map", True): _map,
}
"""By name, and whether it is called on a value, which is its first argument then."""
