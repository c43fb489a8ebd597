"""Any object that the types allow, and the same as Kubernetes' protobuf message."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from google.protobuf.message import Message
from hypothesis import strategies as st
from msgspec import inspect

from mooring.framework.objects import Node, Object, Pod
from mooring.kubernetes.v1 import node_pb2, pod_pb2

TIMES = {"creation_timestamp", "deletion_timestamp", "start_time"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
QUANTITIES = st.sampled_from(("0", "1", "250m", "1.5Gi", "3e2", "-1", "x"))
DEFAULT_TEXTS = ("default-scheduler", "rbd")
MESSAGES: dict[type[Object], type[Message]] = {Pod: pod_pb2.Pod, Node: node_pb2.Node}


def objects(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Objects of ``kind`` with any fields set, usable or not."""
    shape = inspect.type_info(kind)
    assert isinstance(shape, inspect.StructType)
    # Go leaves an empty text out, so one with a default of its own is never empty on the wire.
    fields = {
        field.name: TEXTS.filter(bool) if field.default in DEFAULT_TEXTS else _values(field.name, field.type)
        for field in shape.fields
    }
    return st.fixed_dictionaries({}, optional=fields).map(lambda values: kind(**values))


def _values(name: str, shape: inspect.Type) -> st.SearchStrategy[Any]:
    if name in TIMES:
        return st.sampled_from((None, "2026-03-01T12:00:00Z", "1999-12-31T23:59:59Z"))
    match shape:
        case inspect.UnionType():
            parts = [part for part in shape.types if not isinstance(part, inspect.NoneType)]
            return QUANTITIES if len(parts) > 1 else st.none() | _values(name, parts[0])
        case inspect.StructType():
            return objects(shape.cls)
        case inspect.DictType():
            return st.dictionaries(TEXTS, _values(name, shape.value_type), max_size=2)
        case inspect.VarTupleType():
            return st.lists(_values(name, shape.item_type), max_size=2).map(tuple)
        case inspect.IntType():
            return st.integers(0, 2**31 - 1)
        case inspect.BoolType():
            return st.booleans()
    return TEXTS


def message_of(item: Object) -> Message:
    """The message that Go would marshal for ``item``."""
    return _filled(MESSAGES[type(item)](), item)


def _filled(message: Message, item: msgspec.Struct) -> Message:
    known = message.DESCRIPTOR.fields_by_name
    for name in item.__struct_fields__:
        value = getattr(item, name)
        if value is None:
            continue
        if name in TIMES:
            getattr(message, name).seconds = int(datetime.fromisoformat(value).timestamp())
        elif name in known:
            _set(message, name, value)
        else:
            _set(getattr(message, "volume_source"), name, value)  # noqa: B009 - volumes alone have it
    return message


def _set(message: Any, name: str, value: Any) -> None:
    target = getattr(message, name)
    if isinstance(value, msgspec.Struct):
        target.SetInParent()
        _filled(target, value)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if hasattr(target, "get_or_create"):
                target[key].string = str(entry)
            else:
                target[key] = entry
    elif isinstance(value, tuple):
        for entry in value:
            if isinstance(entry, msgspec.Struct):
                _filled(target.add(), entry)
            else:
                target.append(entry)
    else:
        setattr(message, name, value)
