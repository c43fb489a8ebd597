"""Manifest files to documents: YAML or JSON, several in one file, Lists, whole directories.

YAML is read by the rules of JSON: ``yes`` and ``on`` are strings, a key given twice is an error.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mooring.framework.args import FieldError
from mooring.framework.errors import InvalidArgumentError

STANDARD_INPUT = "-"
"""Stands for standard input among the paths."""

SUFFIXES = (".yaml", ".yml", ".json")
"""What is read of a directory."""

_VALUES_OF_ALIASES = 10_000
"""How many values more than characters a text may have: aliases can multiply a small one without end."""

_DEEPEST = 1_000
"""Levels of nesting. libyaml composes by recursion in C, which ends the process at some 30,000 of them."""


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest and where it stands.

    Attributes:
        origin: ``file:line``, or what stands for it.
        manifest: The manifest.
    """

    origin: str
    manifest: dict[str, Any]


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character in JSON; YAML rejects it where the other half is missing."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # the fast one needs libyaml
    """Finds the scalar types that JSON has; every other plain scalar is a string."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _form, _first in (
    ("null", r"(?:null|Null|NULL|~|)", ["n", "N", "~", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-+0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^{_form}$"), _first)


def read_paths(paths: Iterable[str | Path]) -> list[Document]:
    """Return all documents of the files, and of the directories' files in name order; ``-`` is
    standard input.

    Raises:
        InvalidArgumentError: A file can't be read; every such file is named, with the line where known.
    """
    documents: list[Document] = []
    violations: list[FieldError] = []
    for path in paths:
        try:
            if path == STANDARD_INPUT:
                documents += read_text(sys.stdin.read(), "standard input")
                continue
            for file in files_of(Path(path)):
                documents += read_text(file.read_text(encoding="utf-8"), str(file))
        except InvalidArgumentError as error:
            violations += error.violations
        except OSError as error:
            violations.append(FieldError(error.filename or str(path), f"can't be read: {error.strerror}"))
        except UnicodeDecodeError:
            name = "standard input" if path == STANDARD_INPUT else str(file)
            violations.append(FieldError(name, "is not text in UTF-8"))
    if violations:
        raise InvalidArgumentError(violations)
    return documents


def files_of(path: Path) -> list[Path]:
    """Return the file itself, or a directory's manifest files at any depth, in name order, without hidden
    ones.
    """
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    return sorted(
        file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def read_text(text: str, name: str) -> list[Document]:
    """Return the documents of one file; empty ones are left out, Lists are taken apart.

    Raises:
        InvalidArgumentError: ``name:line`` and what is wrong there.
    """
    documents: list[Document] = []
    reader = _DocumentReader(name, len(text) + _VALUES_OF_ALIASES)
    try:
        with suppress(_NotJsonError):
            return list(_items(_read_json(text), f"{name}:1"))
        _check_depth(text, name)
        for node in yaml.compose_all(text, Loader=_Loader):
            if node is not None:
                documents += _items(reader.read_node(node), f"{name}:{node.start_mark.line + 1}")
    except yaml.MarkedYAMLError as error:
        raise _rejected(_place(name, error.problem_mark), f"not YAML: {error.problem}") from None
    except RecursionError:
        raise _rejected(name, "nested too deeply, or an alias stands within what it refers to") from None
    except yaml.YAMLError as error:
        raise _rejected(name, f"not YAML: {error}") from None
    return documents


class _NotJsonError(Exception):
    """A text is not one JSON object that both languages read alike; YAML's reader says what it is."""


def _read_json(text: str) -> Any:
    """Return the JSON object that a text is; the parser is some 30 times as fast as YAML's.

    Raises:
        _NotJsonError: It is none, or gives a key twice, or has a number that JSON doesn't.
    """
    if not text.lstrip().startswith("{") or _SURROGATE.search(text):
        raise _NotJsonError
    try:
        return json.loads(text, object_pairs_hook=_mapping, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _NotJsonError from None


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotJsonError
    return found


def _no_number(_word: str) -> Any:
    raise _NotJsonError


def _check_depth(text: str, name: str) -> None:
    """Rejects what is nested too deeply to be composed; events are read without recursion."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise _rejected(_place(name, event.start_mark), f"nested more than {_DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _place(name: str, mark: Any) -> str:
    return f"{name}:{mark.line + 1}" if mark else name


def _items(value: Any, origin: str) -> Iterator[Document]:
    if value is None:
        return
    if not isinstance(value, dict):
        raise _rejected(origin, f"a manifest is expected, not {type(value).__name__}")
    items = value.get("items")
    kind = value.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List")):
        yield Document(origin, value)
        return
    for index, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(item, dict):
            raise _rejected(f"{origin}: items[{index}]", "a manifest is expected")
        # The API server leaves kind and version out of the items of a typed list.
        own = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _items(own, f"{origin}: items[{index}]")


class _DocumentReader:
    """Turns nodes into plain values."""

    def __init__(self, name: str, most_values: int) -> None:
        self._name = name
        self._most_values = most_values
        self._values = 0

    def read_node(self, node: yaml.Node) -> Any:
        """Return the node's value: dict, list, str, int, float, bool or None."""
        self._values += 1
        if self._values > self._most_values:
            raise _rejected(self._name, f"more than {self._most_values} values; do its aliases multiply?")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read_node(item) for item in node.value]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag.endswith(":merge"):
                merged |= self._merged(value)
            elif not isinstance(key, yaml.ScalarNode):
                raise self._wrong(key, "a key must be a plain word")
            elif key.value in values:
                raise self._wrong(key, f"{key.value!r} is given twice")
            else:
                values[key.value] = self.read_node(value)
        return merged | values

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        """Return what ``<<`` brings in; of several mappings the first one wins."""
        result: dict[str, Any] = {}
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.read_node(source)
            if not isinstance(value, dict):
                raise self._wrong(node, "<< takes a mapping or a list of mappings")
            result = value | result
        return result

    def _scalar(self, node: yaml.Node) -> Any:
        text = str(node.value)
        # A tag may be written out before any text, `!!int z`.
        with suppress(ValueError):
            match node.tag.removeprefix("tag:yaml.org,2002:"):
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int" if len(text) < 400:
                    return int(text)
                case "float":
                    return float(text)
                case "str":
                    return text
        raise self._wrong(node, f"{text[:80]!r} can't be read as {node.tag}")

    def _wrong(self, node: yaml.Node, message: str) -> InvalidArgumentError:
        return _rejected(f"{self._name}:{node.start_mark.line + 1}", message)


def _rejected(path: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError([FieldError(path, message)])
