"""YAML read by the rules of JSON: no timestamps, no on/off booleans, no key given twice."""

from __future__ import annotations

import re
from typing import Any

import yaml

from mooring.config.errors import ConfigError
from mooring.framework import FieldError

_MAX_VALUES = 200_000
"""More values than any real configuration has; aliases can multiply a small file without end."""


class _JsonSchemaLoader(yaml.SafeLoader):
    """Finds the scalar types that JSON has; every other plain scalar is a string."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _form, _first in (
    ("null", r"(?:null|Null|NULL|~|)", ["n", "N", "~", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", list("tTfF")),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
    ("merge", r"<<", ["<"]),
):
    _JsonSchemaLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^{_form}$"), _first)


class _YamlReader:
    """Turns one node graph into plain values and notes what is wrong with it."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._values = 0

    def read_node(self, node: yaml.Node, path: str) -> Any:
        """Return the value of a node: dict, list, str, int, float, bool or None."""
        self._values += 1
        if self._values > _MAX_VALUES:
            raise ConfigError([FieldError("", f"the document has more than {_MAX_VALUES} values")])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read_node(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag.endswith(":merge"):
                merged |= self._merged(value_node, path)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.errors.append(FieldError(path, f"line {line}: a key must be a plain word"))
                continue
            key = key_node.value
            where = f"{path}.{key}" if path else key
            if key in values:
                self.errors.append(FieldError(where, f"line {line}: given twice, first on line {lines[key]}"))
                continue
            lines[key] = line
            values[key] = self.read_node(value_node, where)
        return merged | values

    def _merged(self, node: yaml.Node, path: str) -> dict[str, Any]:
        """Return what ``<<`` brings in; of several mappings the first one wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Any] = {}
        for source in sources:
            value = self.read_node(source, path)
            if not isinstance(value, dict):
                line = node.start_mark.line + 1
                self.errors.append(FieldError(path, f"line {line}: << takes a mapping or a list of mappings"))
                continue
            result = value | result
        return result

    def _scalar(self, node: yaml.Node, path: str) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        text = str(node.value)
        try:
            match kind:
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return int(text)
                case "float":
                    return float(text)
                case "str":
                    return text
        except ValueError:
            pass
        self.errors.append(
            FieldError(path, f"line {node.start_mark.line + 1}: {text!r} cannot be read as {node.tag}")
        )
        return None


def compose_documents(text: str) -> list[yaml.Node]:
    """Read YAML (or JSON) documents as nodes, which know their lines; empty ones are left out.

    Raises:
        ConfigError: the text is not YAML; the message names the line.
    """
    try:
        return [node for node in yaml.compose_all(text, Loader=_JsonSchemaLoader) if not _is_empty(node)]
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ConfigError([FieldError("", f"{line}not YAML: {error.problem}")]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError([FieldError("", f"not YAML: {error}")]) from error


def read_documents(text: str) -> list[Any]:
    """Read YAML (or JSON) documents; empty ones are left out.

    Raises:
        ConfigError: the text is not YAML, or gives a key twice; the message names the line.
    """
    nodes = compose_documents(text)
    reader = _YamlReader()
    try:
        documents = [reader.read_node(node, "") for node in nodes]
    except RecursionError as error:
        raise ConfigError(
            [FieldError("", "the document is nested too deeply or refers to itself")]
        ) from error
    if reader.errors:
        raise ConfigError(reader.errors)
    return documents


def _is_empty(node: yaml.Node | None) -> bool:
    """Return whether a document between two ``---`` holds nothing."""
    return node is None or (isinstance(node, yaml.ScalarNode) and node.value == "")
