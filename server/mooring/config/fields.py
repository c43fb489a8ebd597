"""Typed records and the documents they are written in: camelCase names, strict decoding, encoding.

A record is a stdlib dataclass or one of the framework's object structs. Both are read by the same strict
rules: unknown fields and other types are errors, null equals absent, and every fault is reported.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Hashable, Mapping
from datetime import timedelta
from enum import Enum
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic import create_model as create_pydantic_model

from mooring.config.durations import format_duration, parse_duration
from mooring.framework import SECRET, FieldError
from mooring.framework.args import HIDDEN

RecordT = TypeVar("RecordT")

ALIAS = "alias"
"""Key in a dataclass field's metadata: its name in the file, if that is not plain camelCase."""

GATES = "gates"
"""Key in a dataclass field's metadata: the feature gates without which the field may not be set."""

MOST_FAULTS = 100
"""Faults of one record that are described: each takes some milliseconds, and no one reads more."""

_PREFIX = "field_"  # keeps record fields clear of the names that pydantic's models own
_PLAIN = frozenset({bool, float, int, str})
_STRICT = ConfigDict(extra="forbid", strict=True)
_MESSAGES = {"extra_forbidden": "unknown field", "missing": "is required"}


def is_record(value: object) -> bool:
    """Return whether a value or a class is a dataclass or an object struct."""
    if dataclasses.is_dataclass(value):
        return True
    return issubclass(value if isinstance(value, type) else type(value), msgspec.Struct)


def names(record: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return each field's attribute name and its name in the file."""
    return _names(cast("Hashable", record))


@cache
def _names(record: type[Any]) -> tuple[tuple[str, str], ...]:
    if issubclass(record, msgspec.Struct):
        return tuple(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    return tuple(
        (field.name, field.metadata.get(ALIAS, camel(field.name))) for field in dataclasses.fields(record)
    )


def camel(name: str) -> str:
    """``hard_pod_affinity_weight`` as the file spells it."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def decode(record: type[RecordT], value: object, path: str) -> tuple[RecordT | None, list[FieldError]]:
    """Read a record out of a plain document.

    Args:
        record: The record's class.
        value: The document, as ``read_configuration`` gives it.
        path: The document's path in the whole file; put before every error's path.

    Returns:
        The record, and the faults of the document. If leaving out the faulty fields makes a record,
        it is that one, so that its other fields can be checked too; else None.
    """
    document = without_nulls(value)
    try:
        return _read(record, document), []
    except TypeError as error:
        return None, [FieldError(path, f"holds what no file could hold: {error}")]
    except ValidationError as error:
        details = error.errors(include_url=False)
        errors = [_field_error(record, detail, path) for detail in details[:MOST_FAULTS]]
        if len(details) > MOST_FAULTS:
            errors.append(FieldError(path, f"{len(details) - MOST_FAULTS} more faults are not shown"))
    try:
        return _read(record, _without(document, {error.path for error in errors}, path)), errors
    except ValidationError:
        return None, errors


def _read(record: type[RecordT], document: object) -> RecordT:
    read: RecordT = _adapter(cast("Hashable", record)).validate_json(json.dumps(document))
    return read


def _without(value: Any, faulty: set[str], path: str) -> Any:
    """Return the document without the fields at the faulty paths; list items stay, or paths would shift."""
    if isinstance(value, dict):
        fields = ((key, item, join(path, key)) for key, item in value.items())
        return {key: _without(item, faulty, where) for key, item, where in fields if where not in faulty}
    if isinstance(value, list):
        return [_without(item, faulty, join(path, index)) for index, item in enumerate(value)]
    return value


def encode(value: object, *, hide: bool = False) -> Any:
    """Write a record as a plain document; None and empty lists are left out, as Go's omitempty does.

    ``hide`` replaces the values of fields marked SECRET with HIDDEN.
    """
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, Enum):
        return value.value
    if is_record(value):
        secret = _secret(type(value)) if hide else frozenset()
        items = ((alias, getattr(value, name)) for name, alias in names(type(value)))
        return {
            key: HIDDEN if key in secret else encode(item, hide=hide)
            for key, item in items
            if not _omitted(item)
        }
    if isinstance(value, Mapping):
        return {str(key): encode(item, hide=hide) for key, item in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [encode(item, hide=hide) for item in value]
    return value if isinstance(value, str | int | float) else str(value)


def _secret(record: type[Any]) -> frozenset[str]:
    """Return the names in the file of a record's fields that are marked SECRET."""
    if issubclass(record, msgspec.Struct):
        return frozenset()
    marked = {field.name for field in dataclasses.fields(record) if SECRET.items() <= field.metadata.items()}
    return frozenset(alias for name, alias in names(record) if name in marked)


def without_nulls(value: Any) -> Any:
    """Return the document without the keys whose value is null: to Kubernetes they are absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def join(path: str, *parts: str | int) -> str:
    """Return a field path: ``join("profiles", 0, "plugins")`` is ``profiles[0].plugins``."""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _omitted(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, list | tuple | dict) and not value)


@cache
def _field_names(record: Hashable) -> list[str]:
    """Return the names in the file of a record's fields, and of the fields of all records below it."""
    schema = json_schema(cast("type[Any]", record))
    shapes = [schema, *schema.get("$defs", {}).values()]
    return sorted({name for shape in shapes for name in shape.get("properties", {})})


def _field_error(record: type[Any], detail: Mapping[str, Any], path: str) -> FieldError:
    parts = [part for part in detail["loc"] if part != "[key]"]
    message = _MESSAGES.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    message = message.replace("Input should be", "must be")
    if detail["type"] not in {*_MESSAGES, "value_error"} and not isinstance(detail["input"], dict | list):
        message += f", not {json.dumps(detail['input'], default=str)}"
    if detail["type"] == "extra_forbidden":
        meant = difflib.get_close_matches(str(parts[-1]), _field_names(cast("Hashable", record)), 1)
        message += f"; did you mean {meant[0]}?" if meant else ""
    elif detail["type"] in {"enum", "literal_error"}:
        words = re.findall(r"'([^']+)'", detail["ctx"]["expected"])
        meant = difflib.get_close_matches(str(detail["input"]), words, 1)
        message += f"; did you mean {meant[0]}?" if meant else ""
    return FieldError(join(path, *parts), message)


def json_schema(record: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of the documents that a record is read from."""
    return _adapter(cast("Hashable", record)).json_schema()


@cache
def _adapter(record: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(_strict(record))


@cache
def _model(record: type[Any]) -> Any:
    """Return a pydantic model that reads a record's fields and then makes the record itself."""
    hints = get_type_hints(record, include_extras=True)
    required, secret = _required(record), _secret(record)
    fields: dict[str, Any] = {
        _PREFIX + name: (
            Annotated[_strict(hints[name]), WrapValidator(_unshown)]
            if alias in secret
            else _strict(hints[name]),
            Field(default=... if name in required else None, alias=alias),
        )
        for name, alias in names(record)
    }
    model = create_pydantic_model(record.__name__, __config__=_STRICT, **fields)

    def build(read: BaseModel) -> Any:
        return record(**{name.removeprefix(_PREFIX): getattr(read, name) for name in read.model_fields_set})

    return Annotated[model, AfterValidator(build)]


def _required(record: type[Any]) -> set[str]:
    if issubclass(record, msgspec.Struct):
        return {field.name for field in msgspec.structs.fields(record) if field.required}
    missing = dataclasses.MISSING
    return {
        f.name for f in dataclasses.fields(record) if f.default is missing and f.default_factory is missing
    }


def _strict(annotation: Any) -> Any:
    """Return the annotation with every record and duration in it replaced by its strict reader."""
    if isinstance(annotation, type) and get_origin(annotation) is None and is_record(annotation):
        return _model(annotation)
    if annotation is timedelta:
        return Annotated[timedelta, BeforeValidator(_duration)]
    arguments = get_args(annotation)
    if not arguments:
        return annotation
    if get_origin(annotation) is Annotated:
        return Annotated[(_strict(arguments[0]), *arguments[1:])]
    if get_origin(annotation) in {Union, UnionType}:
        return reduce(or_, map(_strict, arguments))
    if get_origin(annotation) is Literal:
        return annotation
    return get_origin(annotation)[tuple(item if item is ... else _strict(item) for item in arguments)]


def _unshown(value: object, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a secret; an error doesn't quote it, as others do."""
    try:
        return read(value)
    except ValidationError:
        raise ValueError(
            "can't be read as what the field wants; its value is a secret, and not shown"
        ) from None


def _duration(value: object) -> timedelta:
    if not isinstance(value, str):
        raise ValueError("should be a duration such as 15s")  # noqa: TRY004  # pydantic reports ValueErrors
    return parse_duration(value)
