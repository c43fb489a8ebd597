"""Writes the files of a plugin's package: of one that begins, and of a rule that the lab exports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template

from mooring.framework.errors import FailedPreconditionError

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "$distribution"
version = "0.1.0"
description = "The scheduler plugin $name for mooring"
requires-python = ">=3.11"
dependencies = ["mooring-scheduler"]

[project.entry-points."mooring.plugins"]
$name = "$module:$name"

[tool.hatch.build.targets.wheel]
only-include = ["$contents"]
"""
"""A template of ``pyproject.toml``; ``$contents`` is its module's file or folder."""

PROFILE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
"""
"""How the ``config.yaml`` begins that enables the plugin."""


def write_files(folder: Path, files: Mapping[str, str], values: Mapping[str, str]) -> Path:
    """Write files into a new folder, with ``values`` for the ``$names`` in paths and texts; return it.

    Raises:
        FailedPreconditionError: The folder exists.
    """
    if folder.exists():
        raise FailedPreconditionError(
            f"{folder} exists; choose another name or directory", reason="REQUEST_INVALID"
        )
    for path, text in files.items():
        target = folder / Template(path).substitute(values)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(values), encoding="utf-8")
    return folder
