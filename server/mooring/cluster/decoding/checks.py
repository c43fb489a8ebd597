"""Checks of decoded objects, and the identity that an object gets when it came without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect
from msgspec.structs import replace

from mooring.cluster.decoding.errors import rejected
from mooring.cluster.interning import shared
from mooring.cluster.kinds import NAMESPACED, ClusterObject, default_uid
from mooring.framework.objects import Node, Pod
from mooring.framework.pod_requests import pod_usage
from mooring.framework.quantity import QuantityError, parse_quantity
from mooring.framework.resources import ResourceError, allocatable

ObjectT = TypeVar("ObjectT", bound=ClusterObject)

DEFAULT_NAMESPACE = "default"


def checked(item: ObjectT, *, named: bool = True) -> ObjectT:
    """``item`` with namespace and UID, made of shared parts; its name and quantities are usable. A template
    needs no name: it is not ``named``.

    An object of a namespaced kind is in ``default`` when it names no namespace, one of another kind in none.
    An object without a UID gets one that is made of its kind, namespace and name, so that it is the same each
    time. Raises InvalidArgumentError, with the field's path, if the name is missing or a quantity can't be
    used.
    """
    meta = item.metadata
    if named and not meta.name:
        raise rejected("metadata.name", "a name is required")
    for field, word in (("name", meta.name), ("namespace", meta.namespace)):
        if "/" in word:
            raise rejected(f"metadata.{field}", f"{word[:80]!r} has a slash")
    namespace = meta.namespace or DEFAULT_NAMESPACE if type(item) in NAMESPACED else ""
    uid = meta.uid
    if not uid and meta.name:
        uid = default_uid(type(item).__name__, namespace, meta.name)
    if namespace != meta.namespace or uid != meta.uid:
        item = replace(item, metadata=replace(meta, namespace=namespace, uid=uid))
    try:
        return shared(item, _check_amounts)
    except ResourceError as error:
        raise rejected(error.path, str(error)) from None


def _check_amounts(item: ClusterObject) -> None:
    if isinstance(item, Pod):
        pod_usage(item)
    elif isinstance(item, Node):
        allocatable(item.status.allocatable)
    else:
        check_quantities(item)


_Finder = Callable[[Any, str], Iterator[tuple[str, Any]]]
"""Gives the quantities of a value with their paths; the second argument is the value's own path."""

_QUANTITY = frozenset({inspect.StrType, inspect.IntType, inspect.FloatType})


def check_quantities(item: msgspec.Struct) -> None:
    """Read every quantity of ``item``; raises ResourceError, which has the path, if one is malformed."""
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
