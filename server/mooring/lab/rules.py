"""Plugins that are written as one function in a cell, and their export as a package."""

from __future__ import annotations

import inspect
import keyword
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Plugin,
    Pod,
    ScorePlugin,
    Status,
)
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError
from mooring.package_files import PROFILE, PROJECT, write_files

Scoring = Callable[[Pod, NodeInfo], float]
"""How good a node is for a pod: 0 to 100."""

Filtering = Callable[[Pod, NodeInfo], bool | str]
"""Whether a node can take a pod: True, or why it can't."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A plugin of one function. Made by ``scoring`` or ``filtering``.

    Attributes:
        name: The plugin's: the function's name in PascalCase.
        point: ``score`` or ``filter``.
        plugin: The class, as the registry takes it.
        function: The function.
        weight: The weight of its scores.
    """

    name: str
    point: str
    plugin: type[Plugin[None]]
    function: Callable[[Pod, NodeInfo], Any]
    weight: int = 1


def scoring(weight: int = 1) -> Callable[[Scoring], Rule]:
    """Make a Score plugin of a function of pod and node that returns 0 to 100; more is better.

    >>> @lab.scoring(weight=2)
    ... def prefer_quiet(pod, node):
    ...     return 100 - int(node.labels.get("load", "50"))
    """

    def rule(function: Scoring) -> Rule:
        class Scored(ScorePlugin[None]):
            def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
                return max(0, min(MAX_NODE_SCORE, round(function(pod, node))))

        return _rule(function, "score", Scored, weight)

    return rule


def filtering(function: Filtering) -> Rule:
    """Make a Filter plugin of a function of pod and node that returns True, or why the node can't take it.

    >>> @lab.filtering
    ... def only_ssd(pod, node):
    ...     return node.labels.get("disk") == "ssd" or "node(s) had no SSD"
    """

    class Filtered(FilterPlugin[None]):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            said = function(pod, node)
            if said is True:
                return SUCCESS
            return Status.unschedulable(str(said) if said else f"node(s) didn't pass {self.name}")

    return _rule(function, "filter", Filtered, 1)


def _rule(
    function: Callable[[Pod, NodeInfo], Any], point: str, plugin: type[Plugin[None]], weight: int
) -> Rule:
    name = "".join(word.capitalize() for word in function.__name__.split("_"))
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise InvalidArgumentError.at("rule", f"{function.__name__!r} is not a name for a plugin")
    plugin.name, plugin.__name__, plugin.__doc__ = name, name, function.__doc__
    return Rule(name, point, plugin, function, weight)


def export(rule: Rule, folder: str | Path) -> Path:
    """Write the package that makes a rule a plugin for every mooring: code, entry point, configuration.

    The function must stand on its own: it imports all that it uses, or gets it from pod and node.

    Args:
        rule: The rule.
        folder: A folder that doesn't exist yet.

    Raises:
        FailedPreconditionError: The folder exists, or the function's source is not known.
        InvalidArgumentError: The rule's name is a word of Python.
    """
    module = rule.function.__name__
    if keyword.iskeyword(module):
        raise InvalidArgumentError.at("rule", f"{module!r} is a word of Python")
    values = {
        "name": rule.name,
        "module": module,
        "distribution": module.replace("_", "-"),
        "contents": f"{module}.py",
        "function": _source(rule),
        "summary": (inspect.getdoc(rule.function) or f"The scheduler plugin {rule.name}.").splitlines()[0],
        "point": rule.point,
        "weight": f"\n        weight: {rule.weight}" if rule.point == "score" else "",
    }
    return write_files(Path(folder), {**_FILES, "$module.py": _MODULES[rule.point]}, values)


def _source(rule: Rule) -> str:
    """Return the function as it was written, without its decorator."""
    try:
        lines = textwrap.dedent(inspect.getsource(rule.function)).splitlines()
    except OSError as error:
        raise FailedPreconditionError(
            f"the source of {rule.name} is not known; write it in a file or a notebook's cell",
            reason="REQUEST_INVALID",
        ) from error
    start = next(at for at, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:])


_FILES = {
    "pyproject.toml": PROJECT,
    "config.yaml": PROFILE
    + """\
    $point:
      enabled:
      - name: $name$weight
""",
}

_MODULES = {
    "score": '''\
"""$summary"""

from mooring.framework import MAX_NODE_SCORE, CycleState, NodeInfo, Pod, ScorePlugin


$function


class $name(ScorePlugin[None]):
    """$summary"""

    name = "$name"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(0, min(MAX_NODE_SCORE, round($module(pod, node))))
''',
    "filter": '''\
"""$summary"""

from mooring.framework import SUCCESS, CycleState, FilterPlugin, NodeInfo, Pod, Status


$function


class $name(FilterPlugin[None]):
    """$summary"""

    name = "$name"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        said = $module(pod, node)
        if said is True:
            return SUCCESS
        return Status.unschedulable(str(said) if said else "node(s) didn't pass $name")
''',
}
