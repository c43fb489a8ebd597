"""JSON, and manifests that are dicts already, to objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from mooring.cluster.decoding.checks import checked
from mooring.cluster.decoding.errors import check_size, refused, translated
from mooring.cluster.decoding.nulls import without_nulls
from mooring.cluster.kinds import KINDS, ClusterObject
from mooring.framework.objects import Node, Object, Pod

ObjectT = TypeVar("ObjectT", bound=ClusterObject)


class _TypeMeta(msgspec.Struct):
    """What every object says of itself."""

    kind: str | None = None


_DECODERS: dict[type[Object], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in KINDS.values()
}
_type_meta = msgspec.json.Decoder(_TypeMeta).decode
_anything = msgspec.json.Decoder(Any).decode


def decode_pod(data: bytes, *, named: bool = True) -> Pod:
    """A pod from JSON. Unknown fields are ignored; null counts as absent.

    Args:
        data: UTF-8 JSON.
        named: False for a template, which needs no name.

    Raises:
        InvalidArgumentError: Malformed, or not usable; has the field's path.
    """
    return checked(_decode(data, Pod), named=named)


def decode_node(data: bytes) -> Node:
    """A node from JSON, as ``decode_pod``."""
    return checked(_decode(data, Node))


def decode_json(data: bytes, kind: str = "") -> ClusterObject | None:
    """An object of any kind; None when it is of a kind that the state doesn't keep.

    Args:
        data: UTF-8 JSON.
        kind: The object's kind; when the object names one as well, they must agree.

    Raises:
        InvalidArgumentError: Malformed, of unknown or another kind, or not usable; has the field's path.
    """
    check_size(data)
    try:
        stated = _type_meta(data).kind
    except (msgspec.MsgspecError, RecursionError) as error:
        raise translated(error) from None
    wanted = agreed_kind(kind, stated or "")
    return checked(_decode(data, KINDS[wanted])) if wanted in KINDS else None


def from_manifest(manifest: Mapping[str, Any], kind: str = "", *, named: bool = True) -> ClusterObject:
    """An object from a manifest that is a dict already.

    Args:
        manifest: As YAML or JSON gives it.
        kind: Its kind; "" = what the manifest says.
        named: False for a template, which needs no name.

    Raises:
        InvalidArgumentError: Not usable, or of a kind that the state doesn't keep; has the field's path.
    """
    wanted = agreed_kind(kind, str(manifest.get("kind") or ""))
    if wanted not in KINDS:
        raise refused("kind", f"{wanted!r} is none of {', '.join(KINDS)}")
    return checked(_convert(dict(manifest), KINDS[wanted]), named=named)


def agreed_kind(given: str, stated: str) -> str:
    """The kind, when the caller and the object don't contradict each other.

    Raises:
        InvalidArgumentError: They do, or neither names a kind.
    """
    if given and stated and given != stated:
        raise refused("kind", f"the object is a {stated}, not a {given}")
    if not given and not stated:
        raise refused("kind", "the kind is missing; write for example Pod")
    return given or stated


def _decode(data: bytes, kind: type[ObjectT]) -> ObjectT:
    check_size(data)
    try:
        item: ObjectT = _DECODERS[kind].decode(data)
    except msgspec.ValidationError:
        # Nulls are rare and the typed decoder has no notion of them: read again, slowly.
        try:
            return _convert(_anything(data), kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise translated(error) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise translated(error) from None
    return item


def _convert(value: Any, kind: type[ObjectT]) -> ObjectT:
    try:
        item: ObjectT = msgspec.convert(without_nulls(value, kind), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise translated(error) from None
    return item
