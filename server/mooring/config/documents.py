"""Where in a file the configuration is: by itself, or as manifests carry it, in a ConfigMap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.config.errors import ConfigError
from mooring.config.types import CONFIGURATION_KINDS, KIND
from mooring.config.volcano import is_volcano
from mooring.documents import DocumentError, read_documents
from mooring.framework import FieldError


def read_configuration(text: str) -> Any:
    """Return the one configuration (or scheduler policy) in a file, as plain values.

    It is a document of the file, or what a ConfigMap has under some key. Other objects may stand beside it,
    each a document or in a List. A single document that is something else is returned as it is.

    Raises:
        ConfigError: the text can't be read, or holds no configuration among several documents, or several.
    """
    documents = _read(text)
    found = list(_found(documents))
    if len(found) == 1:
        return found[0][1]
    if found:
        places = ", ".join(place for place, _ in found)
        raise ConfigError([FieldError("", f"one {KIND} is expected, found {len(found)}: {places}")])
    if len(documents) == 1 and not _is_wrapper(documents[0]):
        return documents[0]
    raise ConfigError([FieldError("", f"one {KIND} is expected, by itself or in a ConfigMap, found none")])


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
        if not isinstance(document, dict):
            continue
        if _is_wanted(document):
            yield f"document {number}", document
        for path, item in _objects(document, f"document {number}"):
            yield from _in_config_map(item, path)


def _objects(document: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the document, or those in it if it is a List."""
    items = document.get("items") if _is_list(document) else None
    if not isinstance(items, list):
        yield path, document
        return
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield f"{path}.items[{index}]", item


def _in_config_map(item: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    data = item.get("data") if item.get("kind") == "ConfigMap" else None
    for key, text in data.items() if isinstance(data, dict) else ():
        if not (isinstance(text, str) and any(word in text for word in (*CONFIGURATION_KINDS, "tiers:"))):
            continue
        try:
            documents = _read(text)
        except ConfigError as error:
            place = f"{path}.data[{key}]"
            raise ConfigError(
                FieldError(_join(place, fault.path), fault.message) for fault in error.errors
            ) from error
        for document in documents:
            if _is_wanted(document):
                yield f"{path}.data[{key}]", document


def _is_wanted(document: object) -> bool:
    return is_volcano(document) or (
        isinstance(document, dict) and document.get("kind") in CONFIGURATION_KINDS
    )


def _join(place: str, path: str) -> str:
    """Return a field's path behind the place of its document."""
    return f"{place}: {path}" if path else place


def _is_list(document: dict[str, Any]) -> bool:
    return str(document.get("kind")) in ("List", "ConfigMapList")


def _is_wrapper(document: Any) -> bool:
    return isinstance(document, dict) and (_is_list(document) or document.get("kind") == "ConfigMap")
