"""The tables of past and seeded bugs name tests that exist."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from tests.laboratories.past_bugs import __main__ as command
from tests.laboratories.soak.rows import ROWS


def test_each_past_bug_is_shown_by_a_test_that_there_is() -> None:
    missing, bugs = list[str](), command.past_bugs()
    for bug in bugs:
        file, *parts = bug.shown_by.split("::")
        name, _, case = parts[-1].rstrip("]").partition("[") if parts else ("test_", "", "")
        if bug.row:
            there = bug.row in ROWS
        else:
            path = command.ROOT / file
            text = path.read_text() if path.exists() else ""
            function = rf"^{'    ' * (len(parts) - 1)}(async )?def {name}"
            there = bool(re.search(function, text, re.MULTILINE)) and (not case or f'id="{case}"' in text)
        if not there:
            missing.append(f"{bug.id}: {bug.shown_by}")
    assert missing == []
    assert [name for name, count in Counter(bug.id for bug in bugs).items() if count > 1] == []
    # Every row of both tables is read.
    before = command.before_the_mends()
    assert before.keys() <= {bug.id for bug in bugs}
    table = re.findall(r"^\| [A-Z]\d", command.TABLE.read_text(), re.MULTILINE)
    assert len(bugs) + len(before) == len(table)
    assert len(bugs) > 140


@pytest.mark.parametrize(
    ("code", "fails"), [pytest.param("HEAD^", True, id="before"), pytest.param("HEAD", False, id="mended")]
)
def test_a_test_is_run_on_the_code_of_an_earlier_commit(code: str, fails: bool, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for file, text in {
        "server/halves.py": "def half(of): return of // 3",
        "tests/test_halves.py": "from halves import half\nfrom names import BIG\n"
        "def test_half(): assert half(BIG) == 5",
    }.items():
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    git("add", ".")
    git("commit", "--message", "bug")
    (tmp_path / "server/halves.py").write_text("def half(of): return of // 2")
    (tmp_path / "server/names.py").write_text("BIG = 10")
    git("add", ".")
    git("commit", "--message", "mend")
    row = command.BeforeTheMend("X1", code, "HEAD", "tests/test_halves.py::test_half")
    assert row.report(tmp_path)[0] is fails


def test_what_does_not_fail_on_the_earlier_code_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    report = [(True, "1 failed"), (False, "1 passed")]
    with mock.patch.object(command.BeforeTheMend, "report", side_effect=report):
        assert command.main(["E1", "E2", "S10", "--then"]) == 1
    assert re.findall(r"^(\w+): (.*)", capsys.readouterr().out, re.MULTILINE) == [
        ("E1", "fails on 0e042c25^"),
        ("E2", "DOES NOT FAIL on 0e042c25^"),
        ("S10", "only a test of today shows it"),
    ]


def test_the_seeded_bugs_are_those_of_the_table() -> None:
    found = list(command.seeded_bugs())
    told = re.findall(r"^\| `(\w+)` \| (\w+) \|$", command.TABLE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted((bug, laboratory) for laboratory, bug in found)
    assert len(set(found)) >= 40


def test_a_command_runs_what_shows_a_bug() -> None:
    with mock.patch("subprocess.call", return_value=0) as called:
        assert command.main(["E1", "S1", "--seeded"]) == 0
    tests, soak = (call.args[0][1:] for call in called.call_args_list)
    shown_by = "::test_scores_are_stretched_anew_when_one_node_becomes_feasible_for_another"
    assert any(test.endswith(shown_by) for test in tests)
    assert "tests/laboratories/soak/test_known_bugs.py" in tests
    assert (soak[1], soak[-1]) == ("tests.laboratories.soak", "S1")
