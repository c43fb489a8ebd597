"""Liveness covers whatever holds the state's lock, and readiness the events that wait for it."""

from __future__ import annotations

import logging
import threading

import pytest

from mooring.app import lock_watch
from mooring.app.freshness import Freshness
from mooring.app.lock_watch import LockWatch
from mooring.serving.listeners.probes import Probes
from tests.cluster.following import QUICK, following, pod
from tests.fake_api_server import FakeApiServer
from tests.process import until


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_watch, "LONGEST_SECONDS", 0.0)
    monkeypatch.setattr(lock_watch, "LOOK_SECONDS", 0.01)


def test_a_lock_that_is_held_is_a_fault_until_it_is_free(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    lock = threading.RLock()
    with LockWatch(lock) as watch:
        probes = Probes(fault=watch.fault, ready=lambda: "")
        with lock:
            until(probes.not_alive, "liveness to fail")
            assert "s, by thread MainThread" in probes.not_ready()
        until(lambda: not probes.not_alive(), "liveness to be back")
    assert "liveness is back" in caplog.text


def test_an_event_that_waits_for_the_lock_ends_readiness_and_is_named() -> None:
    with FakeApiServer() as fake, following(fake, QUICK) as live:
        freshness = Freshness(live.source, max_staleness=0.1)
        probes = Probes(fault=lambda: "", ready=freshness.not_ready)
        with live.state.lock:
            fake.add(pod("p"))
            until(lambda: "an event of pods has been waiting to be written" in probes.not_ready(), "the text")
            (status,) = live.source.describe()
            assert status.lag > 0.1
            assert probes.not_alive() == ""
        live.wait_equal()
        (status,) = live.source.describe()
        assert status.lag == 0.0
