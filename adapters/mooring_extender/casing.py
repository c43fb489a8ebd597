"""Give every key of a document the spelling that its Go type has.

Go reads JSON keys whatever their case, so a caller may send ``nodenames`` or ``NODENAMES`` for ``NodeNames``,
and the same anywhere in the pod and its nodes. Keys of *structs* get their published names; keys of *maps*
(labels, annotations, resource names) are data, and a key that no field has stays as it came.

``go_types.json`` lists the fields of extender/v1, core/v1 and meta/v1 by the name of their Go type. Each has
the type of the struct that it holds, ``map:TYPE`` for a map of them, or nothing.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
from msgspec import Raw

_FIELDS: Final[dict[str, dict[str, str]]] = json.loads(
    resources.files(__package__).joinpath("go_types.json").read_text("ascii")
)
_OBJECTS: Final = frozenset({"Pod", "Node", "NodeList"})
"""The types of whole objects in a document: the keys of each object are checked separately."""

_REMEMBERED: Final = 2**16
"""How many exact texts are remembered, by hash: nodes come again with each pod."""
_MAP: Final = "map:"
_object: Final = msgspec.json.Decoder(dict[str, Raw])
_list: Final = msgspec.json.Decoder(list[Raw])


class Spelling:
    """The spelling of the keys in documents of one Go type. Safe to share between threads. An object inside
    another one is left unchanged.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._strict = msgspec.json.Decoder(_strict_type(kind))
        self._exact: set[int] = set()

    def is_exact(self, text: bytes) -> bool:
        """Return whether all keys are published ones, spelt as they are published.

        This takes a fraction of the time of ``fold``, and a key that no field has is a reason to fold. Raises
        msgspec.DecodeError or RecursionError if ``text`` is not JSON, or nests too deeply.
        """
        if hash(text) in self._exact:
            return True
        try:
            self._strict.decode(text)
        except msgspec.ValidationError:
            return False
        if len(self._exact) >= _REMEMBERED:
            self._exact.clear()
        self._exact.add(hash(text))
        return True

    def fold(self, text: bytes) -> bytes:
        """Return the object ``text`` with its keys in their published spelling, all values as they were
        spelt.

        If two keys fold to one name, the later one wins. Raises msgspec.DecodeError, UnicodeDecodeError or
        RecursionError if ``text`` is not a JSON object, or nests too deeply.
        """
        return msgspec.json.encode(_folded_object(text, self._kind))


def _folded(value: Raw, schema: str) -> Any:
    opening = bytes(memoryview(value)[:1])
    if opening == b"[":
        return [_folded(item, schema) for item in _list.decode(value)]
    return _folded_object(value, schema) if opening == b"{" else value


def _folded_object(text: bytes | Raw, schema: str) -> dict[str, Any]:
    fields = _object.decode(text)
    if schema.startswith(_MAP):
        return {key: _folded(value, schema.removeprefix(_MAP)) for key, value in fields.items()}
    folded: dict[str, Any] = {}
    for key, value in fields.items():
        name = _published(schema, key)
        holds = _FIELDS[schema].get(name)
        folded[name] = _folded(value, holds) if holds and holds not in _OBJECTS else value
    return folded


def _published(kind: str, key: str) -> str:
    """Return the name of the field that Go sets for ``key``, or ``key`` if there is none.

    Go folds letter by letter, Python one letter to several, such as ß to ss.
    """
    name = _names_by_folded(kind).get(key.casefold(), key)
    return name if len(name) == len(key) else key


@cache
def _names_by_folded(kind: str) -> dict[str, str]:
    return {name.casefold(): name for name in _FIELDS[kind]}


@cache
def _strict_type(kind: str) -> Any:
    """Return a type with the fields of ``kind`` that takes no other ones."""
    names = {f"field_{at}": name for at, name in enumerate(_FIELDS[kind])}
    fields = [(field, _strict_value(_FIELDS[kind][name]), None) for field, name in names.items()]
    return msgspec.defstruct(kind, fields, rename=names, forbid_unknown_fields=True, gc=False)


def _strict_value(schema: str) -> Any:
    if not schema or schema in _OBJECTS:
        return Raw
    if schema.startswith(_MAP):
        return dict[str, _strict_value(schema.removeprefix(_MAP))] | None  # type: ignore[misc]  # made at run time
    kind = _strict_type(schema)
    return kind | list[kind | None] | None  # type: ignore[valid-type]  # made at run time
