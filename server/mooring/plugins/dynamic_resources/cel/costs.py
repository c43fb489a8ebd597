"""The cost limits of an evaluation, in the units of cel-go.

Mirrors cel-go's ``interpreter/runtimecost.go`` and ``CallCost`` of ``k8s.io/apiserver/pkg/cel/library``
(cost.go). A step that is cheap there, such as a name, a selection or an item of a loop, is free here, so that
nothing is rejected that kube-scheduler evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.plugins.dynamic_resources.cel.values import InternalError

MAX_COST = 1_000_000
"""The most that one evaluation may cost: ``CELSelectorExpressionMaxCost`` of resource.k8s.io/v1."""

_LOOK_EVERY = 100
"""The number of steps after which the clock is read, the same as cel-go's."""


class Meter:
    """Counts what one evaluation costs; for a single thread."""

    __slots__ = ("_steps", "check_time", "spent")

    def __init__(self, check_time: Callable[[], None]) -> None:
        """``check_time`` is called now and then; it raises when there is no time left."""
        self.check_time = check_time
        self.spent = 0
        self._steps = 0

    def spend(self, cost: int) -> None:
        """Add ``cost``, which may be 0; raises InternalError, which ends the evaluation, above the limit."""
        self.spent += cost
        if self.spent > MAX_COST:
            raise InternalError("operation cancelled: actual cost limit exceeded")
        self._steps += 1
        if self._steps % _LOOK_EVERY == 0:
            self.check_time()


def size(value: object) -> int:
    """Return the length of a text, list or map; 1 for other values."""
    return len(value) if isinstance(value, str | list | dict) else 1


def traversal(length: int) -> int:
    """Return the cost of going through a text once."""
    return -(-length // 10)


def matching(text: str, pattern: str) -> int:
    """Return the cost of ``matches()``."""
    return traversal(len(text) + 1) * -(-len(pattern) // 4)


def comparing(left: object, right: object) -> int:
    """Return the cost of comparing two scalars; nearly every evaluation does, so it calls nothing."""
    if isinstance(left, str) and isinstance(right, str):
        return (min(len(left), len(right)) + 9) // 10
    return 1


def _unit(*_: object) -> int:
    return 1


def _once(value: object, *_: object) -> int:
    return traversal(size(value))


def _twice(value: object, *_: object) -> int:
    return traversal(2 * size(value))


def _sum(left: object, right: object) -> int:
    return traversal(len(left) + len(right)) if isinstance(left, str) and isinstance(right, str) else 1


def _searched(text: str, part: str) -> int:
    return traversal(len(text)) * traversal(len(part))


def _joined(parts: list[Any], separator: str = "") -> int:
    return traversal(2 * (sum(map(size, parts)) + len(separator) * max(len(parts) - 1, 0)))


_COSTS: Mapping[str, Callable[..., int]] = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), comparing),
    **dict.fromkeys(("startsWith", "endsWith", "lowerAscii", "upperAscii", "trim", "substring"), _once),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _once),
    **dict.fromkeys(("indexOf", "lastIndexOf"), lambda text, _: len(text) // 10),
    **dict.fromkeys(("replace", "split"), _twice),
    "_+_": _sum,
    "contains": _searched,
    "join": _joined,
    **dict.fromkeys(("int", "string"), lambda _: 0),
}
"""By the function's name. Conversions are free, since cel-go carries them out beforehand where it can."""


def cost_of(function: str) -> Callable[..., int]:
    """Return the function that computes the cost of a call of ``function`` from its arguments."""
    return _COSTS.get(function, _unit)
