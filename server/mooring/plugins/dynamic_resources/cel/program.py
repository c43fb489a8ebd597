"""From an expression's tree to a function of a device, with types checked first as cel-go checks them.

What is refused here includes what cel-go would refuse; the API server never stores such selectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mooring.plugins.dynamic_resources.cel.device import DeviceScope
from mooring.plugins.dynamic_resources.cel.functions import ANY, FUNCTIONS, METHODS, OPERATORS, Overload
from mooring.plugins.dynamic_resources.cel.syntax import (
    Call,
    Entry,
    Items,
    Literal,
    Name,
    Node,
    UnsupportedExpressionError,
    parse,
)
from mooring.plugins.dynamic_resources.cel.values import (
    EvaluationError,
    Value,
    differ,
    equal,
    kind_of,
    one_of,
)

_SCALARS = frozenset({"bool", "int", "string", "quantity", "semver", ANY})
_DEVICE_FIELDS: Mapping[str, tuple[str, Callable[[DeviceScope], Any]]] = {
    "driver": ("string", lambda device: device.driver),
    "allowMultipleAllocations": ("bool", lambda device: device.shared),
    "attributes": ("attribute domains", lambda device: device.attributes),
    "capacity": ("capacity domains", lambda device: device.capacity),
}
_DOMAINS = {"attribute domains": "attributes", "capacity domains": "capacities"}
_ENTRIES = {"attributes": ANY, "capacities": "quantity"}
_OPTIONAL = "optional "
_MISSING = object()

Run = Callable[[DeviceScope], Any]
Names = Mapping[str, "_Checked"]


@dataclass(frozen=True, slots=True)
class _Checked:
    """A part of an expression: the type that it has, and how to get its value."""

    kind: str
    run: Run


@dataclass(frozen=True, slots=True)
class Selector:
    """A checked expression.

    Attributes:
        text: The expression.
    """

    text: str
    _run: Run

    def matches(self, device: DeviceScope) -> bool:
        """Whether the device fulfils it.

        Raises:
            EvaluationError: It fails on this device, for example because of a missing attribute.
        """
        result = self._run(device)
        if not isinstance(result, bool):
            raise EvaluationError(f"the result is of type {kind_of(result)}, not bool")
        return result


@lru_cache(maxsize=4096)
def compile_selector(text: str) -> Selector:
    """``text`` as a selector.

    Raises:
        UnsupportedExpressionError: It is outside the supported part of CEL; names what.
    """
    tree = parse(text)
    checked = _check(tree, {"device": _Checked("device", lambda device: device)})
    if checked.kind != "bool" and not (checked.kind == ANY and isinstance(tree, Entry)):
        raise UnsupportedExpressionError(f"a result of type {checked.kind}")
    return Selector(text, checked.run)


def _check(node: Node, names: Names) -> _Checked:
    if isinstance(node, Literal):
        value = node.value
        return _Checked(kind_of(value), lambda _: value)
    if isinstance(node, Name):
        if node.name not in names:
            raise UnsupportedExpressionError(f"the name {node.name!r}")
        return names[node.name]
    if isinstance(node, Entry):
        return _entry(node, names)
    if isinstance(node, Items):
        return _items(node)
    return _call(node, names)


def _entry(node: Entry, names: Names) -> _Checked:
    operand = _check(node.operand, names)
    key = _check(node.key, names)
    if operand.kind == "device" and node.selected and not node.optional:
        return _device_field(node)
    if key.kind != "string":
        raise UnsupportedExpressionError(f"a key of type {key.kind}")
    container, key_of = operand.run, key.run
    if operand.kind in _DOMAINS and not node.optional:
        return _Checked(_DOMAINS[operand.kind], lambda device: container(device).get(key_of(device), {}))
    if operand.kind not in _ENTRIES:
        raise UnsupportedExpressionError(f"an entry of a value of type {operand.kind}")
    kind = _ENTRIES[operand.kind]
    if node.optional:
        return _Checked(_OPTIONAL + kind, lambda device: container(device).get(key_of(device), _MISSING))
    return _Checked(kind, lambda device: _found(container(device), key_of(device)))


def _device_field(node: Entry) -> _Checked:
    name = node.key.value if isinstance(node.key, Literal) else None
    if name not in _DEVICE_FIELDS:
        raise UnsupportedExpressionError(f"device.{name}")
    kind, read = _DEVICE_FIELDS[str(name)]
    return _Checked(kind, read)


def _found(container: dict[str, Value], key: str) -> Value:
    if key not in container:
        raise EvaluationError(f"no such key: {key}")
    return container[key]


def _items(node: Items) -> _Checked:
    values = [item.value for item in node.items if isinstance(item, Literal)]
    kinds = {kind_of(value) for value in values}
    if len(values) < len(node.items) or len(kinds) != 1:
        raise UnsupportedExpressionError("a list that is empty, mixed or not constant")
    return _Checked(f"list of {kinds.pop()}", lambda _: values)


def _call(node: Call, names: Names) -> _Checked:
    special = _SPECIAL.get((node.function, node.method))
    if special is not None:
        return special(node.arguments, names)
    table = METHODS if node.method else OPERATORS if "_" in node.function else FUNCTIONS
    if node.function not in table:
        raise UnsupportedExpressionError(f"the function {node.function!r}")
    arguments = [_check(argument, names) for argument in node.arguments]
    kinds = [argument.kind for argument in arguments]
    fitting = [overload for overload in table[node.function] if _fits(overload, kinds)]
    if not fitting:
        raise UnsupportedExpressionError(f"{node.function!r} of types {', '.join(kinds)}")
    results = {overload.result for overload in fitting}
    runs = [argument.run for argument in arguments]
    kind = results.pop() if len(results) == 1 else ANY
    return _Checked(kind, lambda device: _apply(node.function, fitting, [run(device) for run in runs]))


def _fits(overload: Overload, kinds: list[str]) -> bool:
    return len(kinds) == len(overload.parameters) and all(
        kind == ANY or kind.partition(" ")[0] == wanted
        for kind, wanted in zip(kinds, overload.parameters, strict=True)
    )


def _apply(name: str, overloads: list[Overload], values: list[Value]) -> Value:
    kinds = tuple(map(kind_of, values))
    for overload in overloads:
        if overload.parameters == kinds:
            result: Value = overload.apply(*values)
            return result
    raise EvaluationError(f"no such overload: {name} of {', '.join(kinds)}")


def _arguments(arguments: tuple[Node, ...], count: int, names: Names) -> list[_Checked]:
    if len(arguments) != count:
        raise UnsupportedExpressionError(f"a function of {len(arguments)} arguments, not {count}")
    return [_check(argument, names) for argument in arguments]


def _comparison(compare: Callable[[Value, Value], bool]) -> Callable[[tuple[Node, ...], Names], _Checked]:
    def check(arguments: tuple[Node, ...], names: Names) -> _Checked:
        left, right = _arguments(arguments, 2, names)
        kinds = {left.kind, right.kind}
        if not kinds <= _SCALARS or len(kinds - {ANY}) > 1:
            raise UnsupportedExpressionError(f"comparing {left.kind} with {right.kind}")
        return _Checked("bool", lambda device: compare(left.run(device), right.run(device)))

    return check


def _junction(deciding: bool) -> Callable[[tuple[Node, ...], Names], _Checked]:
    """``&&`` (False decides) or ``||`` (True decides): the deciding value wins over an error beside it."""

    def check(arguments: tuple[Node, ...], names: Names) -> _Checked:
        sides = _arguments(arguments, 2, names)
        for side in sides:
            if side.kind not in ("bool", ANY):
                raise UnsupportedExpressionError(f"a condition of type {side.kind}")

        def run(device: DeviceScope) -> bool:
            failure: EvaluationError | None = None
            for side in sides:
                try:
                    if _condition(side.run(device)) is deciding:
                        return deciding
                except EvaluationError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not deciding

        return _Checked("bool", run)

    return check


def _condition(value: Value) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"no such overload: a condition of type {kind_of(value)}")
    return value


def _choice(arguments: tuple[Node, ...], names: Names) -> _Checked:
    condition, yes, no = _arguments(arguments, 3, names)
    if condition.kind not in ("bool", ANY) or yes.kind != no.kind or yes.kind not in _SCALARS:
        raise UnsupportedExpressionError(f"a choice between {yes.kind} and {no.kind}")
    return _Checked(yes.kind, lambda device: (yes if _condition(condition.run(device)) else no).run(device))


def _membership(arguments: tuple[Node, ...], names: Names) -> _Checked:
    item, items = _arguments(arguments, 2, names)
    held = "string" if items.kind in (*_DOMAINS, *_ENTRIES) else items.kind.removeprefix("list of ")
    if held == items.kind or item.kind not in (held, ANY):
        raise UnsupportedExpressionError(f"{item.kind} in {items.kind}")
    return _Checked("bool", lambda device: one_of(item.run(device), items.run(device)))


def _presence(arguments: tuple[Node, ...], names: Names) -> _Checked:
    entry = arguments[0] if len(arguments) == 1 else None
    if not isinstance(entry, Entry) or not entry.selected or entry.optional:
        raise UnsupportedExpressionError("has() of something other than a selection")
    container, key = _check(entry.operand, names), _check(entry.key, names)
    if container.kind not in _ENTRIES:
        raise UnsupportedExpressionError(f"has() of an entry of type {container.kind}")
    return _Checked("bool", lambda device: key.run(device) in container.run(device))


def _binding(arguments: tuple[Node, ...], names: Names) -> _Checked:
    """``cel.bind(name, value, body)``: the value is evaluated, and may fail, only where it is used."""
    name = arguments[1] if len(arguments) == 4 and arguments[0] == Name("cel") else None
    if not isinstance(name, Name):
        raise UnsupportedExpressionError("bind() other than cel.bind(name, value, expression)")
    return _check(arguments[3], {**names, name.name: _check(arguments[2], names)})


def _or_value(arguments: tuple[Node, ...], names: Names) -> _Checked:
    optional, default = _arguments(arguments, 2, names)
    kind = optional.kind.removeprefix(_OPTIONAL)
    if kind == optional.kind or default.kind not in (_SCALARS if kind == ANY else {kind}):
        raise UnsupportedExpressionError(f"orValue() of {optional.kind} and {default.kind}")

    def run(device: DeviceScope) -> Value:
        value = optional.run(device)
        result: Value = default.run(device) if value is _MISSING else value
        return result

    return _Checked(kind, run)


def _has_value(arguments: tuple[Node, ...], names: Names) -> _Checked:
    (optional,) = _arguments(arguments, 1, names)
    if not optional.kind.startswith(_OPTIONAL):
        raise UnsupportedExpressionError(f"hasValue() of {optional.kind}")
    return _Checked("bool", lambda device: optional.run(device) is not _MISSING)


_SPECIAL: Mapping[tuple[str, bool], Callable[[tuple[Node, ...], Names], _Checked]] = {
    ("_==_", False): _comparison(equal),
    ("_!=_", False): _comparison(differ),
    ("_&&_", False): _junction(False),
    ("_||_", False): _junction(True),
    ("_?:_", False): _choice,
    ("@in", False): _membership,
    ("has", False): _presence,
    ("bind", True): _binding,
    ("orValue", True): _or_value,
    ("hasValue", True): _has_value,
}
