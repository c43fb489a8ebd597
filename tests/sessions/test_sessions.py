"""Sessions over a live state that other clients write to, and the reasons for their end."""

from __future__ import annotations

import copy
import gc
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from mooring.app.engine import Core, build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.cluster.journal import Journal
from mooring.cluster.kinds import Put, Remove
from mooring.framework.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
)
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.placing import place_alike
from mooring.sessions.sessions import MAX_LEASE_SECONDS, OBJECT_BYTES, Quota, Session, Sessions
from mooring.sessions.versions import CHANGE_BYTES
from mooring.testing import make_node, make_pod
from tests.cluster.histories import content
from tests.process import until

OPTIONS = EngineOptions()
REGISTRY = registry_of(OPTIONS)
CONFIGURATION = configuration_of(OPTIONS, REGISTRY)
NAMES = [f"n{at}" for at in range(20)]
PROFILE = "default-scheduler"


def labelled(dice: Random, name: str) -> Any:
    return make_node(name, labels={"zone": f"z{dice.randrange(3)}"})


def made(quota: Quota | None = None) -> tuple[Core, Sessions]:
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    core.state.replace("test", [make_node(name) for name in NAMES])
    return core, Sessions(LiveState(core, OPTIONS), quota)


def write(core: Core, number: int) -> None:
    """Change the cluster."""
    dice = Random(number)
    for at in range(150):
        name = f"w{number}-{at}"
        match dice.choice(("placed", "forgotten", "node", "gone", "pod")):
            case "node":
                core.state.apply("test", [Put(labelled(dice, dice.choice(NAMES)))])
            case "gone":
                core.state.apply("test", [Remove("Node", "", dice.choice(NAMES))])
            case "pod":
                core.state.apply("test", [Put(make_pod(name, node=dice.choice(NAMES)))])
            case which:
                pod = make_pod(name, requests={"cpu": "50m"})
                core.engine.place(pod, core.engine.profile(PROFILE), ALL_NODES, seed=at)
                if which == "forgotten":
                    core.state.forget(pod.metadata.uid)


def play(core: Core, sessions: Sessions, number: int) -> int:
    """Open sessions, change them, and go back; return the number of comparisons with their beginnings."""
    dice, template = Random(number), make_pod("template", requests={"cpu": "100m"})
    for round_ in range(12):
        with core.state.lock:
            session, began = sessions.open(), copy.deepcopy(content(core.state))
        for step in range(dice.randint(1, 3)):
            names = [f"s{number}-{round_}-{step}-{at}" for at in range(dice.randint(1, 20))]
            with sessions.working(session, NoDeadline()) as work:
                templates = [(template, work.engine.profile(PROFILE))]
                place_alike(work, templates, [0] * len(names), names, names)
                if dice.random() < 0.3 and (there := sorted(work.tree.snapshot.nodes.index)):
                    work.tree.remove_node(dice.choice(there))
        sessions.revert(session, 0)
        with sessions.trying(session, NoDeadline()) as work:
            assert content(work.tree) == began  # type: ignore[arg-type]  # it is a state
        sessions.close(session)
    return 12


def test_sessions_keep_what_they_began_with_while_others_write() -> None:
    core, sessions = made()
    with ThreadPoolExecutor(5) as threads:
        writing = [threads.submit(write, core, number) for number in range(2)]
        playing = [threads.submit(play, core, sessions, number) for number in range(3)]
        for each in writing:
            each.result()
        assert [each.result() for each in playing] == [12] * 3
    assert len(sessions) == 0
    # Work trees are at the last versions until they are dropped.
    sessions._trees.drop()
    assert sessions.size == 0


def test_a_session_that_nobody_asks_about_ends_and_takes_its_changes_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mooring.sessions.sessions._REAP_SECONDS", 0.01)
    core, sessions = made()
    session = sessions.open(lease=0.02)
    with sessions.working(session, NoDeadline()) as work:
        work.tree.remove_node("n0")
    until(lambda: len(sessions) == 0)
    with pytest.raises(NotFoundError, match="its lease may have ended"):
        sessions.find(session.id)
    until(lambda: core.state._writer.journal is None)
    del session, work
    assert sessions.size == 0
    assert "n0" in core.state.snapshot.nodes.index


def test_a_session_ends_once_its_beginning_is_no_longer_known(monkeypatch: pytest.MonkeyPatch) -> None:
    core, sessions = made()
    monkeypatch.setattr(core.state._writer, "journal", Journal(length=4))
    old, other = sessions.open(), sessions.open()
    for number in range(20):
        core.state.apply("test", [Put(make_node(f"more-{number}"))])
    with pytest.raises(FailedPreconditionError, match="open another one"), sessions.trying(old, NoDeadline()):
        pass
    new = sessions.open()
    with sessions.trying(new, NoDeadline()) as work:
        assert len(work.tree.snapshot.nodes) == len(NAMES) + 20
    sessions.close(other)


def test_a_session_belongs_to_who_opened_it() -> None:
    _, sessions = made()
    session = sessions.open("cn:one")
    with pytest.raises(PermissionDeniedError, match="another client"):
        sessions.find(session.id, "cn:two")
    assert sessions.find(session.id, "cn:one") is session
    anybodys = sessions.open()
    assert sessions.find(anybodys.id, "cn:two") is anybodys


def test_sessions_nest_so_deep_and_no_deeper() -> None:
    _, sessions = made(Quota(depth=3))
    session = sessions.open()
    for _ in range(3):
        session = sessions.open(origin=session)
    with pytest.raises(Exception, match="4 sessions were opened from each other; 3 may be"):
        sessions.open(origin=session)


@pytest.mark.parametrize(
    ("clients", "open_at_the_end"),
    [
        pytest.param("aaaaaaaaaa", {"a": 6}, id="one client has three quarters"),
        pytest.param("aaaaaaaabbb", {"a": 5, "b": 3}, id="another gets the rest, and more of those"),
        pytest.param("aaaaaabbbbbb", {"a": 4, "b": 4}, id="two have half each"),
        pytest.param(
            "aaaaaabbccc", {"a": 3, "b": 2, "c": 3}, id="none loses one to a client that has as many"
        ),
    ],
)
def test_clients_share_the_sessions(clients: str, open_at_the_end: dict[str, int]) -> None:
    _, sessions = made(Quota(sessions=8))
    opened = []
    for each in clients:
        with suppress(FailedPreconditionError):
            opened.append(sessions.open(client=each))
    there = [each.client for each in opened if each.id in sessions._sessions]
    assert Counter(there) == open_at_the_end


def test_the_session_that_was_opened_first_gives_way() -> None:
    _, sessions = made(Quota(sessions=4))
    first, second, third, other = (sessions.open(client=each) for each in "aaab")
    sessions.open(client="c")
    with pytest.raises(NotFoundError, match="no such session"):
        sessions.find(first.id)
    assert [sessions.find(each.id) for each in (second, third, other)] == [second, third, other]


def remove(sessions: Sessions, session: Session, *names: str) -> None:
    with sessions.working(session, NoDeadline(), brought=100) as work:
        for name in names:
            work.tree.remove_node(name)


def test_clients_share_the_bytes() -> None:
    _, sessions = made(Quota(size=4_000))
    greedy, modest = sessions.open(client="a"), sessions.open(client="b")
    remove(sessions, greedy, "n0", "n1")
    with pytest.raises(
        FailedPreconditionError, match="4000 bytes of at most 4000, 4000 of them this client's"
    ):
        remove(sessions, greedy, "n2", "n3")
    remove(sessions, modest, "n4")


def test_bytes_count_for_as_long_as_a_session_is_made_of_them() -> None:
    _, sessions = made()
    first = sessions.open(client="a")
    remove(sessions, first, "n0", "n1", "n2")
    taken = sessions.size
    second = sessions.open(client="a", origin=first)
    sessions.close(first)
    del first
    sessions._trees.drop()
    assert (taken, sessions.size) == (3 * CHANGE_BYTES + 100 * OBJECT_BYTES, taken)
    sessions.close(second)
    del second
    assert sessions.size == 0


@pytest.mark.slow
def test_of_a_hundred_thousand_sessions_nothing_is_left() -> None:
    _, sessions = made()
    rejected, opened = 0, [sessions.open(lease=MAX_LEASE_SECONDS)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100_000):
            try:
                opened.append(sessions.open(lease=MAX_LEASE_SECONDS))
            except FailedPreconditionError:
                rejected += 1
        most = tracemalloc.get_traced_memory()[0] - before
        for session in opened:
            sessions.close(session)
        count = len(opened)
        del session, opened
        gc.collect()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    share = sessions.quota.sessions * 3 // 4
    assert (count, rejected) == (share, 100_001 - share)
    # A dict that was large stays so.
    assert left < most / 10


def test_a_node_that_is_gone_is_there_in_a_session_that_began_before() -> None:
    core, sessions = made()
    session = sessions.open()
    core.state.apply("test", [Remove("Node", "", name) for name in NAMES[1:]])
    version = core.state.version
    with sessions.working(session, NoDeadline()) as work:
        work.tree.assume(make_pod("p"), NAMES[1])
    with sessions.trying(session, NoDeadline()) as work:
        assert sorted(work.tree.snapshot.nodes.index) == sorted(NAMES)
    sessions.close(session)
    assert (core.state.version, list(core.state.snapshot.nodes.index)) == (version, NAMES[:1])
