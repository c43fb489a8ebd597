"""Interleavings are repeated by their seeds, and find races that are put back."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from mooring.cluster.binding import KubernetesBinder
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.scheduler.scheduler import Scheduler
from tests.laboratories import long_runs
from tests.laboratories.interleavings import __main__ as command
from tests.laboratories.interleavings import committing
from tests.laboratories.interleavings.rounds import PLAYS, Played, play, play_forked
from tests.laboratories.interleavings.turns import (
    Condition,
    DeadlockError,
    Lock,
    Turns,
    taking_turns,
)

Patch = pytest.MonkeyPatch


def test_every_invariant_holds() -> None:
    logging.disable(logging.ERROR)
    played = play("scheduler", 1)
    logging.disable(logging.NOTSET)
    assert (played.found, played.interleavings > 0) == ("", True)


@pytest.mark.slow
@pytest.mark.parametrize("scene", PLAYS)
def test_a_seed_repeats(scene: str) -> None:
    """Each round is a copy of one process, which has no other threads."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        one, other = pool.map(play_forked, [scene] * 2, [1] * 2)
    assert (one.found, one.interleavings > 0) == ("", True)
    assert (other.found, other.switches) == ("", one.switches)


@pytest.mark.slow
def test_events_overtake_others_watches_begin_again_and_answers_are_late() -> None:
    with taking_turns():
        met = sum((committing.play_one(f"met/{number}").met for number in range(64)), Counter[str]())
    assert all(met[what] > 10 for what in (*committing.FAULTS, "overtaken", "reconnected")), met


def test_a_lost_update_is_found() -> None:
    """Two threads that add to a number without a lock, and with one."""

    def after(locked: bool, seed: int) -> int:
        number, lock, turns = [0], Lock(), Turns(seed)

        def add() -> None:
            if locked:
                lock.acquire()
            before = number[0]
            turns.point()
            number[0] = before + 1
            if locked:
                lock.release()

        turns.run([add, add])
        return number[0]

    assert {after(locked=False, seed=seed) for seed in range(40)} == {1, 2}
    assert {after(locked=True, seed=seed) for seed in range(40)} == {2}


def test_a_deadlock_is_found() -> None:
    one, other = Lock(), Lock()

    def take(first: Lock, second: Lock) -> Callable[[], None]:
        def work() -> None:
            with first, second:
                pass

        return work

    found = 0
    for seed in range(40):
        one, other = Lock(), Lock()
        try:
            Turns(seed).run([take(one, other), take(other, one)])
        except DeadlockError:
            found += 1
    assert 0 < found < 40


def test_time_passes_only_when_nothing_else_can_happen() -> None:
    turns, changed, order = Turns(0), Condition(), list[str]()

    def wait() -> None:
        with changed:
            order.append("told" if changed.wait(5.0) else "late")
            order.append("told" if changed.wait(5.0) else "late")

    def tell() -> None:
        turns.sleep(1.0)
        with changed:
            changed.notify_all()

    turns.run([wait, tell])
    assert (order, turns.now) == (["told", "late"], 1006.0)
    assert Turns.active is None
    assert threading.current_thread() is threading.main_thread()


def places_are_given_away_at_once(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_is_settled", lambda *_: True)


def outcomes_are_not_looked_for(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_resolve_one", lambda *_: 1.0)


def half_the_requests_are_trusted(patch: Patch) -> None:
    patch.setattr(KubernetesBinder, "_is_bound", lambda *_: True)


def failed_pods_are_forgotten(patch: Patch) -> None:
    patch.setattr(Scheduler, "_undecided", lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "scene"),
    [
        (places_are_given_away_at_once, "commits"),
        (outcomes_are_not_looked_for, "commits"),
        (half_the_requests_are_trusted, "commits"),
        (failed_pods_are_forgotten, "scheduler"),
    ],
)
def test_a_race_that_is_put_back_is_found(
    bug: Callable[[Patch], None], scene: str, monkeypatch: Patch
) -> None:
    bug(monkeypatch)
    assert any(play(scene, seed).found for seed in range(40))


@pytest.mark.slow
def test_a_run_goes_on_from_its_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ledger.jsonl"
    long_runs.append(file, Played("commits", 6, 8, 100, 1.0))
    assert command.main(["--minutes", "0.01", "--scene", "commits", "--ledger", str(file)]) == 0
    assert [one.seed for one in long_runs.read(file, Played)][:2] == [6, 7]
    assert "ever, commits" in capsys.readouterr().out
    assert set(PLAYS) == {"engine", "commits", "scheduler"}
