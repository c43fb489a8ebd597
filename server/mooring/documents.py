"""YAML and JSON as kubectl and kube-scheduler read them: several documents in one text, scalars as in Go.

Mirrors k8s.io/apimachinery/pkg/util/yaml/decoder.go, and sigs.k8s.io/yaml over go.yaml.in/yaml/v2: ``yes``
and ``on`` are booleans, ``010`` is eight, ``4.0`` is the integer 4, and times are strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, nan
from types import NoneType
from typing import Any

import yaml

_VALUES_OF_ALIASES = 10_000
"""How many more values than characters a text may have: aliases can multiply the values of a small text."""

_DEEPEST = 1_000
"""The most levels of nesting. libyaml composes recursively in C; some 30,000 levels crash the process."""

_PLAIN = "plain"
"""The tag of a scalar that has neither quotes nor a tag of its own."""


_STRING = "tag:yaml.org,2002:str"

_FORMS: Mapping[str, tuple[type, ...]] = {
    _PLAIN: (NoneType, bool, int, float, str),
    "bool": (bool,),
    "float": (float, int),
    "int": (int,),
    "null": (NoneType,),
}
"""The types that a scalar may have, by its tag; with any other tag its value is its text."""

_WORDS: Mapping[str, bool | float | None] = {
    **{
        form: value
        for words, value in (
            ("y yes true on", True),
            ("n no false off", False),
            ("null", None),
        )
        for word in words.split()
        for form in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys(("", "~"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
    **{f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
}
"""The values of plain scalars that are neither strings nor numbers."""

_TEMPLATE = re.compile(r"\{\{.*?\}\}")

_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?(?P<octal>[0-7]+)|[1-9][0-9]*|0)")

_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a text.

    Attributes:
        path: The field, such as ``spec.containers[0].name``; "" = the document.
        line: From 1 on; 0 = not known.
        message: The fault.
    """

    path: str
    line: int
    message: str


class DocumentError(ValueError):
    """A text that can't be read.

    Attributes:
        faults: Its faults.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class TextDocument:
    """One document of a text.

    Attributes:
        line: The line on which it begins, from 1 on.
        value: Dicts, lists, str, int, float, bool and None.
    """

    line: int
    value: Any


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # the fast one needs libyaml
    """Leaves plain scalars as they are written."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {  # noqa: RUF012
        None: [(_PLAIN, re.compile(""))]
    }


def read_documents(text: str, *, strict: bool = False) -> list[TextDocument]:
    """Return the documents of a text; empty ones are left out.

    A text may begin with JSON objects, with or without line breaks between them. The rest is YAML.

    Args:
        text: YAML or JSON.
        strict: Whether to read it as kube-scheduler reads its configuration. Then a mapping must not give a
            key that ``<<`` merges into it, and a JSON number is an integer only if it is written as one.

    Raises:
        DocumentError: It is neither YAML nor JSON, or gives a key twice.
    """
    try:
        return _documents(text, strict)
    except DocumentError:
        if template := _TEMPLATE.search(text):
            line = 1 + text.count("\n", 0, template.start())
            message = f"{template[0][:80]} looks like a template: render it first, as helm template does"
            raise DocumentError(Fault("", line, message)) from None
        raise


def read_document(text: str) -> Any:
    """Return the value of the one document of a text, as kube-scheduler reads its configuration; None = none.

    Raises:
        DocumentError: It can't be read, or has several documents.
    """
    found = read_documents(text, strict=True)
    if len(found) > 1:
        raise DocumentError(Fault("", found[1].line, "there is more than one document"))
    return found[0].value if found else None


def _documents(text: str, strict: bool) -> list[TextDocument]:
    text = _with_whole_characters(text.removeprefix("\ufeff"))
    documents, end = _leading_json(text, strict)
    behind = "\n" * text.count("\n", 0, end) + text[end:]
    if not behind.strip():
        return documents
    reader = _NodeReader(len(text) + _VALUES_OF_ALIASES, strict)
    try:
        documents += [
            TextDocument(_line(node.start_mark), reader.read_node(node, "")) for node in _composed(behind)
        ]
    except RecursionError:
        raise DocumentError(
            Fault("", 0, "nested too deeply, or an alias stands within what it refers to")
        ) from None
    if reader.faults:
        raise DocumentError(*reader.faults)
    return [document for document in documents if document.value is not None]


def compose_documents(text: str) -> list[yaml.Node]:
    """Return the documents of a text as nodes with line numbers; empty ones are left out.

    Raises:
        DocumentError: It is not YAML.
    """
    return _composed(_with_whole_characters(text.removeprefix("\ufeff")))


def write_documents(*documents: object, sort_keys: bool = False) -> str:
    """Return YAML with one document after the other; reading it gives the same values."""
    return yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=sort_keys, default_flow_style=False, allow_unicode=True
    )


class _Dumper(yaml.SafeDumper):
    """Quotes as Kubernetes' programs do: with double quotes if the text wouldn't be read as a string."""


def _represent_string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    resolved = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # no stub
    plain = resolved in (_STRING, "tag:yaml.org,2002:yaml") and isinstance(_plain_value(text), str)
    return dumper.represent_scalar(_STRING, text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_string)


class _NotJsonError(Exception):
    """The text is not a JSON object with the same meaning in YAML, so it goes to the YAML reader."""


_SPACES = re.compile(r"\s*")


def _leading_json(text: str, strict: bool) -> tuple[list[TextDocument], int]:
    """Return the JSON objects at the beginning of a text, and the position where the last one ends.

    The JSON parser is about 30 times as fast as the YAML parser.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=_no_number, parse_float=float if strict else _number
    )
    found: list[TextDocument] = []
    end = 0
    while text.startswith("{", start := _after_spaces(text, end)):
        try:
            value, end_of_value = decoder.raw_decode(text, start)
        except (ValueError, RecursionError, _NotJsonError):
            break
        found.append(TextDocument(1 + text.count("\n", 0, start), value))
        end = end_of_value
    return found, end


def _after_spaces(text: str, start: int) -> int:
    match = _SPACES.match(text, start)
    return match.end() if match else start


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotJsonError
    return found


def _no_number(_word: str) -> Any:
    raise _NotJsonError


_HALF = re.compile(r"\\u[dD][89a-fA-F]")

_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\(u)[dD][89a-fA-F]..|\\.", re.DOTALL
)


def _with_whole_characters(text: str) -> str:
    r"""Return JSON with surrogate pairs replaced by their characters, since YAML rejects surrogates.

    A surrogate without its other half becomes U+FFFD, as in Go.
    """
    if not text.startswith("{", _after_spaces(text, 0)) or not _HALF.search(text):
        return text
    return _ESCAPE.sub(_whole_character, text)


def _whole_character(escape: re.Match[str]) -> str:
    high, low, alone = escape.groups()
    if alone:
        return "\\ufffd"
    return bytes.fromhex(high + low).decode("utf-16-be") if high else escape[0]


def _composed(text: str) -> list[yaml.Node]:
    try:
        _check_depth(text)
        return [node for node in yaml.compose_all(text, Loader=_Loader) if not _is_empty(node)]
    except yaml.MarkedYAMLError as error:
        raise DocumentError(Fault("", _line(error.problem_mark), f"not YAML: {error.problem}")) from None
    except yaml.YAMLError as error:
        raise DocumentError(Fault("", 0, f"not YAML: {error}")) from None


def _check_depth(text: str) -> None:
    """Reject a text that is nested too deeply to compose; parsing its events takes no recursion."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                message = f"nested more than {_DEEPEST} levels deep"
                raise DocumentError(Fault("", _line(event.start_mark), message))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _is_empty(node: yaml.Node | None) -> bool:
    """Return whether a document between two ``---`` is empty."""
    return node is None or (isinstance(node, yaml.ScalarNode) and node.value == "")


def _line(mark: Any) -> int:
    """Return the line of a position in YAML, from 1 on; 0 = not known."""
    return mark.line + 1 if mark else 0


def _plain_value(text: str) -> str | int | float | bool | None:
    """Return the value that a plain scalar has in Go."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if (integer := _INTEGER.fullmatch(digits)) and len(digits) < 100:
        value = int(digits, 8 if integer["octal"] else 0)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(digits) and isfinite(number := _number(digits)):
        return number
    return text


def _number(text: str) -> int | float:
    """Return a number as Go writes it to JSON: a whole number has no decimal point."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


class _NodeReader:
    """Turns nodes into plain values and collects their faults."""

    def __init__(self, most_values: int, strict: bool) -> None:
        self.faults: list[Fault] = []
        self._most_values = most_values
        self._strict = strict
        self._values = 0

    def read_node(self, node: yaml.Node, path: str) -> Any:
        """Return the node's value: dict, list, str, int, float, bool or None."""
        self._values += 1
        if self._values > self._most_values:
            raise DocumentError(
                Fault("", 0, f"more than {self._most_values} values; do its aliases multiply?")
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read_node(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        """Return a mapping. A later ``<<`` or key wins."""
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == "<<":
                merged = self._merged(value_node, path)
                if self._strict:
                    self._check_new(merged, lines, key_node, path)
                    lines |= dict.fromkeys(merged, _line(key_node.start_mark))
                values |= merged
                continue
            key = self._key(key_node, path)
            if key is None:
                continue
            where = f"{path}.{key}" if path else key
            if self._check_new([key], lines, key_node, path):
                lines[key] = _line(key_node.start_mark)
                values[key] = self.read_node(value_node, where)
        return values

    def _check_new(self, keys: Iterable[str], lines: Mapping[str, int], node: yaml.Node, path: str) -> bool:
        given = [key for key in keys if key in lines]
        for key in given:
            where = f"{path}.{key}" if path else key
            self._fault(node, where, f"given twice, first on line {lines[key]}")
        return not given

    def _key(self, node: yaml.Node, path: str) -> str | None:
        """Return a key as JSON has it; None = the node can't be a key."""
        key = self._scalar(node, path) if isinstance(node, yaml.ScalarNode) else None
        match key:
            case None:
                self._fault(node, path, "a key must be a plain word")
                return None
            case bool():
                return str(key).lower()
            case float():
                return f"{key:.7g}"
        return str(key)

    def _merged(self, node: yaml.Node, path: str) -> dict[str, Any]:
        """Return the keys that ``<<`` merges in; of several mappings the first one wins."""
        result: dict[str, Any] = {}
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.read_node(source, path)
            if isinstance(value, dict):
                result = value | result
            else:
                self._fault(node, path, "<< takes a mapping or a list of mappings")
        return result

    def _scalar(self, node: yaml.Node, path: str) -> Any:
        text, tag = str(node.value), node.tag.removeprefix("tag:yaml.org,2002:")
        if tag not in _FORMS:
            return text
        value = _plain_value(text)
        if isinstance(value, float) and not isfinite(value):
            self._fault(node, path, f"{text!r} is not a number that JSON has")
        elif type(value) not in _FORMS[tag]:
            self._fault(node, path, f"{text[:80]!r} can't be read as {node.tag}")
        return value

    def _fault(self, node: yaml.Node, path: str, message: str) -> None:
        self.faults.append(Fault(path, _line(node.start_mark), message))
