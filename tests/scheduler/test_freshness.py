"""A leader decides while its state is young enough, and not a moment longer."""

from __future__ import annotations

import time

import pytest

from mooring.app.freshness import FreshLeadership, Freshness
from mooring.audit.trail import AuditTrail
from mooring.cluster.sources.static import SampleSource
from mooring.cluster.state import State
from mooring.framework.handle import AlwaysLeader

MAX_STALENESS = 8.0


class SilentSource(SampleSource):
    """A cluster that was heard of at some moment, and then no more."""

    heard_at = 100.0
    asked = 0

    @property
    def staleness(self) -> float:
        self.asked += 1
        return time.monotonic() - self.heard_at


@pytest.fixture
def source() -> SilentSource:
    return SilentSource(State())


def leads_at(leadership: FreshLeadership, moment: float, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(time, "monotonic", lambda: moment)
    return leadership.is_leader()


@pytest.mark.parametrize(
    "looked_at", [0.0, 7.0, 7.95, 8.0], ids=lambda seconds: f"looked at after {seconds} s"
)
def test_leads_to_the_moment(looked_at: float, source: SilentSource, monkeypatch: pytest.MonkeyPatch) -> None:
    leadership = FreshLeadership(AlwaysLeader(), Freshness(source, MAX_STALENESS), AuditTrail())
    assert leads_at(leadership, source.heard_at + looked_at, monkeypatch)
    assert leads_at(leadership, source.heard_at + MAX_STALENESS, monkeypatch)
    assert not leads_at(leadership, source.heard_at + MAX_STALENESS + 0.01, monkeypatch)


def test_leads_again_once_something_is_heard(source: SilentSource, monkeypatch: pytest.MonkeyPatch) -> None:
    leadership = FreshLeadership(AlwaysLeader(), Freshness(source, MAX_STALENESS), AuditTrail())
    assert not leads_at(leadership, source.heard_at + 9.0, monkeypatch)
    source.heard_at += 9.0
    assert leads_at(leadership, source.heard_at, monkeypatch)


def test_the_age_is_read_when_it_may_have_become_too_high(
    source: SilentSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks each kind of objects that is watched, which costs more than a call about a pod should."""
    freshness, start = Freshness(source, MAX_STALENESS), source.heard_at
    for tenths in range(150):
        monkeypatch.setattr(time, "monotonic", lambda now=start + tenths / 10: now)
        if tenths == 70:
            source.heard_at += 7.0
        assert freshness.stale() == ""
    assert source.asked == 2
