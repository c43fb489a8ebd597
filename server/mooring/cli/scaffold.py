"""Writes the package that a new plugin begins as."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

from mooring.cli.plugin_kinds import PluginKind
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
    mooring plugins check $module:$name
    mooring serve --config config.yaml --source sample
""",
    "config.yaml": PROFILE
    + """\
    multiPoint:
      enabled:
      - name: $name
  pluginConfig:
  - name: $name
    args:
      $args
""",
    "$module/__init__.py": '''\
"""The scheduler plugin $name."""

from $module.plugin import $name, ${name}Args

__all__ = ["$name", "${name}Args"]
''',
    "$module/py.typed": "",
}

_TEST = '''\
"""$name through the whole cycle, without a cluster."""

from pathlib import Path

import yaml
from mooring.testing import explain, node_manifest, pod_manifest

from $module import $name

CONFIG = yaml.safe_load((Path(__file__).parent.parent / "config.yaml").read_text())


'''


def write_package(name: str, kind: PluginKind, directory: Path, registry: Registry) -> Path:
    """Write the package of a plugin of this kind, called ``name``, into a new folder of ``directory``.

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
    files = {**_FILES, "$module/plugin.py": kind.plugin, "tests/test_plugin.py": _TEST + kind.test}
    return write_files(directory / distribution, files, {**values, "args": kind.args})
