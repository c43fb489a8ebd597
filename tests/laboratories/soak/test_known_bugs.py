"""G7, harness_self_test: bugs that others had are put back; the soak sees each of them within a few seeds."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.cluster.api.connection import ApiRequest
from mooring.cluster.binding import KubernetesBinder
from mooring.cluster.sources.kubernetes.history import History
from mooring.cluster.sources.kubernetes.reflector import Reflector
from mooring.framework import Pod
from mooring.framework.errors import FailedPreconditionError
from mooring.runtime.commit.binding_cycle import BindingCycle
from mooring.runtime.commit.committer import Committer
from mooring.runtime.commit.extension_points import Commit
from mooring.runtime.commit.reservations import Reservation
from mooring.scheduler.leadership import LeaderElection
from tests.good_client import ROOT
from tests.laboratories.soak import machine, overload, planted, skew, slopes
from tests.laboratories.soak.rounds import AT_END, Round, Row, play
from tests.laboratories.soak.rows import ROWS

TRIES = 10
SIZE = 0.2

Patch = pytest.MonkeyPatch


def wrap(patch: Patch, owner: type, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by ``around``, whose first argument is the method as it was."""
    inner = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **fields: around(inner, *args, **fields))


def no_uid_in_the_binding(patch: Patch) -> None:
    def request(inner: Any, binder: KubernetesBinder, pod: Pod, node_name: str) -> ApiRequest:
        sent: ApiRequest = inner(binder, pod, node_name)
        binding = json.loads(sent.data or b"")
        binding["metadata"].pop("uid")
        return replace(sent, data=json.dumps(binding).encode())

    wrap(patch, KubernetesBinder, "_request", request)


def release_of_what_is_unknown(patch: Patch) -> None:
    patch.setattr(BindingCycle, "_leaves_it_open", lambda *_: False)


def leak_on_a_conflict(patch: Patch) -> None:
    def release(inner: Any, *args: Any) -> None:
        if not isinstance(sys.exception(), FailedPreconditionError):
            inner(*args)

    wrap(patch, BindingCycle, "release_reservation", release)


def success_that_nobody_checked(patch: Patch) -> None:
    patch.setattr(KubernetesBinder, "_is_bound", lambda *_: True)


def a_lease_that_never_ends(patch: Patch) -> None:
    patch.setattr(LeaderElection, "is_leader", lambda self: self._has_led)


def bindings_without_the_lease(patch: Patch) -> None:
    patch.setattr(BindingCycle, "require_leader", lambda _: None)
    wrap(patch, KubernetesBinder, "_request", lambda inner, *args: replace(inner(*args), before=None))


def a_loop_after_410(patch: Patch) -> None:
    def attempt(inner: Any, reflector: Any) -> Any:
        pause = inner(reflector)
        if "forgot" in reflector._list_needed:
            reflector._list_needed = ""
        return pause

    wrap(patch, Reflector, "_attempt", attempt)


def losses_that_are_not_repaired(patch: Patch) -> None:
    patch.setattr(Reflector, "relist", lambda *_: None)


def lists_that_go_back(patch: Patch) -> None:
    patch.setattr(Reflector, "_compare", lambda *_: None)


def histories_that_are_never_given_up(patch: Patch) -> None:
    patch.setattr(History, "roll_back", lambda *_: None)


def two_releases(patch: Patch) -> None:
    wrap(patch, Commit, "unreserve", lambda inner, *args: (inner(*args), inner(*args)))


def a_release_that_keeps_the_place(patch: Patch) -> None:
    def release(self: BindingCycle, reservation: Reservation) -> None:
        reservation.commit.unreserve(self.engine.calls(reservation.commit.profile))
        self.reservations.remove_reservation(reservation)

    patch.setattr(BindingCycle, "release_reservation", release)


def a_name_that_is_not_checked(patch: Patch) -> None:
    def unreserve(
        inner: Any, committer: Committer, _namespace: str, _name: str, uid: str, **fields: Any
    ) -> Any:
        found = committer.reservations.find_reservation(uid)
        key = found.commit.pod.metadata if found else None
        return inner(committer, key.namespace, key.name, uid, **fields) if key else False

    wrap(patch, Committer, "unreserve_pod", unreserve)


@pytest.mark.parametrize(
    ("bug", "row", "seen"),
    [
        pytest.param(bug, row, seen, id=bug.__name__)
        for bug, row, seen in (
            (no_uid_in_the_binding, "A6", "POD_RECREATED"),
            (release_of_what_is_unknown, "A2", "I2"),
            (leak_on_a_conflict, "A4", "I4"),
            (success_that_nobody_checked, "A10", "I3"),
            (a_lease_that_never_ends, "C2", "two lead"),
            (bindings_without_the_lease, "C1", "a binding without the lease"),
            (a_loop_after_410, "B2", "a fresh list after 410"),
            (losses_that_are_not_repaired, "B3", "what the server has"),
            (lists_that_go_back, "B7", "it went back"),
            (histories_that_are_never_given_up, "T13", "what the server has"),
            (two_releases, "D3", "at "),
            (a_release_that_keeps_the_place, "D3", "I4"),
            (a_name_that_is_not_checked, "D4", "reserved by another client"),
        )
    ],
)
def test_a_known_bug_is_seen(
    bug: Callable[[Patch], None], row: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    rounds = (play(ROWS[row], Round(seed, SIZE, heals_within=2.0)) for seed in range(TRIES))
    violation = next((played.violation for played in rounds if played.violation), "")
    assert seen in violation


def in_processes(patch: Patch, bug: Callable[[], None]) -> str:
    """Put a bug into every process that is started; return its path for modules."""
    folder = Path(AT_END.enter_context(tempfile.TemporaryDirectory()))
    begin = f"from {bug.__module__} import {bug.__name__}\n{bug.__name__}()\n"
    (folder / "sitecustomize.py").write_text(begin)
    path = os.pathsep.join(map(str, (folder, ROOT)))
    patch.setenv("PYTHONPATH", path)
    patch.setitem(overload.PLUGIN_PATH, "PYTHONPATH", path)
    return path


def a_leak(patch: Patch) -> None:
    in_processes(patch, planted.calls_leave_memory_behind)


def bodies_without_end(patch: Patch) -> None:
    in_processes(patch, planted.bodies_stay)


def clients_without_shares(patch: Patch) -> None:
    in_processes(patch, planted.clients_are_one)


def a_renamed_method(patch: Patch) -> None:
    path = in_processes(patch, planted.filter_has_another_name)
    patch.delenv("PYTHONPATH")
    patch.setattr(skew, "former", lambda: {"PYTHONPATH": path})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "row", "size", "seen"),
    [
        pytest.param(a_leak, Row("G1", "", slopes.load_soak), 0.5, "MB more in", id="G1"),
        pytest.param(
            bodies_without_end,
            Row("G3", "", machine.memory_pressure),
            1.0,
            "the process was ended",
            id="G3",
            marks=pytest.mark.skipif("G3" not in ROWS, reason="no memory cgroup can be made"),
        ),
        pytest.param(a_renamed_method, Row("G8", "", skew.old_and_new), 0.1, "is not offered", id="G8"),
        pytest.param(clients_without_shares, Row("F11", "", overload.greedy_client), 1.0, "", id="F11"),
    ],
)
def test_a_bug_in_a_process_is_seen(
    bug: Callable[[Patch], None], row: Row, size: float, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    violation = play(row, Round(1, size)).violation
    assert violation
    assert seen in violation
