"""The election: one leader at a time, whatever happens to clocks, processes and requests."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .electing import TIMES, FakeStore, SkewedClock, election, unavailable
from .fakes import FakeClock


def test_the_first_takes_it_and_the_second_waits() -> None:
    clock, store = FakeClock(), FakeStore()
    first, second = election(store, "first", clock), election(store, "second", clock)
    assert (first.try_to_lead(), second.try_to_lead()) == (True, False)
    for _ in range(20):
        clock.advance(2)
        assert (first.try_to_lead(), second.try_to_lead()) == (True, False)
    assert second.leader() == "first"
    assert store.spec["leaseTransitions"] == 0


def test_two_leaders() -> None:
    """C1: a leader that is stopped for 60 s no longer leads once it reads the clock."""
    clock, store = FakeClock(), FakeStore()
    paused, other = election(store, "paused", clock), election(store, "other", clock)
    paused.try_to_lead()
    for _ in range(30):
        other.try_to_lead()
        clock.advance(2)
        assert not (paused.is_leader() and other.is_leader())
    assert (paused.is_leader(), other.is_leader()) == (False, True)
    assert (paused.try_to_lead(), paused.is_leader(), other.try_to_lead()) == (False, False, True)
    assert store.spec["leaseTransitions"] == 1


@pytest.mark.parametrize("skew", [3600.0, -3600.0], ids=["an hour ahead", "an hour behind"])
@given(
    rate=st.floats(1 / 1.45, 1.45),
    turns=st.lists(st.tuples(st.sampled_from("abcx"), st.floats(0.0, 9.0)), max_size=60),
)
def test_lease_clock(skew: float, rate: float, turns: list[tuple[str, float]]) -> None:
    """C2: dates don't matter, nor does a clock that runs faster or slower by less than lease/renew."""
    true, store = FakeClock(), FakeStore()
    replicas = {
        "a": election(store, "a", SkewedClock(true)),
        "b": election(store, "b", SkewedClock(true, skew=skew)),
        "c": election(store, "c", SkewedClock(true, rate)),
    }
    for name, seconds in turns:
        true.advance(seconds)
        store.fault = unavailable if name == "x" else lambda: None
        for replica in replicas.values() if name == "x" else [replicas[name]]:
            replica.try_to_lead()
        assert sum(replica.is_leader() for replica in replicas.values()) <= 1


def test_a_leader_that_hears_nothing_stops_before_the_others_begin() -> None:
    clock, store = FakeClock(), FakeStore()
    leader = election(store, "leader", clock)
    leader.try_to_lead()
    store.fault = unavailable
    led = 0
    while leader.is_leader():
        clock.advance(2)
        assert not leader.try_to_lead()
        led += 2
    assert led == TIMES.renew_deadline


def test_a_leader_that_was_replaced_waits_like_everybody_else() -> None:
    clock, store = FakeClock(), FakeStore()
    first, second = election(store, "first", clock), election(store, "second", clock)
    first.try_to_lead()
    second.try_to_lead()
    clock.advance(60)
    assert second.try_to_lead()
    clock.advance(1)
    assert (first.try_to_lead(), first.try_to_lead()) == (False, False)
    assert second.is_leader()


def test_a_renewal_whose_answer_was_lost_is_read_again() -> None:
    clock, store = FakeClock(), FakeStore()
    leader = election(store, "leader", clock)
    leader.try_to_lead()
    assert store.lease is not None
    store.replace_lease(copy.deepcopy(store.lease))
    clock.advance(2)
    assert leader.try_to_lead()


def test_whatever_a_server_sends_the_election_goes_on() -> None:
    clock, store = FakeClock(), FakeStore()
    replica = election(store, "replica", clock)
    store.lease = {"metadata": {"resourceVersion": "1"}, "spec": {"leaseTransitions": "many"}}
    assert not replica.try_to_lead()
    store.lease = None
    assert replica.try_to_lead()


def test_a_released_lease_is_taken_at_once() -> None:
    clock, store = FakeClock(), FakeStore()
    first, second = election(store, "first", clock), election(store, "second", clock)
    first.try_to_lead()
    first.stop()
    assert store.spec["holderIdentity"] == ""
    assert not first.is_leader()
    assert second.try_to_lead()


def test_what_others_wrote_into_the_lease_stays() -> None:
    clock, store = FakeClock(), FakeStore()
    leader = election(store, "leader", clock)
    leader.try_to_lead()
    assert store.lease is not None
    store.lease["spec"]["strategy"] = "OldestEmulationVersion"
    store.replace_lease(store.lease)
    leader.try_to_lead()
    assert store.spec["strategy"] == "OldestEmulationVersion"
    assert store.spec["leaseDurationSeconds"] == 15
