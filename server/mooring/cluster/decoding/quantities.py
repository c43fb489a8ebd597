"""Checks of the quantities that objects keep as text, so that no later reader finds malformed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from mooring.framework.quantity import QuantityError, parse_quantity
from mooring.framework.resources import ResourceError

_Finder = Callable[[Any, str], Iterator[tuple[str, Any]]]
"""Gives the quantities of a value with their paths; the second argument is the value's own path."""

_QUANTITY = frozenset({inspect.StrType, inspect.IntType, inspect.FloatType})


def check_quantities(item: msgspec.Struct) -> None:
    """Read every quantity of ``item`` once.

    Raises:
        ResourceError: One is malformed; has its path.
    """
    find = _finder_of(type(item))
    if find is None:
        return
    for path, text in find(item, ""):
        try:
            parse_quantity(text)
        except QuantityError as error:
            raise ResourceError(path, str(error)) from None


@cache
def _finder_of(kind: type[msgspec.Struct]) -> _Finder | None:
    """Find the quantities of a struct; None when such structs have none."""
    finders = [
        (field.name, field.encode_name, find)
        for field in msgspec.structs.fields(kind)
        if (find := _finder(inspect.type_info(field.type))) is not None
    ]
    if not finders:
        return None

    def find_all(item: Any, path: str) -> Iterator[tuple[str, Any]]:
        for name, encoded, find in finders:
            value = getattr(item, name)
            if value is not None:
                yield from find(value, f"{path}.{encoded}" if path else encoded)

    return find_all


def _finder(shape: inspect.Type) -> _Finder | None:
    match shape:
        case inspect.UnionType():
            parts = [part for part in shape.types if not isinstance(part, inspect.NoneType)]
            if {type(part) for part in parts} >= _QUANTITY:
                return lambda value, path: iter(((path, value),))
            return _finder(parts[0])
        case inspect.StructType():
            return _finder_of(shape.cls)
        case inspect.DictType():
            of_value = _finder(shape.value_type)
            return of_value and (
                lambda value, path: (
                    found for key, entry in value.items() for found in of_value(entry, f"{path}[{key}]")
                )
            )
        case inspect.VarTupleType():
            of_item = _finder(shape.item_type)
            return of_item and (
                lambda value, path: (
                    found for at, entry in enumerate(value) for found in of_item(entry, f"{path}[{at}]")
                )
            )
    return None
