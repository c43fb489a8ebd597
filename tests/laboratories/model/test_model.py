"""The model of a binding's protocol: its invariants hold in every state, and the code does what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mooring.cluster.binding import KubernetesBinder
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.group_commit import GroupCommitter
from mooring.runtime.commit.reservations import Reservation, Stage
from tests.laboratories import long_runs
from tests.laboratories.model import __main__ as command
from tests.laboratories.model.checker import Model, check, walks
from tests.laboratories.model.driving import drive
from tests.laboratories.model.in_flight import in_flight
from tests.laboratories.model.protocol import binding
from tests.laboratories.model.states import Rules

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(("faults", "states"), [(0, 6_993), pytest.param(1, 850_337, marks=pytest.mark.slow)])
def test_every_invariant_holds_in_every_state(faults: int, states: int) -> None:
    checked = check(binding(Rules(faults)))
    assert (checked.violation, checked.stuck, checked.complete) == ("", 0, True)
    assert checked.states == states


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "counting at once"])
def test_a_rule_that_counts_pods_holds_behind_kube_scheduler(waits: bool) -> None:
    checked = check(in_flight(2, waits=waits))
    assert (checked.violation, checked.stuck, checked.complete) == ("", 0, True)


def test_filter_calls_that_know_nothing_of_pods_in_flight_break_the_rule() -> None:
    assert check(in_flight(0, waits=False, counts=False)).violation == "more pods than the rule allows"


@pytest.mark.parametrize(
    ("rule", "faults", "violation"),
    [
        ("bindings_end_with_the_lease", 1, "was given away"),
        ("leaders_are_current", 1, "two pods in one place"),
        ("open_outcomes_keep_the_lease", 2, "was given away"),
        ("unknown_keeps_the_place", 2, "was given away"),
    ],
)
def test_a_rule_that_is_left_out_is_missed(rule: str, faults: int, violation: str) -> None:
    checked = check(binding(replace(Rules(faults), **{rule: False})))
    assert violation in checked.violation
    assert len(checked.trace) == checked.levels - 1


def walked(first: int, count: int) -> dict[int, str]:
    model, seeds = Model(binding(Rules(command.WALK_FAULTS))), range(first, first + count)
    return drive(model, dict(zip(seeds, walks(model, seeds, command.WALK_LENGTH), strict=True)))


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_the_code_does_what_the_model_does(count: int) -> None:
    assert walked(0, count) == {}


def test_a_walk_does_not_depend_on_the_others() -> None:
    model = Model(binding(Rules(command.WALK_FAULTS)))
    (alone,), (_, beside) = walks(model, [7], 12), walks(model, [3, 7], 12)
    assert [one.id for one in alone.actions] == [one.id for one in beside.actions]


def unknown_is_released(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_leaves_it_open", lambda *_: False)


def reads_are_trusted_blindly(patch: Patch) -> None:
    patch.setattr(KubernetesBinder, "_is_bound", lambda *_: True)


def a_second_rejection_decides(patch: Patch) -> None:
    send = BindingCycle.send_binding

    def forgetful(cycle: BindingCycle, reservation: Reservation, *rest: Any) -> Any:
        reservation.stage = Stage.BINDING
        return send(cycle, reservation, *rest)

    patch.setattr(BindingCycle, "send_binding", forgetful)


def the_lease_is_not_looked_at(patch: Patch) -> None:
    patch.setattr(BindingCycle, "require_leader", lambda _: None)


def the_place_is_not_looked_at(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_check_place", lambda *_: None)


def reservations_outlive_their_pods(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_resolve_one", lambda *_: None)


def a_release_keeps_the_place(patch: Patch) -> None:
    def release(cycle: BindingCycle, reservation: Reservation) -> None:
        cycle.reservations.remove_reservation(reservation)

    patch.setattr(BindingCycle, "release_reservation", release)


def a_bound_pod_keeps_its_reservation(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_confirm", lambda *_: None)


def half_a_group_stays_reserved(patch: Patch) -> None:
    patch.setattr(GroupCommitter, "_release", lambda *_: None)


def a_caller_who_left_binds(patch: Patch) -> None:
    bind = Committer.bind_pod

    def endless(committer: Committer, *args: Any, **fields: Any) -> Any:
        return bind(committer, *args, **{**fields, "progress": None})

    patch.setattr(Committer, "bind_pod", endless)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug",
    [
        unknown_is_released,
        reads_are_trusted_blindly,
        a_second_rejection_decides,
        the_lease_is_not_looked_at,
        the_place_is_not_looked_at,
        reservations_outlive_their_pods,
        a_release_keeps_the_place,
        a_bound_pod_keeps_its_reservation,
        half_a_group_stays_reserved,
        a_caller_who_left_binds,
    ],
)
def test_walks_find_a_bug_that_is_put_back(bug: Callable[[Patch], None], monkeypatch: Patch) -> None:
    bug(monkeypatch)
    assert any(walked(first, 50) for first in range(0, 1_000, 50))


@pytest.mark.slow
def test_a_run_goes_on_from_its_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ledger.jsonl"
    for _ in range(2):
        assert command.main(["--walks", "3", "--ledger", str(file)]) == 0
    assert [one.first for one in long_runs.read(file, command.Driven)] == [0, 3]
    assert "ever: 6 walks" in capsys.readouterr().out
    assert command.main(["--faults", "0"]) == 0
