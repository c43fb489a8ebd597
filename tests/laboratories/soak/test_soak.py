"""The soak stays playable: a tiny round of each row, the ledger, and the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laboratories.soak import __main__ as command
from tests.laboratories.soak import ledger
from tests.laboratories.soak.rounds import Played, Round, Row, play
from tests.laboratories.soak.rows import ROWS

PROCESSES = ("A12", "C1", "C5", "G4", "G5", "G5d", "G5f")
"""Rows that start programs; what they share with the tests of these is tested there."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.id not in PROCESSES], ids=lambda row: row.id
)
def test_a_tiny_round(row: Row) -> None:
    played = play(row, Round(seed=1, size=0.05, heals_within=30.0))
    assert played.violation == ""
    assert played.binds + played.faults + played.inputs > 0


def test_every_row_of_the_table_is_played() -> None:
    table = [
        f"{part}{at}"
        for part, count in (("A", 13), ("B", 10), ("C", 6), ("D", 5), ("E", 12), ("F", 6), ("S", 6))
        for at in range(1, count + 1)
    ]
    assert {*table, "F8", "F9", "G2", "G4", "G5"} <= {*ROWS}


@pytest.mark.slow
def test_it_goes_on_from_its_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SEEDS", 1)
    file = tmp_path / "ledger.jsonl"
    for runs in (1, 2):
        assert command.main(["--row=C2", "--minutes=0", "--size=0.05", f"--ledger={file}"]) == 0
        played = ledger.read(file)
        assert [entry.row for entry in played] == ["C2"] * runs
    assert len({entry.seed for entry in played}) == 2, "seeds are fresh"
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.jsonl"], (
        "logs stay only where something failed"
    )
    total = ledger.totals(played)["C2"]
    assert (total.rounds, total.inputs) == (2, sum(entry.inputs for entry in played))
    assert f"{total.inputs:,}" in capsys.readouterr().out


def test_a_violation_fails_it_and_says_how_to_see_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        command, "play", lambda row, seeds, size, _: [Played(row.id, seeds[0], size, 0, 0, 0, 1.0, "I1")]
    )
    arguments = ["--row=A2", "--seed=7", f"--ledger={tmp_path / 'ledger.jsonl'}"]
    assert command.main(arguments) == 1
    assert "--row A2 --seed 7 --size 1" in capsys.readouterr().out


def test_the_row_with_the_least_time_is_next() -> None:
    rows = [ROWS[name] for name in ("A1", "A2", "A3")]
    spent = [Played("A1", 0, 1.0, 0, 0, 0, 5.0), Played("A3", 0, 1.0, 0, 0, 0, 3.0)]
    assert command.next_row(rows, [], spent).id == "A2"
    assert command.next_row(rows, [Played("A2", 0, 1.0, 0, 0, 0, 1.0)], spent).id == "A3"
