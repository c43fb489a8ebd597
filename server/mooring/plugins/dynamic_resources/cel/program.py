"""From an expression's tree to a function of a device, with types checked first as cel-go checks them.

It rejects all selectors that cel-go rejects; the API server never stores those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mooring.plugins.dynamic_resources.cel.checked import (
    DOMAINS,
    ENTRIES,
    LIST,
    METER,
    MISSING,
    OPTIONAL,
    Checked,
    Names,
    Run,
    Scope,
    checked_each,
    family,
)
from mooring.plugins.dynamic_resources.cel.costs import Meter, cost_of
from mooring.plugins.dynamic_resources.cel.device import DeviceScope
from mooring.plugins.dynamic_resources.cel.forms import FORMS
from mooring.plugins.dynamic_resources.cel.functions import ANY, FUNCTIONS, METHODS, OPERATORS, Overload
from mooring.plugins.dynamic_resources.cel.syntax import (
    Call,
    Entry,
    Items,
    Literal,
    Name,
    Node,
    UnsupportedExpressionError,
    literals,
    parse,
)
from mooring.plugins.dynamic_resources.cel.values import EvaluationError, Value, kind_of

_DEVICE_FIELDS: Mapping[str, tuple[str, Callable[[DeviceScope], Any]]] = {
    "driver": ("string", lambda device: device.driver),
    "allowMultipleAllocations": ("bool", lambda device: device.shared),
    "attributes": ("attribute domains", lambda device: device.attributes),
    "capacity": ("capacity domains", lambda device: device.capacity),
}
_DEVICE = "device"
_LIST_COST = 10
"""The cost of making a list."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A checked expression."""

    text: str
    _run: Run

    def matches(self, device: DeviceScope, check_time: Callable[[], None] = lambda: None) -> bool:
        """Return whether the device fulfils it. ``check_time`` is called now and then; what it raises ends
        the evaluation. Raises EvaluationError if it fails on this device, for example because of a missing
        attribute, or costs more than kube-scheduler allows.
        """
        result = self._run({_DEVICE: device, METER: Meter(check_time)})
        if not isinstance(result, bool):
            raise EvaluationError(f"the result is of type {kind_of(result)}, not bool")
        return result


@lru_cache(maxsize=512)
def compile_selector(text: str) -> Selector:
    """``text`` as a selector; raises UnsupportedExpressionError, which names what is not supported."""
    tree = parse(text)
    checked = _check(tree, {_DEVICE: Checked(_DEVICE, lambda scope: scope[_DEVICE])})
    if checked.kind != "bool" and not (checked.kind == ANY and isinstance(tree, Entry)):
        raise UnsupportedExpressionError(f"a result of type {checked.kind}")
    return Selector(text, checked.run)


def _check(node: Node, names: Names) -> Checked:
    if isinstance(node, Literal):
        value = node.value
        return Checked(kind_of(value), lambda _: value)
    if isinstance(node, Name):
        if node.name not in names:
            raise UnsupportedExpressionError(f"the name {node.name!r}")
        return names[node.name]
    if isinstance(node, Entry):
        return _entry(node, names)
    if isinstance(node, Items):
        return _items(node, names)
    form = FORMS.get((node.function, node.method))
    return _call(node, names) if form is None else form(node.arguments, names, _check)


def _entry(node: Entry, names: Names) -> Checked:
    operand = _check(node.operand, names)
    key = _check(node.key, names)
    if operand.kind == _DEVICE and node.selected and not node.optional:
        return _device_field(node, operand.run)
    container, key_of = operand.run, key.run
    if operand.kind.startswith(LIST) and key.kind == "int" and not node.selected and not node.optional:
        kind = operand.kind.removeprefix(LIST)
        return Checked(kind, lambda scope: _item(container(scope), key_of(scope)))
    if key.kind != "string":
        raise UnsupportedExpressionError(f"a key of type {key.kind}")
    if operand.kind in DOMAINS and not node.optional:
        return Checked(DOMAINS[operand.kind], lambda scope: container(scope).get(key_of(scope), {}))
    if operand.kind not in ENTRIES:
        raise UnsupportedExpressionError(f"an entry of a value of type {operand.kind}")
    kind = ENTRIES[operand.kind]
    if node.optional:
        return Checked(OPTIONAL + kind, lambda scope: container(scope).get(key_of(scope), MISSING))
    return Checked(kind, lambda scope: _found(container(scope), key_of(scope)))


def _device_field(node: Entry, device: Run) -> Checked:
    name = node.key.value if isinstance(node.key, Literal) else None
    if name not in _DEVICE_FIELDS:
        raise UnsupportedExpressionError(f"device.{name}")
    kind, read = _DEVICE_FIELDS[str(name)]
    return Checked(kind, lambda scope: read(device(scope)))


def _found(container: dict[str, Value], key: str) -> Value:
    if key not in container:
        raise EvaluationError(f"no such key: {key}")
    return container[key]


def _item(items: list[Value], index: int) -> Value:
    if not 0 <= index < len(items):
        raise EvaluationError(f"index out of bounds: {index}")
    return items[index]


def _items(node: Items, names: Names) -> Checked:
    items = [_check(item, names) for item in node.items]
    kinds = {item.kind for item in items}
    if len(kinds) != 1 or not kinds <= {"bool", "int", "string"}:
        raise UnsupportedExpressionError(
            "a list that is empty or mixed, or of other than bool, int and string"
        )
    kind = f"{LIST}{kinds.pop()}"
    constant = literals(node)
    if constant is not None:
        return Checked(kind, lambda _: constant)

    def run(scope: Scope) -> list[Value]:
        scope[METER].spend(_LIST_COST)
        return [item.run(scope) for item in items]

    return Checked(kind, run)


def _call(node: Call, names: Names) -> Checked:
    table = METHODS if node.method else OPERATORS if "_" in node.function else FUNCTIONS
    if node.function not in table:
        raise UnsupportedExpressionError(f"the function {node.function!r}")
    arguments = checked_each(node.arguments, names, _check)
    kinds = [argument.kind for argument in arguments]
    fitting = [overload for overload in table[node.function] if _fits(overload, kinds)]
    if not fitting:
        raise UnsupportedExpressionError(f"{node.function!r} of types {', '.join(kinds)}")
    results = {overload.result for overload in fitting}
    runs = [argument.run for argument in arguments]
    kind = results.pop() if len(results) == 1 else ANY
    cost = cost_of(node.function)

    def run(scope: Scope) -> Value:
        values: list[Value] = []
        for each in runs:  # A comprehension would take a frame more for each operator of a chain.
            values.append(each(scope))  # noqa: PERF401
        overload = _overload(node.function, fitting, values)
        scope[METER].spend(cost(*values))
        result: Value = overload.apply(*values)
        return result

    return Checked(kind, run)


def _fits(overload: Overload, kinds: list[str]) -> bool:
    return len(kinds) == len(overload.parameters) and all(
        kind == ANY or family(kind) == wanted for kind, wanted in zip(kinds, overload.parameters, strict=True)
    )


def _overload(name: str, overloads: list[Overload], values: list[Value]) -> Overload:
    kinds = tuple(map(kind_of, values))
    for overload in overloads:
        if overload.parameters == kinds:
            return overload
    raise EvaluationError(f"no such overload: {name} of {', '.join(kinds)}")
