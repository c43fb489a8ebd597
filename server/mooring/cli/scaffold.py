"""Writes the package, or the host in another language, that a new plugin begins as."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from mooring.cli.plugin_kinds import GUEST_KINDS, HOST_KINDS, LANGUAGES, PluginKind
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


_HOST_CONFIG = (
    PROFILE.replace("profiles:", "pluginHosts:\n- address: unix:host.sock\nprofiles:")
    + """\
    multiPoint:
      enabled:
      - name: $name
        weight: 10
"""
)

_HOST_README = """\
# $name

A scheduler plugin for mooring, in a process of its own. CLIENTS is `clients` in mooring's repository:

    $get
    $test
    $run unix:host.sock

Then, in another terminal, check it and decide with it:

    mooring conformance host unix:host.sock
    mooring plugins check $name --plugin-host unix:host.sock
    mooring serve --config config.yaml --source sample
"""

_GUEST_README = """
A guest runs inside mooring, without a process. Its address is wasm:$wasm:

    $guest
    mooring conformance host wasm:$wasm
    mooring plugins check $name --plugin-host wasm:$wasm
"""


def write_host(name: str, language: str, kind: str, directory: Path, registry: Registry) -> Path:
    """Write a host in a language, with a plugin of this kind called ``name``, into a new folder.

    Raises:
        InvalidArgumentError: No host can have such a plugin, the name is not PascalCase, or a plugin has it.
        FailedPreconditionError: The folder exists.
    """
    if kind not in HOST_KINDS:
        why = (
            f"a host can't have a plugin that is {kind}: it keeps no ledger; take counting, or no --language"
        )
        raise InvalidArgumentError.at("--kind", why)
    words = _words(name, registry)
    values = {"name": name, "distribution": "-".join(words), "module": "_".join(words)}
    commands = {key: Template(text).substitute(values) for key, text in LANGUAGES[language].items()}
    root = files("mooring.cli") / "host_projects" / language
    written = {
        "README.md": _HOST_README + (_GUEST_README if "guest" in commands and kind in GUEST_KINDS else ""),
        "config.yaml": _HOST_CONFIG,
        **_texts(root / "common"),
        **_texts(root / kind),
    }
    return write_files(directory / values["distribution"], written, {**values, **commands})


def _texts(folder: Traversable, above: str = "") -> dict[str, str]:
    """Return the texts of all files below a folder, by their paths."""
    found: dict[str, str] = {}
    for each in folder.iterdir():
        path = f"{above}{each.name}"
        found |= _texts(each, f"{path}/") if each.is_dir() else {path: each.read_text(encoding="utf-8")}
    return found


def _words(name: str, registry: Registry) -> list[str]:
    if not _NAME.fullmatch(name):
        raise InvalidArgumentError.at("NAME", f"{name!r} is not PascalCase, such as RackAffinity")
    if name in registry.catalog():
        raise InvalidArgumentError.at("NAME", f"a plugin named {name} already exists; choose another name")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower().split()


def write_package(name: str, kind: PluginKind, directory: Path, registry: Registry) -> Path:
    """Write the package of a plugin of this kind, called ``name``, into a new folder of ``directory``.

    Raises:
        InvalidArgumentError: The name is not PascalCase, or a plugin or module has it already.
        FailedPreconditionError: The folder exists.
    """
    words = _words(name, registry)
    distribution, module = "-".join(words), "_".join(words)
    if keyword.iskeyword(module) or importlib.util.find_spec(module):
        raise InvalidArgumentError.at("NAME", f"Python has a {module} already; choose a longer name")
    values = {"name": name, "module": module, "distribution": distribution, "contents": module}
    texts = {**_FILES, "$module/plugin.py": kind.plugin, "tests/test_plugin.py": _TEST + kind.test}
    return write_files(directory / distribution, texts, {**values, "args": kind.args})
