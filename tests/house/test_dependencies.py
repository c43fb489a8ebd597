"""Installed and locked packages are at or above the lower bounds, and have hashes."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from google.protobuf.internal import api_implementation
from packaging.requirements import Requirement
from packaging.version import Version

from tools.supply.locks import names

ROOT = Path(__file__).parents[2]
DECLARED = [
    Requirement(requirement)
    for project in (ROOT, ROOT / "clients" / "python")
    for requirement in tomllib.loads((project / "pyproject.toml").read_text())["project"]["dependencies"]
]
DIRECT = [
    requirement
    for requirement in DECLARED
    if requirement.name != "mooring-client" and (not requirement.marker or requirement.marker.evaluate())
]
LOCKS = names()

# Below these a known flaw reaches us through another package's dependency.
INDIRECT = {
    "aiohttp": "3.14.4",  # CVE-2026-128131: a body of many gzip members costs quadratic time
    "h11": "0.16.0",  # CVE-2025-43859: request smuggling through chunked bodies
}


def locked(name: str) -> dict[str, set[Version]]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    found: dict[str, set[Version]] = {}
    for package, number in re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", text, flags=re.MULTILINE):
        found.setdefault(package, set()).add(Version(number))
    return found


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_direct_dependency_is_bounded_locked_and_installed(requirement: Requirement) -> None:
    assert sorted(bound.operator for bound in requirement.specifier) == ["<", ">="]
    assert requirement.specifier.contains(version(requirement.name))
    pinned = locked("run")[requirement.name.lower()]
    assert all(requirement.specifier.contains(number) for number in pinned)


@pytest.mark.parametrize(("package", "floor"), INDIRECT.items(), ids=str)
def test_indirect_dependency_is_at_its_floor(package: str, floor: str) -> None:
    assert min(locked("run")[package]) >= Version(floor)
    assert Version(version(package)) >= Version(floor)


@pytest.mark.parametrize("name", LOCKS)
def test_lock_names_versions_and_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = [
        line for line in text.replace("\\\n", " ").splitlines() if line and not line.lstrip().startswith("#")
    ]
    assert entries
    assert [line for line in entries if "==" not in line or "--hash=sha256:" not in line] == []
    assert "://" not in text


def test_locks_agree_where_they_share_a_package() -> None:
    run, fast, build, dev, docs = map(locked, ("run", "fast", "build", "dev", "docs"))
    assert fast | run == fast
    for package in dev.keys() & fast.keys():
        assert dev[package] <= fast[package], package
    for package in dev.keys() & run.keys():
        assert dev[package] <= run[package], package
    for package in build.keys() & dev.keys():
        assert build[package] == dev[package], package
    for package in docs.keys() & dev.keys():
        assert docs[package] <= dev[package], package


def test_protobuf_runs_on_its_c_implementation() -> None:
    assert api_implementation.Type() == "upb"
