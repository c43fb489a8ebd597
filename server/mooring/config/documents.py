"""Finds the configuration in a file: by itself, or in another object, as text or as a nested object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mooring.config.errors import ConfigError
from mooring.config.types import CONFIGURATION_KINDS, GROUP, KIND
from mooring.config.versions import is_volcano
from mooring.documents import DocumentError, read_documents
from mooring.framework import FieldError

_KINDS = re.compile(rf"kind[\"']?\s*:\s*[\"']?(?:{'|'.join(CONFIGURATION_KINDS)})\b")
"""Occurs in each text with a configuration; Volcano's has ``tiers`` instead."""


def read_configuration(text: str) -> Any:
    """Return the one configuration (or scheduler policy) in a file, as plain values.

    It is a document of the file or inside one: as the text under a key of a ConfigMap or another resource, or
    as an object. A single document without a configuration is returned unchanged. Raises ConfigError if the
    text can't be read, or holds no configuration among several documents, or several.
    """
    documents = _read(text)
    found = list(_found(documents))
    if len(found) == 1:
        return found[0][1]
    if found:
        places = ", ".join(place for place, _ in found)
        message = f"one {KIND} is expected, found {len(found)}: {places}; choose what a key has by FILE#KEY"
        raise ConfigError([FieldError("", message)])
    if len(documents) == 1 and not _is_wrapper(documents[0]):
        return documents[0]
    raise ConfigError([FieldError("", f"one {KIND} is expected, by itself or in another object, found none")])


def text_under(text: str, key: str) -> str:
    """Return the text that an object in a file has under ``key``, such as a ConfigMap in its ``data``. Raises
    ConfigError if the file can't be read, or has no text under that key, or several.
    """
    found = list(_under(_read(text), key))
    if len(found) != 1:
        raise ConfigError([FieldError(key, f"one text is expected under this key, found {len(found)}")])
    return found[0]


def _under(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, dict) and isinstance(value.get(key), str):
        yield value[key]
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _under(part, key)


def _read(text: str) -> list[Any]:
    try:
        return [document.value for document in read_documents(text, strict=True)]
    except DocumentError as error:
        raise ConfigError(
            FieldError(fault.path, f"line {fault.line}: {fault.message}" if fault.line else fault.message)
            for fault in error.faults
        ) from error


def _found(documents: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the configurations among ``documents``, each with the place where it is."""
    for number, document in enumerate(documents, 1):
        if is_volcano(document):
            yield f"document {number}", document
        else:
            yield from _within(document, f"document {number}")


def _within(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the configurations in a part of a document, itself included."""
    if is_configuration(value):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _within(part, f"{path}.{key}" if key.isidentifier() else f"{path}[{key}]")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _within(part, f"{path}[{index}]")
    elif isinstance(value, str):
        for document in _in_text(value, path):
            if is_configuration(document) or is_volcano(document):
                yield path, document


def _in_text(text: str, path: str) -> list[Any]:
    """Return the documents of a text that seems to hold a configuration."""
    names_one = _KINDS.search(text) is not None
    if not names_one and "tiers:" not in text:
        return []
    try:
        return _read(text)
    except ConfigError as error:
        if not names_one:
            return []
        raise ConfigError(
            FieldError(_join(path, fault.path), fault.message) for fault in error.errors
        ) from error


def is_configuration(value: object) -> bool:
    """Return whether a plain value is a configuration, of any version, or a scheduler policy."""
    if not isinstance(value, dict):
        return False
    version = str(value.get("apiVersion", "v1"))
    # Others have policies, too.
    return value.get("kind") == KIND or (
        value.get("kind") == "Policy" and (version == "v1" or version.startswith(GROUP))
    )


def _join(place: str, path: str) -> str:
    """Return a field's path behind the place of its document."""
    return f"{place}: {path}" if path else place


def _is_wrapper(document: Any) -> bool:
    kinds = ("ConfigMap", "ConfigMapList", "List")
    return isinstance(document, dict) and str(document.get("kind")) in kinds
