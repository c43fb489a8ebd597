"""Results of contestants that take turns."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.laboratories.bench import turns
from tests.laboratories.bench.observed import Bindings
from tests.laboratories.bench.turns import TURN_SECONDS, Contestant, take_turns
from tests.process import Process

BINDER = """
import json, sys, time
from datetime import datetime, timezone
pods, seconds = int(sys.argv[2]), float(sys.argv[3])
for number in range(pods):
    time.sleep(seconds)
    at = datetime.now(timezone.utc).isoformat()
    about = {"name": f"pod-{number}", "subresource": "binding"}
    event = {"responseStatus": {"code": 201}, "objectRef": about, "stageTimestamp": at}
    with open(sys.argv[1], "a") as log:
        log.write(json.dumps(event) + chr(10))
"""


def _contestant(folder: Path, pods: int, seconds: float) -> tuple[Process, Contestant]:
    """Return a program that binds one pod every ``seconds`` seconds, and has begun."""
    log = folder / "audit.log"
    command = [sys.executable, "-c", BINDER, str(log), str(pods), str(seconds)]
    folder.mkdir()
    process = Process("binder", command, folder / "binder.log")
    bindings = Bindings(log)
    bindings.wait(1, 0.001)
    return process, Contestant({"scheduler": [process]}, bindings, pods)


def test_a_contestant_stands_still_until_it_is_its_turn(tmp_path: Path) -> None:
    process, contestant = _contestant(tmp_path / "only", 1000, 0.002)
    with process:
        before = (tmp_path / "only" / "audit.log").read_bytes()
        time.sleep(0.05)
        assert (tmp_path / "only" / "audit.log").read_bytes() == before
        contestant.take_turn()
        assert len((tmp_path / "only" / "audit.log").read_bytes()) > len(before)
        contestant.resume()


def test_what_was_asked_for_is_answered_before_a_contestant_stands_still(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    asking = Process("asking", ["sleep", "60"], tmp_path / "asking.log")
    answering = [sys.executable, "-c", BINDER, str(log), "1000", "0.002"]
    with asking, Process("answering", answering, tmp_path / "answering.log") as server:
        bindings = Bindings(log)
        bindings.wait(1, 0.001)
        before = bindings.count()
        contestant = Contestant({"scheduler": [asking], "server": [server]}, bindings, 1000)
        assert bindings.count() > before + 20
        contestant.resume()


def test_turns_go_on_until_all_are_done(tmp_path: Path) -> None:
    fast, slow = _contestant(tmp_path / "fast", 10, 0.002), _contestant(tmp_path / "slow", 40, 0.01)
    with fast[0], slow[0]:
        take_turns([fast[1], slow[1]])
        assert (fast[1].done, slow[1].done) == (True, True)
        for _, contestant in (fast, slow):
            contestant.resume()


def test_waiting_for_the_end_of_a_turn_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now, bound = 100.0, 0

    def sleep(seconds: float) -> None:
        nonlocal now, bound
        now, bound = now + seconds, 10

    monkeypatch.setattr(turns, "time", SimpleNamespace(time=lambda: now, sleep=sleep))
    bindings: Any = SimpleNamespace(count=lambda: bound, last=now + TURN_SECONDS / 5)
    contestant = Contestant({}, bindings, 10)
    contestant.take_turn()
    assert contestant.sample() == pytest.approx({"pods/s": 10 / (TURN_SECONDS / 5)})


def test_whose_program_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    process, contestant = _contestant(tmp_path / "only", 1000, 0.01)
    with process:
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="binder ended with exit code"):
            take_turns([contestant])
