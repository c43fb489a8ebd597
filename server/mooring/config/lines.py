"""On which line of a file a field is: found only once something is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import yaml

from mooring.config.types import CONFIGURATION_KINDS
from mooring.documents import DocumentError, compose_documents

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def lines_of(text: str, paths: Iterable[str]) -> dict[str, int]:
    """Return the line, from 1 on, of each path that can be followed.

    A field that is missing is on the line of the object that lacks it. A path whose first step the file
    doesn't have is left out: another version spells it otherwise. The text can be read, and has one
    configuration, by itself or in a ConfigMap. A path is such as ``profiles[0].plugins.score``.
    """
    try:
        documents = compose_documents(text)
    except DocumentError:
        # Several JSON objects after one another are not one text of YAML.
        return {}
    whole = [(node, 1) for node in documents]
    found = [root for node, first in whole for root in _candidates(node, first)]
    roots = [root for root in found if _kind(root[0]) in CONFIGURATION_KINDS] or found or whole
    if len(roots) != 1:
        return {}
    root, first = roots[0]
    lines = ((path, _line(root, path)) for path in paths)
    return {path: line + first for path, line in lines if line is not None}


def _candidates(node: yaml.Node, first: int) -> Iterator[tuple[yaml.Node, int]]:
    """Yield what may be a configuration in a document, each with the number of its text's first line.

    That is a mapping with its kind, and what a text in the document holds.
    """
    if _kind(node) in CONFIGURATION_KINDS:
        yield node, first
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _candidates(value, first)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _candidates(item, first)
    elif isinstance(node, yaml.ScalarNode) and node.style == "|":
        # Only a block keeps its lines: in other styles, line breaks of the text are not in the file. The text
        # around the configuration may not be YAML.
        with suppress(DocumentError):
            for inner in compose_documents(node.value):
                yield inner, first + node.start_mark.line + 1


def _line(node: yaml.Node, path: str) -> int | None:
    """Return the line, from 0 on, of the last step of a path that the document has; None = not even one."""
    line = None
    for index, key in _STEP.findall(path):
        step = _item(node, int(index)) if index else _pair(node, key)
        if step is None:
            break
        line, node = step[0].start_mark.line, step[1]
    return line


def _kind(node: yaml.Node) -> str:
    kind = _value(node, "kind")
    return str(kind.value) if isinstance(kind, yaml.ScalarNode) else ""


def _value(node: yaml.Node, name: str) -> yaml.Node | None:
    pair = _pair(node, name)
    return pair[1] if pair else None


def _pair(node: yaml.Node, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return a mapping's key of that name and its value."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == name), None)


def _item(node: yaml.Node, index: int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return a list's item, twice, as it is its own place."""
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    return (items[index], items[index]) if index < len(items) else None
