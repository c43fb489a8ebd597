"""The README's code runs as it stands: the plugin tutorial in an environment of its own, typed and tested."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = dict(
    re.findall(
        r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$",
        (ROOT / "README.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
)
TUTORIAL = ["rack_affinity.py", "pyproject.toml", "config.yaml", "test_rack_affinity.py"]

pytestmark = pytest.mark.xdist_group("readme")


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's folder; the package is installed in its folder ``installed``."""
    folder = tmp_path_factory.mktemp("tutorial")
    for name in TUTORIAL:
        (folder / name).write_text(FILES[name])
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    done = run(*pip, "--target", folder / "installed", ".", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_tutorial_tests_pass(tutorial: Path) -> None:
    done = run(sys.executable, "-m", "pytest", "-q", cwd=tutorial, path=tutorial / "installed")
    assert done.returncode == 0, done.stdout


def test_the_tutorial_plugin_is_listed(tutorial: Path) -> None:
    mooring = Path(sys.executable).with_name("mooring")
    done = run(mooring, "plugins", cwd=tutorial, path=tutorial / "installed")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "RackAffinity" in line)
    assert "rack-affinity" in line


def test_the_tutorial_is_typed(tutorial: Path) -> None:
    done = run(sys.executable, "-m", "mypy", "--strict", "rack_affinity.py", cwd=tutorial)
    assert done.returncode == 0, done.stdout


def test_every_marked_file_is_used() -> None:
    assert sorted(FILES) == sorted([*TUTORIAL, "client.py"])
