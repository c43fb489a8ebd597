"""The examples of published systems: what their READMEs show is what their commands print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cluster.api.client import ApiServer
from tests.cli.commands import BIN, ROOT, environment

SYSTEMS = ROOT / "deploy" / "examples" / "systems"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[Path, str, str]]:
    """Folder, command and expected output of every `mooring` command that needs no cluster and ends."""
    for readme in sorted(SYSTEMS.glob("*/README.md")):
        for block in CONSOLE.findall(readme.read_text()):
            for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = entry.partition("\n")
                if re.search(r"(\bmooring|_scheduler\.py) (schedule|explain|config|plugins)\b", command):
                    yield readme.parent, command, output


@pytest.mark.parametrize(
    ("folder", "command", "output"),
    [pytest.param(*case, id=f"{case[0].name}: {case[1]}") for case in shown()],
)
def test_the_output_shown_is_the_real_one(folder: Path, command: str, output: str) -> None:
    path = {"PATH": f"{BIN}:{environment()['PATH']}"}
    run = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment(path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert [line.rstrip() for line in run.stdout.splitlines()] == output.splitlines(), run.stderr


def test_every_system_has_an_example_with_commands() -> None:
    folders = {readme.parent.name for readme in SYSTEMS.glob("*/README.md")}
    assert {folder.name for folder, _, _ in shown()} == folders


def test_a_kubeconfig_without_a_user_can_be_loaded() -> None:
    published = ApiServer.from_kubeconfig(SYSTEMS / "s3-underlay-ip" / "kubeconfig.yaml")
    assert published.address == "http://127.0.0.1:8080"
