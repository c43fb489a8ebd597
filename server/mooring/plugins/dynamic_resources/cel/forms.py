"""Operators, functions and macros that check their arguments themselves.

Mirrors cel-go's ``parser/macro.go``, ``ext/bindings.go`` and the operators that don't evaluate all sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mooring.plugins.dynamic_resources.cel.checked import (
    ENTRIES,
    MISSING,
    OPTIONAL,
    SCALARS,
    Check,
    Checked,
    Form,
    Names,
    Scope,
    element_kind,
)
from mooring.plugins.dynamic_resources.cel.comprehensions import MACROS, decided
from mooring.plugins.dynamic_resources.cel.functions import ANY
from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from mooring.plugins.dynamic_resources.cel.syntax import (
    Entry,
    Items,
    Literal,
    Name,
    Node,
    UnsupportedExpressionError,
)
from mooring.plugins.dynamic_resources.cel.values import (
    EvaluationError,
    Value,
    condition,
    differ,
    equal,
    kind_of,
    one_of,
)


def _arguments(arguments: tuple[Node, ...], count: int, names: Names, check: Check) -> list[Checked]:
    if len(arguments) != count:
        raise UnsupportedExpressionError(f"a function of {len(arguments)} arguments, not {count}")
    return [check(argument, names) for argument in arguments]


def _comparison(compare: Callable[[Value, Value], bool]) -> Form:
    def form(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
        left, right = _arguments(arguments, 2, names, check)
        kinds = {left.kind, right.kind}
        if not kinds <= SCALARS or len(kinds - {ANY}) > 1:
            raise UnsupportedExpressionError(f"comparing {left.kind} with {right.kind}")
        return Checked("bool", lambda scope: compare(left.run(scope), right.run(scope)))

    return form


def _junction(deciding: bool) -> Form:
    """``&&`` (False decides) or ``||`` (True decides)."""

    def form(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
        sides = _arguments(arguments, 2, names, check)
        for side in sides:
            if side.kind not in ("bool", ANY):
                raise UnsupportedExpressionError(f"a condition of type {side.kind}")

        return Checked("bool", lambda scope: decided(((side, scope) for side in sides), deciding))

    return form


def _choice(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    wanted, yes, no = _arguments(arguments, 3, names, check)
    if wanted.kind not in ("bool", ANY) or yes.kind != no.kind or yes.kind not in SCALARS:
        raise UnsupportedExpressionError(f"a choice between {yes.kind} and {no.kind}")
    return Checked(yes.kind, lambda scope: (yes if condition(wanted.run(scope)) else no).run(scope))


def _membership(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    item, items = _arguments(arguments, 2, names, check)
    held = element_kind(items.kind)
    if held not in ("bool", "int", "string") or item.kind not in (held, ANY):
        raise UnsupportedExpressionError(f"{item.kind} in {items.kind}")
    literals = arguments[1].items if isinstance(arguments[1], Items) else (None,)
    constant = all(isinstance(literal, Literal) for literal in literals)
    return Checked("bool", lambda scope: one_of(item.run(scope), items.run(scope), constant=constant))


def _presence(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    entry = arguments[0] if len(arguments) == 1 else None
    if not isinstance(entry, Entry) or not entry.selected or entry.optional:
        raise UnsupportedExpressionError("has() of something other than a selection")
    container, key = check(entry.operand, names), check(entry.key, names)
    if container.kind not in ENTRIES:
        raise UnsupportedExpressionError(f"has() of an entry of type {container.kind}")
    return Checked("bool", lambda scope: key.run(scope) in container.run(scope))


def _binding(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    """``cel.bind(name, value, body)``: the value is evaluated, and may fail, only where it is used."""
    name = arguments[1] if len(arguments) == 4 and arguments[0] == Name("cel") else None
    if not isinstance(name, Name):
        raise UnsupportedExpressionError("bind() other than cel.bind(name, value, expression)")
    return check(arguments[3], {**names, name.name: check(arguments[2], names)})


def _or_value(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    optional, default = _arguments(arguments, 2, names, check)
    kind = optional.kind.removeprefix(OPTIONAL)
    if kind == optional.kind or default.kind not in (SCALARS if kind == ANY else {kind}):
        raise UnsupportedExpressionError(f"orValue() of {optional.kind} and {default.kind}")

    def run(scope: Scope) -> Value:
        value = optional.run(scope)
        result: Value = default.run(scope) if value is MISSING else value
        return result

    return Checked(kind, run)


def _has_value(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    (optional,) = _arguments(arguments, 1, names, check)
    if not optional.kind.startswith(OPTIONAL):
        raise UnsupportedExpressionError(f"hasValue() of {optional.kind}")
    return Checked("bool", lambda scope: optional.run(scope) is not MISSING)


def _matching(arguments: tuple[Node, ...], names: Names, check: Check) -> Checked:
    text = _arguments(arguments, 2, names, check)[0]
    pattern = arguments[1].value if isinstance(arguments[1], Literal) else None
    if text.kind not in ("string", ANY) or not isinstance(pattern, str):
        raise UnsupportedExpressionError("matches() other than of a string and a constant pattern")
    compiled = Pattern(pattern)

    def run(scope: Scope) -> bool:
        value = text.run(scope)
        if not isinstance(value, str):
            raise EvaluationError(f"no such overload: matches of {kind_of(value)}")
        return compiled.found_in(value)

    return Checked("bool", run)


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
    **{(name, True): macro for name, macro in MACROS.items()},
}
"""By name, and whether it is called on a value, which is its first argument then."""
