"""The tables of past and seeded bugs name tests that exist."""

from __future__ import annotations

import re
from collections import Counter
from unittest import mock

from tests.laboratories.past_bugs import __main__ as command
from tests.laboratories.soak.rows import ROWS


def test_each_past_bug_is_shown_by_a_test_that_there_is() -> None:
    missing, bugs = list[str](), command.past_bugs()
    for bug in bugs:
        file, _, name = bug.shown_by.partition("::")
        if bug.row:
            there = bug.row in ROWS
        else:
            path = command.ROOT / file
            there = path.exists() and bool(re.search(rf"def {name or 'test_'}", path.read_text()))
        if not there:
            missing.append(f"{bug.id}: {bug.shown_by}")
    assert missing == []
    assert [name for name, count in Counter(bug.id for bug in bugs).items() if count > 1] == []
    # Every row of the table is read.
    table = re.findall(r"^\| [A-Z]\d", command.TABLE.read_text(), re.MULTILINE)
    assert len(bugs) == len(table) > 90


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
