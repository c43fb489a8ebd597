"""The soak stays playable: a tiny round of each row, the ledger, and the command."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.cli.commands import ROOT, write_config
from tests.laboratories.soak import __main__ as command
from tests.laboratories.soak import ledger, machine, rights, skew, slopes
from tests.laboratories.soak.rounds import Played, Round, Row, play
from tests.laboratories.soak.rows import ROWS

PROCESSES = ("A12", "C1", "C5", "G1", "G3", "G4", "G5", "G5d", "G5f", "G8")
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
    assert {*table, "F8", "F9", "G1", "G2", "G4", "G5", "H1", "H2", "H6"} <= {*ROWS}
    assert {row.id for row in (*machine.ROWS, *skew.ROWS)} <= {*ROWS}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("2026 ERROR forged", id="a line of its own"),
        pytest.param("bind pod=\x1b[31mred", id="a colour"),
        pytest.param("bind pod=a\u2028b", id="a line separator"),
        pytest.param("x" * 20_000, id="a long name"),
        pytest.param("authorization: Bearer secret-1", id="a token"),
    ],
)
def test_a_log_that_a_caller_wrote_into_is_seen(line: str) -> None:
    rights.check_log("I1130 a line\n")
    with pytest.raises(AssertionError):
        rights.check_log(f"I1130 a line\n{line}\n")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"grown": 100.0}, id="memory"),
        pytest.param({"threads": 20}, id="threads"),
        pytest.param({"descriptors": 20}, id="descriptors"),
    ],
)
def test_things_that_pile_up_are_seen(more: dict[str, float]) -> None:
    flat = slopes.Slice(60.0, 0.5, 1.0, 0, 0, 100)
    slopes.check(flat, 48.0)
    with pytest.raises(AssertionError):
        slopes.check(msgspec.structs.replace(flat, **more), 48.0)


@pytest.mark.slow
def test_a_server_that_leaks_is_seen(tmp_path: Path) -> None:
    profile = {"plugins": {"filter": {"enabled": [{"name": slopes.Leaking.name}]}}}
    config = write_config(tmp_path / "config.yaml", profile)
    plugin = f"{slopes.__name__}:{slopes.Leaking.__name__}"
    flags = ("--config", str(config), "--plugin", plugin)
    slice_ = slopes.measured(45.0, *flags, twins={"PYTHONPATH": str(ROOT)})
    # As many calls as come; a fifth of them come after the first third.
    assert slice_.grown > 0.02 * slice_.calls, slice_


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
