"""JSON, and manifests that are dicts already, to objects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.errors import check_size, rejected, translated
from mooring.cluster.kinds import KINDS, ClusterObject, kept_kind
from mooring.framework.objects import Object, Pod

ObjectT = TypeVar("ObjectT", bound=ClusterObject)


class _TypeMeta(msgspec.Struct, rename="camel"):
    """The identity of an object."""

    kind: str | None = None
    api_version: str | None = None


_DECODERS: dict[type[Object], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in KINDS.values()
}
_type_meta = msgspec.json.Decoder(_TypeMeta).decode
_anything = msgspec.json.Decoder(Any).decode


def decode_pod(data: bytes, *, named: bool = True) -> Pod:
    """Return a pod from JSON in UTF-8. Unknown fields are ignored; null counts as absent. A template needs no
    name: it is not ``named``. Raises InvalidArgumentError, with the field's path, if it is malformed or can't
    be used.
    """
    return checked(_decode(data, Pod), named=named)


def decode_kind(data: bytes, kind: type[ObjectT]) -> ObjectT:
    """Return an object whose kind is known, as lists have them, as ``decode_pod``."""
    return checked(_decode(data, kind))


def decode_sent(data: bytes, kind: type[ObjectT]) -> ObjectT:
    """Return an object that has to be of this kind, and may say so, as ``decode_pod``. Raises
    InvalidArgumentError as ``decode_pod`` does, and if the object names another kind or API version.
    """
    check_size(data)
    reject_other_kind(kind, _stated(data))
    return checked(_decode(data, kind))


def has_uid(data: bytes, kind: type[ClusterObject]) -> bool:
    """Return whether an object as JSON, which can be decoded, has a UID of its own."""
    return bool(_decode(data, kind).metadata.uid)


def decode_json(data: bytes, kind: str = "", api_version: str = "") -> ClusterObject | None:
    """Return an object of any kind from JSON in UTF-8; None when it is of a kind that the state doesn't keep.

    ``kind`` and ``api_version`` must agree with those that the object names; "" = what it names, or the
    kind's newest version. Raises InvalidArgumentError, with the field's path, if it is malformed, of unknown
    or another kind, or can't be used.
    """
    check_size(data)
    wanted = agreed_kind((kind, api_version), _stated(data))
    return checked(_decode(data, wanted)) if wanted is not None else None


def from_manifest(manifest: Mapping[str, Any], kind: str = "") -> ClusterObject:
    """Return an object from a manifest that is a dict already; ``kind`` "" = the kind that it names. Raises
    InvalidArgumentError, with the field's path, if it can't be used, or is of a kind that the state doesn't
    keep.
    """
    stated = str(manifest.get("kind") or ""), str(manifest.get("apiVersion") or "")
    wanted = agreed_kind((kind, ""), stated)
    if wanted is None:
        raise rejected("kind", f"{' '.join(stated).strip()!r} is not one of {', '.join(KINDS)}")
    return checked(_convert(dict(manifest), wanted))


def agreed_kind(given: tuple[str, str], stated: tuple[str, str]) -> type[ClusterObject] | None:
    """Return the struct, when the caller and the object don't contradict each other; None = a kind not kept.

    Kind and API version as the caller has them are ``given``, "" = not said; ``stated`` are the object's.
    Raises InvalidArgumentError if they contradict each other, or neither names a kind.
    """
    for path, ours, theirs in zip(("kind", "apiVersion"), given, stated, strict=True):
        if ours and theirs and ours != theirs:
            raise rejected(path, f"the object is a {theirs}, not a {ours}")
    kind = given[0] or stated[0]
    if not kind:
        raise rejected("kind", "the kind is missing; write for example Pod")
    return kept_kind(kind, given[1] or stated[1])


def reject_other_kind(kind: type[Object], stated: tuple[str, str]) -> None:
    """Reject an object that says that it is of another kind, or of an API version that this one lacks. The
    InvalidArgumentError names the object's kind and API version.
    """
    if agreed_kind((kind.__name__, ""), stated) is None:
        raise rejected("apiVersion", f"the object is a {kind.__name__} of {stated[1]}, not of v1")


def _stated(data: bytes) -> tuple[str, str]:
    """Return the kind and the API version that an object says, "" = none."""
    try:
        stated = _type_meta(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise translated(error) from None
    return stated.kind or "", stated.api_version or ""


def _decode(data: bytes, kind: type[ObjectT]) -> ObjectT:
    check_size(data)
    try:
        item: ObjectT = _DECODERS[kind].decode(data)
    except msgspec.ValidationError:
        # The typed decoder has no notion of nulls: read again, slowly.
        try:
            return _convert_without_nulls(_anything(data), kind)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise translated(error) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise translated(error) from None
    return item


def _convert(value: Any, kind: type[ObjectT]) -> ObjectT:
    try:
        item: ObjectT = msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return _convert_without_nulls(value, kind)
    return item


def _convert_without_nulls(value: Any, kind: type[ObjectT]) -> ObjectT:
    try:
        item: ObjectT = msgspec.convert(without_nulls(value, kind), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise translated(error) from None
    return item


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
