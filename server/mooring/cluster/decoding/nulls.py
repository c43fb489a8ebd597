"""JSON null as Go reads it: the field keeps its zero value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect


@lru_cache(maxsize=64)
def _shape(kind: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(kind)


def without_nulls(value: Any, kind: type[msgspec.Struct]) -> Any:
    """``value``, generically decoded, without nulls, and without the fields that ``kind`` lacks.

    A null field is left out; a null item of a list or map becomes the zero value of its type.
    """
    return _read(value, _shape(kind))


def _read(value: Any, shape: inspect.Type) -> Any:
    match shape:
        case inspect.UnionType():
            for part in shape.types:
                if not isinstance(part, inspect.NoneType):
                    return _read(value, part) if isinstance(value, dict | list) else value
        case inspect.StructType() if isinstance(value, dict):
            return {
                field.encode_name: _read(value[field.encode_name], field.type)
                for field in shape.fields
                if value.get(field.encode_name) is not None
            }
        case inspect.DictType() if isinstance(value, dict):
            return {key: _item(item, shape.value_type) for key, item in value.items()}
        case inspect.VarTupleType() if isinstance(value, list):
            return [_item(item, shape.item_type) for item in value]
    return value


def _item(value: Any, shape: inspect.Type) -> Any:
    if value is not None:
        return _read(value, shape)
    match shape:
        case inspect.StructType():
            return {}
        case inspect.StrType():
            return ""
    return 0
