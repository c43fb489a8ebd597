"""The inputs and results of a build, as an in-toto statement with SLSA's provenance predicate, version 1.

It lists the commit, locks, tools and files. It is not signed, so it does not prove who built them, or where.
"""

import hashlib
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from tools.supply.locks import ROOT

BUILDER = "https://mooring.dev/builders/make-build/v1"
"""A name, not an address: any machine that runs ``make build``."""

INPUTS = (
    "pyproject.toml",
    "clients/python/pyproject.toml",
    "requirements/build.txt",
    "requirements/fast.txt",
)


def statement(made: Mapping[str, str], commit: str, *, changed: bool, epoch: int) -> dict[str, Any]:
    """Return the statement.

    Args:
        made: The SHA-256 of each file that was built, by name.
        commit: The checkout's commit.
        changed: Whether tracked files differed from it.
        epoch: ``SOURCE_DATE_EPOCH``, in seconds.
    """
    source = {"name": "source", "digest": {"gitCommit": commit}, "annotations": {"changed": changed}}
    inputs = [
        {"name": name, "digest": {"sha256": hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}}
        for name in INPUTS
    ]
    definition = {
        "buildType": BUILDER,
        "externalParameters": {"target": "build", "SOURCE_DATE_EPOCH": epoch},
        "resolvedDependencies": [source, *inputs],
    }
    versions = {name: metadata.version(name) for name in ("build", "hatchling")}
    versions["python"] = platform.python_version()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in made.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": definition,
            "runDetails": {"builder": {"id": BUILDER, "version": versions}},
        },
    }
