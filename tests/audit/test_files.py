"""The files of the audit log keep whole lines, whatever happens to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mooring.audit.files import RotatingFile, with_rotated
from tests.audit.events import Disk, lines_of


def line(number: int) -> bytes:
    return b"%08d\n" % number


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        pytest.param(0, [[6]], id="no full file is kept"),
        pytest.param(1, [[3, 4, 5], [6]], id="one is kept"),
        pytest.param(5, [[0, 1, 2], [3, 4, 5], [6]], id="all are kept"),
    ],
)
def test_a_full_file_makes_way(keep: int, kept: list[list[int]], tmp_path: Path) -> None:
    with closing(RotatingFile(tmp_path / "log", 27, keep)) as log:
        for number in range(7):
            log.append(line(number))
    files = with_rotated(tmp_path / "log")
    assert [[int(each) for each in lines_of(file)] for file in files] == kept
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_line_longer_than_a_file_is_written_whole(tmp_path: Path) -> None:
    with closing(RotatingFile(tmp_path / "log", 10, 1)) as log:
        log.append(line(1))
        log.append(b"x" * 30 + b"\n")
    assert lines_of(tmp_path / "log") == [b"x" * 30]


def test_on_a_full_disk_no_part_of_a_line_stays(tmp_path: Path) -> None:
    disk = Disk(30)
    with closing(RotatingFile(tmp_path / "log", 1000, 1, disk.opened)) as log:
        for number in range(3):
            log.append(line(number))
        with pytest.raises(OSError, match="No space left"):
            log.append(line(3))
        assert lines_of(tmp_path / "log") == [b"00000000", b"00000001", b"00000002"]
        disk.room = 1000
        log.append(line(4))
    assert lines_of(tmp_path / "log")[-1] == b"00000004"


def test_the_unfinished_line_of_a_killed_process_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(line(0) + b"0000")
    with closing(RotatingFile(tmp_path / "log", 1000, 1)) as log:
        log.append(line(1))
    assert lines_of(tmp_path / "log") == [b"00000000", b"0000", b"00000001"]


@pytest.mark.parametrize(
    "away", [Path.unlink, lambda path: path.rename(f"{path}.old")], ids=["deleted", "moved"]
)
def test_a_file_that_is_away_is_made_again(away: Callable[[Path], object], tmp_path: Path) -> None:
    with closing(RotatingFile(tmp_path / "log", 1000, 1)) as log:
        log.append(line(0))
        away(tmp_path / "log")
        log.append(line(1))
    assert lines_of(tmp_path / "log") == [b"00000001"]


def test_a_pipe_is_rejected_and_nothing_waits_for_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    with pytest.raises(OSError, match=r"No such device|not a regular file"):
        RotatingFile(tmp_path / "log", 1000, 1)
