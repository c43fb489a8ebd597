"""The make targets explain themselves, and say what is missing."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tools.install import Progress

ROOT = Path(__file__).parents[2]
TARGETS = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()


def make(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_target_has_a_line_in_help() -> None:
    lines = make("help").stdout.splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(TARGETS)
    assert [line for line in lines if len(line.split()) < 3] == []


def test_help_is_plain_in_a_pipe_and_coloured_on_a_terminal() -> None:
    assert "\033" not in make("help").stdout
    reader, writer = pty.openpty()
    subprocess.run(["make", "help"], cwd=ROOT, stdout=writer, check=True)
    os.close(writer)
    assert b"\033[1mhelp" in os.read(reader, 4096)
    os.close(reader)


def test_help_is_what_make_does_by_itself() -> None:
    assert make().stdout == make("help").stdout


def test_a_missing_python_is_a_clear_error(tmp_path: Path) -> None:
    done = make("-C", tmp_path, "-f", ROOT / "Makefile", "PYTHON=", ".venv/bin/python")
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr


@pytest.mark.parametrize(
    ("lines", "doing"),
    [
        pytest.param([], "starting pip", id="nothing yet"),
        pytest.param(
            ["Collecting attrs==1 (from x)", "  Collecting numpy>=2"], "package 2: numpy", id="packages"
        ),
        pytest.param(
            ["Installing collected packages: a, b, c"], "writing the files of 3 packages", id="files"
        ),
        pytest.param(
            ["  Building editable for mooring: started"], "building editable for mooring", id="building"
        ),
        pytest.param(["Collecting a", "  Downloading a.whl (1 kB)"], "package 1: a", id="other lines"),
    ],
)
def test_the_installation_says_what_it_does(lines: list[str], doing: str) -> None:
    progress = Progress()
    for line in lines:
        progress.read(line)
    assert progress.doing == doing


def test_modules_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in make("--eval", "seen:; @env", "seen").stdout


def test_targets_that_the_documents_name_exist() -> None:
    text = "".join(file.read_text() for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    named = set(re.findall(r"^\$ make ([a-z0-9-]+)|`make ([a-z0-9-]+)", text, re.MULTILINE))
    assert {first or second for first, second in named} <= set(TARGETS)


def test_ci_runs_tests_checks_end_to_end_tests_and_the_gate() -> None:
    assert (
        "for target in test test-slow test-clients test-packaging test-web check e2e bench-gate; do"
        in (ROOT / ".ci" / "run").read_text()
    )
