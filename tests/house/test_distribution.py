"""The distribution has a name of its own, and everything that installs it says that one."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mooring.cli.plugin_kinds import KINDS
from mooring.cli.scaffold import write_package
from mooring.runtime.profiles.registry import new_in_tree_registry
from tests.house.test_documents import FILES
from tests.house.test_tree import FILES as TRACKED
from tests.house.test_tree import ROOT, text_of

NAME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
EXAMPLE = (ROOT / "deploy/examples/plugins/example/pyproject.toml").read_text()
UV = Path(sys.executable).with_name("uv")

SAID = {
    "a package that depends on it": r'^dependencies = \["(mooring[\w-]*)"',
    "the image's last step": r"--no-index --find-links dist (mooring[\w-]*)",
    "a lock": r"^ +#(?: via|  ) (mooring[\w-]*) \(pyproject\.toml",
}


def test_it_is_not_the_stranger_of_that_name() -> None:
    assert NAME == "mooring-scheduler"


@pytest.mark.parametrize("pattern", SAID.values(), ids=SAID)
def test_everything_says_the_same_name(pattern: str) -> None:
    said = [name for file in TRACKED for name in re.findall(pattern, text_of(file), re.MULTILINE)]
    assert set(said) == {NAME}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with our wheels, as long as no registry has them."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "clients" / "python"):
        command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, project)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder


def scaffold(folder: Path) -> str:
    """Return the package that ``mooring plugins new`` writes."""
    package = write_package("GpuAwareness", KINDS["filter"], folder, new_in_tree_registry())
    return (package / "pyproject.toml").read_text()


@pytest.mark.packaging
def test_plugin_packages_resolve_to_ours(wheels: Path, tmp_path: Path) -> None:
    packages = {"scaffold": scaffold(tmp_path), "tutorial": FILES["pyproject.toml"], "example": EXAMPLE}
    for package, text in packages.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "pyproject.toml").write_text(text)
    locked = ROOT / "requirements" / "run.txt"
    options = ("--quiet", "--python-version", "3.12", "--no-header", "--find-links", wheels)
    done = subprocess.run(
        [UV, "pip", "compile", *options, "--constraint", locked, *tmp_path.glob("*/pyproject.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = set(re.findall(r"^([\w-]+)==", done.stdout, re.MULTILINE))
    assert {name for name in names if "mooring" in name} == {NAME, "mooring-client"}
    assert names - {NAME, "mooring-client"} <= set(
        re.findall(r"^([\w-]+)==", locked.read_text(), re.MULTILINE)
    )
