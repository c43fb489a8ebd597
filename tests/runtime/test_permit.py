"""Waiting at Permit: verdicts of other threads during a pod's plugin calls count."""

from __future__ import annotations

from mooring.framework import SUCCESS, Status
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.profiles.waiting_pods import PodAtPermit, PodsAtPermit
from mooring.testing.builders import make_pod
from tests.plugins.harness import SetClock

POD = make_pod()
UID = POD.metadata.uid


def asked() -> tuple[PodsAtPermit, PodAtPermit]:
    room, waiting = PodsAtPermit(), PodAtPermit(POD, "n", SetClock())
    room.ask(waiting)
    return room, waiting


def test_a_pod_whose_plugins_are_being_asked_can_be_told_but_waits_not_yet() -> None:
    room, waiting = asked()
    assert (room.get(UID), list(room), room.waits(UID)) == (waiting, [], False)
    room.begin(waiting, {"Gang": 60.0})
    assert (room.get(UID), list(room), room.waits(UID)) == (waiting, [waiting], True)
    room.leave(UID)
    assert (room.get(UID), list(room), room.waits(UID)) == (None, [], False)


def test_who_was_allowed_before_it_waited_goes_on_at_once() -> None:
    room, waiting = asked()
    waiting.allow("Gang")
    room.begin(waiting, {"Gang": 60.0})
    assert room.wait(UID, NoDeadline().check) == SUCCESS


def test_a_word_for_one_plugin_is_none_for_another() -> None:
    room, waiting = asked()
    waiting.allow("Gang")
    room.begin(waiting, {"Gang": 60.0, "Quota": 60.0})
    assert waiting.pending_plugins() == ("Quota",)


def test_who_was_rejected_before_it_waited_is_not_bound() -> None:
    room, waiting = asked()
    assert waiting.reject("Gang", "not all are there")
    room.begin(waiting, {"Gang": 60.0})
    assert room.wait(UID, NoDeadline().check) == Status.unschedulable("not all are there").by("Gang")
