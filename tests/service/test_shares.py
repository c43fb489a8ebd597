"""A greedy client, or role, leaves others their share of every limit."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]  # ships no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no types
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.errors import ResourceExhaustedError
from mooring.service.calls.slots import SlotProgress, _SlotJob, _Turns
from mooring.serving import shares
from mooring.serving.access.access import Access, BuiltIn, CurrentCall
from mooring.serving.access.clients import Client
from mooring.serving.calls.errors import failure_of
from mooring.serving.calls.pools import CallPool
from mooring.serving.shares import HALF_LIFE_SECONDS, KEPT, Claimant, Level, ProcessorShares, Shares
from tests.examples import examples
from tests.process import until

READERS = [Claimant(f"reader-{at}", Level.ASKING) for at in range(10)]
SCHEDULER = Claimant("scheduler", Level.CHANGING)
ALONE = "anybody"
"""A client without a level: no policy is in force."""


def taken_by(shares: Shares, clients: list[Claimant]) -> int:
    """Return the sum that these clients get, one after the other, until no room is left."""
    count = 0
    while able := [client for client in clients if shares.has_room(client)]:
        for client in able:
            if shares.has_room(client):
                shares.take(client)
                count += 1
    return count


@pytest.mark.parametrize(
    ("first", "second", "parts"),
    [
        pytest.param(READERS, [SCHEDULER], (24, 8), id="readers leave a quarter"),
        pytest.param(
            [SCHEDULER, Claimant("binder", Level.CHANGING)], READERS, (28, 4), id="others leave an eighth"
        ),
    ],
)
def test_a_level_borrows_what_is_idle_but_for_the_part_that_is_kept(
    first: list[Claimant], second: list[Claimant], parts: tuple[int, int]
) -> None:
    shares = Shares("places", 32)
    assert (taken_by(shares, first), taken_by(shares, second)) == parts


def test_without_levels_three_quarters_are_for_one_client_and_all_for_several() -> None:
    shares = Shares("places", 32)
    while shares.has_room(ALONE):
        shares.take(ALONE)
    assert shares.taken == 24
    while shares.has_room("another"):
        shares.take("another")
    assert shares.taken == 32


@given(st.lists(st.tuples(st.sampled_from([*READERS[:3], SCHEDULER]), st.integers(-5, 5)), max_size=60))
@examples(100)
def test_counts_add_up_and_what_is_kept_is_there(steps: list[tuple[Claimant, int]]) -> None:
    shares, held = Shares("places", 40), Counter[Hashable]()
    for client, amount in steps:
        change = max(amount, -held[client])
        if change < 0 or shares.has_room(client, change):
            shares.take(client, change)
            held[client] += change
    assert shares.taken == held.total() == sum(map(shares.of_level, Level)) <= 40
    for level, part in KEPT.items():
        idle = max(0, 40 // part - shares.of_level(level))
        others = sum(shares.of_level(other) for other in Level if other is not level)
        assert others + shares.of_level(level) <= 40 - idle


def test_a_place_that_comes_free_goes_to_the_level_with_less() -> None:
    """Ten readers wait, each for longer than the scheduler, which is next all the same."""
    pool = CallPool("questions", 8, lambda: None)
    deadline = time.monotonic() + 600
    for client in (*READERS[:6], SCHEDULER, SCHEDULER):
        pool.enter(client, deadline)
    served: list[Claimant] = []
    lock = threading.Lock()

    def wait(client: Claimant) -> None:
        pool.enter(client, deadline)
        with lock:
            served.append(client)

    with ThreadPoolExecutor(4) as callers:
        waiting = []
        for client in (*READERS[6:9], SCHEDULER):
            waiting.append(callers.submit(wait, client))
            until(lambda: len(pool._turns) == len(waiting))
        pool.leave(READERS[0])
        until(lambda: served)
        assert served == [SCHEDULER]
        for client in READERS[1:4]:
            pool.leave(client)
        for each in waiting:
            each.result()
    assert pool.places.of_level(Level.ASKING) == 5


@pytest.mark.parametrize("greed", [1, 10, 100])
def test_a_greedy_role_takes_no_turns_from_another(greed: int) -> None:
    """Between two jobs of the scheduler at most one of others runs, however many wait."""
    turns = _Turns()
    for at in range(greed * 10):
        turns.add(job(READERS[at % len(READERS)]))
    own = [job(SCHEDULER) for _ in range(10)]
    for each in own:
        turns.add(each)
    order = list(turns.all())
    positions = [order.index(each) for each in own]
    assert all(position <= 2 * at + 1 for at, position in enumerate(positions))


@pytest.mark.parametrize("greed", [1, 10, 100])
def test_a_greedy_client_takes_no_turns_from_its_own_role(greed: int) -> None:
    turns = _Turns()
    for _ in range(greed * 10):
        turns.add(job(READERS[0]))
    own = [job(READERS[1]) for _ in range(10)]
    for each in own:
        turns.add(each)
    order = list(turns.all())
    assert [order.index(each) for each in own] == [2 * at + 1 for at in range(10)]


def job(client: Claimant) -> _SlotJob:
    return _SlotJob(lambda _: None, SlotProgress(float("inf")), client)


@pytest.mark.parametrize("other", [READERS[1], SCHEDULER], ids=["its own role", "another role"])
def test_who_used_the_processor_waits_for_who_did_not(other: Claimant) -> None:
    turns = _Turns()
    turns.used.add(READERS[0], 1.0)
    for client in (READERS[0], READERS[0], other, other):
        turns.add(job(client))
    assert [each.client for each in turns.all()] == [other, other, READERS[0], READERS[0]]


@pytest.mark.parametrize("idle", [1_000, 100_000], ids=["an hour later", "days later"])
def test_processor_time_ages_and_the_clients_that_used_least_are_forgotten(
    monkeypatch: pytest.MonkeyPatch, idle: int
) -> None:
    now = [0.0]
    monkeypatch.setattr(shares, "time", SimpleNamespace(monotonic=lambda: now[0]))
    used = ProcessorShares()
    used.add(READERS[0], 4.0)
    now[0] += 3 * HALF_LIFE_SECONDS
    used.add(SCHEDULER, 1.0)
    assert used.of(SCHEDULER) == 2 * used.of(READERS[0])
    for at in range(shares.MOST_CLIENTS):
        used.add(at, 0.001)
    now[0] += idle * HALF_LIFE_SECONDS
    used.add(READERS[1], 1.0)
    assert used.of(READERS[1]) == used.of_level(Level.ASKING) == 1.0
    assert used.of(SCHEDULER) < 1e-9
    assert used.seconds == {Level.ASKING: 5.0, Level.CHANGING: 1.0, None: pytest.approx(1.024)}


def test_a_client_that_is_over_is_told_when_to_come_back() -> None:
    pool = CallPool("questions", 1, lambda: None)
    pool.enter(SCHEDULER, time.monotonic() + 600)
    with pytest.raises(ResourceExhaustedError, match=r"retry after \d") as rejected:
        pool.enter(SCHEDULER, time.monotonic())
    assert pool.places.rejections == {Level.CHANGING: 1}
    details = Status.FromString(failure_of(rejected.value).details).details
    (told,) = [each for each in details if each.Is(RetryInfo.DESCRIPTOR)]
    pause = RetryInfo()
    told.Unpack(pause)
    assert pause.retry_delay.ToMicroseconds() == round(rejected.value.retry_seconds * 1e6) > 0


class Leveled(BuiltIn):
    """Gives every client a level, like a policy."""

    def level(self, client: Client) -> Level:
        return Level.ASKING


@pytest.mark.parametrize(
    ("authorizer", "claimant"),
    [
        pytest.param(BuiltIn(), ("cn:x",), id="no policy"),
        pytest.param(Leveled(), Claimant(("cn:x",), Level.ASKING), id="a policy"),
    ],
)
def test_limits_count_for_the_client_with_its_level(authorizer: BuiltIn, claimant: Hashable) -> None:
    assert CurrentCall(Client(("cn:x",)), Access(authorizer)).claimant == claimant


JOB, CALLS = 0.05, 2_000
"""Seconds of work of a call on average, and how many the others make."""


def p99_of_others(times: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the 99th percentile of the others' seconds from call to answer, on four threads.

    Five clients share what these can do. Four use half of their shares. The fifth uses ``times`` its share.
    """
    now, dice, turns = [0.0], Random(1), _Turns()
    monkeypatch.setattr(shares, "time", SimpleNamespace(monotonic=lambda: now[0]))
    share = 4 / JOB / 5
    came: dict[int, float] = {}
    numbers = count()
    took: list[float] = []
    coming = [(dice.expovariate(share / 2), at) for at in range(1, 5)] + [(0.0, 0)]
    working: list[tuple[float, int, float, _SlotJob]] = []
    heapify(coming)
    while len(took) < CALLS:
        if working and working[0][0] <= coming[0][0]:
            now[0], _, seconds, done = heappop(working)
            turns.used.add(done.client, seconds)
            if done.client != READERS[0]:
                took.append(now[0] - came.pop(id(done)))
        else:
            now[0], at = heappop(coming)
            called = job(READERS[at])
            came[id(called)] = now[0]
            turns.add(called)
            heappush(coming, (now[0] + dice.expovariate(share * (0.5 if at else times)), at))
        while len(working) < 4 and (following := turns.next()) is not None:
            seconds = JOB * dice.uniform(0.5, 1.5)
            heappush(working, (now[0] + seconds, next(numbers), seconds, following))
    return sorted(took)[int(0.99 * len(took))]


def test_a_client_at_ten_times_its_share_slows_others_by_half_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert p99_of_others(10, monkeypatch) <= 1.5 * p99_of_others(0.5, monkeypatch)
