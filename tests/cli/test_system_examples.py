"""The examples of published systems: what their READMEs show is what their commands print."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cluster.api.client import ApiServer
from tests.cli.commands import BIN, ROOT, call, environment

SYSTEMS = ROOT / "deploy" / "examples" / "systems"
OF_MOORING = re.compile(r"mooring (?P<argv>[^|]*?) ?(?P<errors>2>/dev/null|2>&1)?(?: \| (?P<filter>.*))?")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[Path, str, str]]:
    """Folder, command and expected output of every `mooring` command that needs no cluster and ends."""
    for readme in sorted(SYSTEMS.glob("*/README.md")):
        for block in CONSOLE.findall(readme.read_text()):
            for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = entry.partition("\n")
                if re.search(r"(\bmooring|_scheduler\.py) (schedule|explain|config|plugins)\b", command):
                    yield readme.parent, command, output


def is_one_process(command: str) -> bool:
    """Return whether the command needs no other process of mooring."""
    of_mooring = OF_MOORING.fullmatch(command)
    return of_mooring is not None and "mooring " not in (of_mooring["filter"] or "")


@pytest.mark.parametrize(
    ("folder", "command", "output"),
    [
        # A command of the shell is a process of mooring, which takes a second to start.
        pytest.param(
            *case,
            id=f"{case[0].name}: {case[1]}",
            marks=() if is_one_process(case[1]) else pytest.mark.slow,
        )
        for case in shown()
    ],
)
def test_the_output_shown_is_the_real_one(
    folder: Path,
    command: str,
    output: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    of_mooring = OF_MOORING.fullmatch(command)
    if of_mooring is None:
        printed = shell(command)
    else:
        result = call(capsys, *shlex.split(of_mooring["argv"]))
        printed = result.err + result.out if of_mooring["errors"] == "2>&1" else result.out
        if of_mooring["filter"]:
            printed = shell(of_mooring["filter"], printed)
    assert [line.rstrip() for line in printed.splitlines()] == output.splitlines()


def shell(command: str, given: str = "") -> str:
    """Return the output of a shell command; `mooring` is a process of its own there."""
    path = {"PATH": f"{BIN}:{environment()['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command],
        input=given,
        env=environment(path),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout


def test_every_system_has_an_example_with_commands() -> None:
    folders = {readme.parent.name for readme in SYSTEMS.glob("*/README.md")}
    assert {folder.name for folder, _, _ in shown()} == folders


def test_a_kubeconfig_without_a_user_can_be_loaded() -> None:
    published = ApiServer.from_kubeconfig(SYSTEMS / "s3-underlay-ip" / "kubeconfig.yaml")
    assert published.address == "http://127.0.0.1:8080"
