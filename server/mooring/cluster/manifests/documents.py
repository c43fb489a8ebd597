"""Manifest files to documents: YAML or JSON, several in one file, Lists, whole directories."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooring.documents import DocumentError, Fault, read_documents
from mooring.files import read_file
from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError

STANDARD_INPUT = "-"
"""Stands for standard input among the paths."""

MANIFEST_BYTES = 512 << 20
"""The most bytes of a file of manifests: a pod of a cluster takes about 3 kB."""

SUFFIXES = (".yaml", ".yml", ".json")
"""The files that are read in a directory."""


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest and where it stands.

    Attributes:
        origin: ``file:line``, or what stands for it.
    """

    origin: str
    manifest: dict[str, Any]


def read_paths(paths: Iterable[str | Path], *, pipes: bool = True) -> list[Document]:
    """Return all documents of the files, and of the directories' files in name order; ``-`` is standard
    input. With ``pipes``, for files that are read once, it reads pipes as well, and waits for their bytes.
    Raises InvalidArgumentError, which names every file that can't be read, with the line where known.
    """
    documents: list[Document] = []
    violations: list[FieldError] = []
    for path in paths:
        try:
            if path == STANDARD_INPUT:
                documents += read_text(sys.stdin.read(), "standard input")
                continue
            for file in files_of(Path(path)):
                documents += read_text(read_file(file, MANIFEST_BYTES, pipe=pipes).decode(), str(file))
        except InvalidArgumentError as error:
            violations += error.violations
        except OSError as error:
            violations.append(FieldError(error.filename or str(path), f"can't be read: {error.strerror}"))
        except UnicodeDecodeError:
            name = "standard input" if path == STANDARD_INPUT else str(file)
            violations.append(FieldError(name, "is not text in UTF-8"))
    InvalidArgumentError.raise_if_any(violations)
    return documents


def files_of(path: Path) -> list[Path]:
    """Return the file, or a directory's manifest files at any depth, in name order, hidden ones not."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    return sorted(
        file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def read_text(text: str, name: str) -> list[Document]:
    """Return the documents of one file; empty ones are left out, Lists are taken apart. Raises
    InvalidArgumentError with ``name:line`` and what is wrong there.
    """
    try:
        read = read_documents(text)
    except DocumentError as error:
        raise InvalidArgumentError(_located(name, fault) for fault in error.faults) from None
    return [each for document in read for each in _items(document.value, f"{name}:{document.line}")]


def _located(name: str, fault: Fault) -> FieldError:
    place = f"{name}:{fault.line}" if fault.line else name
    return FieldError(f"{place}: {fault.path}" if fault.path else place, fault.message)


def _items(value: Any, origin: str) -> Iterator[Document]:
    if not isinstance(value, dict):
        raise InvalidArgumentError.at(origin, f"a manifest is expected, not {type(value).__name__}")
    items, kind = value.get("items"), value.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in value):
        yield Document(origin, value)
        return
    for index, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(item, dict):
            raise InvalidArgumentError.at(f"{origin}: items[{index}]", "a manifest is expected")
        # The API server leaves kind and version out of the items of a typed list.
        own = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _items(own, f"{origin}: items[{index}]")
