"""Writes the package that a new plugin begins as."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

from mooring.framework.errors import InvalidArgumentError
from mooring.package_files import PROFILE, PROJECT, write_files
from mooring.runtime.profiles.registry import Registry

_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")

_FILES = {
    "pyproject.toml": PROJECT,
    "README.md": """\
# $name

A scheduler plugin for mooring. Install it together with mooring and name it in a profile:

    pip install --editable . pytest
    pytest
    mooring serve --config config.yaml --source sample
""",
    "config.yaml": PROFILE
    + """\
    filter:
      enabled:
      - name: $name
    score:
      enabled:
      - name: $name
        weight: 2
  pluginConfig:
  - name: $name
    args:
      label: example.com/tier
""",
    "$module/__init__.py": '''\
"""The scheduler plugin $name."""

from $module.plugin import $name, ${name}Args

__all__ = ["$name", "${name}Args"]
''',
    "$module/py.typed": "",
    "$module/plugin.py": '''\
"""Keep to the nodes whose label the pod asks for, and prefer the emptier ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    CycleState,
    FieldError,
    FilterPlugin,
    NodeInfo,
    Pod,
    ScorePlugin,
    Status,
)


@dataclass(frozen=True)
class ${name}Args:
    """Arguments, as they stand in the configuration's pluginConfig.

    Attributes:
        label: The node label to compare with the pod's annotation of the same name.
    """

    label: str = "example.com/tier"

    def validate(self) -> Iterable[FieldError]:
        """Yield what is wrong with the values."""
        if not self.label:
            yield FieldError("label", "must not be empty")


class $name(FilterPlugin[${name}Args], ScorePlugin[${name}Args]):
    """One instance serves all threads: what belongs to one decision goes into the state, never on self."""

    name = "$name"
    Args = ${name}Args

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        wanted = pod.metadata.annotations.get(self.args.label)
        if wanted is None or node.labels.get(self.args.label) == wanted:
            return SUCCESS
        return Status.unresolvable(f"node(s) didn't have the {self.args.label} that the pod asks for")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        allowed = node.allocatable.get("pods", 0)
        taken = node.requested.get("pods", 0)
        return max(0, allowed - taken) * MAX_NODE_SCORE // allowed if allowed else 0
''',
    "tests/test_plugin.py": '''\
"""$name through the whole cycle, without a cluster."""

from pathlib import Path

import yaml
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import explain

from $module import $name

CONFIG = yaml.safe_load((Path(__file__).parent.parent / "config.yaml").read_text())


def node(name: str, tier: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"example.com/tier": tier}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def pod(tier: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "annotations": {"example.com/tier": tier}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }


def test_only_nodes_of_the_wanted_tier_are_feasible() -> None:
    registry = new_in_tree_registry()
    registry.register("$name", $name)
    answer = explain([node("n1", "gold"), node("n2", "iron")], pod("iron"), CONFIG, registry=registry)
    assert answer["selected"] == "n2"
    rejected = answer["nodes"]["n1"]["status"]
    assert (rejected["plugin"], rejected["code"]) == ("$name", "UnschedulableAndUnresolvable")
''',
}


def write_package(name: str, directory: Path, registry: Registry) -> Path:
    """Write the package of a plugin called ``name`` into a new folder of ``directory``.

    Raises:
        InvalidArgumentError: The name is not PascalCase, or a plugin or module has it already.
        FailedPreconditionError: The folder exists.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgumentError.at("NAME", f"{name!r} is not PascalCase, such as RackAffinity")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower().split()
    distribution, module = "-".join(words), "_".join(words)
    if name in registry.catalog():
        raise InvalidArgumentError.at("NAME", f"a plugin named {name} already exists; choose another name")
    if keyword.iskeyword(module) or importlib.util.find_spec(module):
        raise InvalidArgumentError.at("NAME", f"Python has a {module} already; choose a longer name")
    values = {"name": name, "module": module, "distribution": distribution, "contents": module}
    return write_files(directory / distribution, _FILES, values)
