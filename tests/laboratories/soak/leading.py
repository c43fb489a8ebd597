"""Rows C: the lease, the queue's clocks, a rival scheduler, and pods that break plugins."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from mooring.framework import BindOutcome, Pod
from mooring.testing import make_node, make_pod
from mooring.testing.builders import node_manifest
from tests.cli.schedulers import QUICK, ended, node_of, pending, scheduler, take_lease
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.binding import manifests
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.process import until
from tests.runtime.committing import hooked
from tests.scheduler.electing import FakeStore, SkewedClock, election, unavailable
from tests.scheduler.fakes import (
    HEARS_NODES,
    NODE_ADDED,
    FakeClock,
    Poisoned,
    new_queue,
    popped,
    reject,
    seconds_until_active,
)
from tests.scheduler.world import World

QUIET_SECONDS = 0.5
"""Seconds without news of a process that stands still."""


def two_leaders(round_: Round) -> None:
    """Stop the leader while another one takes the lease; it sends no more bindings."""
    deposed(round_)
    for _ in range(round_.some(1, 3)):
        stopped(round_)


def deposed(round_: Round) -> None:
    """The lease is lost at any step of many bindings; none is sent from then on."""
    dice = round_.dice

    class Deposed:
        leads = True

        def is_leader(self) -> bool:
            return self.leads

        def leader(self) -> str:
            return "the-other"

    for _ in range(round_.some(5, 10)):
        leadership = Deposed()
        left, lost = dice.randrange(1, 30), list[float]()

        def pass_by(_: Pod, leadership: Deposed = leadership, lost: list[float] = lost) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                leadership.leads = False
                lost.append(time.monotonic())

        plugin = hooked("pre_bind", pass_by)
        with round_.binding(plugin, nodes=3, room=30, leadership=leadership) as world:
            callers = dice.choice((1, 1, 4))
            said = at_once(callers, world.place, world.add(*manifests(30)))
            assert set(said) <= {BindOutcome.BOUND, "NOT_LEADER"}
            # A request that another thread had sent by then is on its way.
            late = [entry for entry in world.fake.history.bindings() if entry.call.at > lost[0]]
            assert len(late) < callers, "a binding without the lease"
            round_.faults += 1


def stopped(round_: Round) -> None:
    """As a process, stopped by a signal."""
    dice = round_.dice
    with tempfile.TemporaryDirectory() as name, FakeApiServer() as fake:
        fake.add(*(node_manifest(f"n{at}") for at in range(3)))
        with scheduler(fake, Path(name), *QUICK) as started:
            fake.add(*(pending(f"before-{at}") for at in range(dice.randint(1, 20))))
            until(lambda: node_of(fake, "before-0"), "the first binding")
            time.sleep(dice.random() * 0.2)
            started.process.send_signal(signal.SIGSTOP)
            wait_quiet(fake)
            stopped_at = time.monotonic()
            fake.add(*(pending(f"meanwhile-{at}") for at in range(dice.randint(1, 20))))
            time.sleep(dice.uniform(1.2, 6.0))
            take_lease(fake, "another")
            started.process.send_signal(signal.SIGCONT)
            assert ended(started) == 1
        late = [entry for entry in fake.history.bindings() if entry.call.at > stopped_at]
        assert late == [], "a binding after the lease ran out"
        round_.faults += 1
        round_.count(fake)


def wait_quiet(fake: FakeApiServer) -> None:
    """Until everything was taken in that had been sent, which on a busy machine takes its time."""
    heard, since = -1, time.monotonic()
    while time.monotonic() < since + QUIET_SECONDS:
        if heard != (heard := len(fake.history.bindings())):
            since = time.monotonic()
        time.sleep(0.02)


def lease_clock(round_: Round) -> None:
    """Replicas whose dates and clocks' rates differ, by less than lease/renew, are paused and cut off."""
    dice = round_.dice
    for _ in range(round_.some(100, 200)):
        true, store = FakeClock(), FakeStore()
        replicas = {
            "a": election(store, "a", SkewedClock(true)),
            "b": election(store, "b", SkewedClock(true, skew=dice.choice((3600.0, -3600.0)))),
            "c": election(store, "c", SkewedClock(true, dice.uniform(1 / 1.45, 1.45))),
        }
        for name in dice.choices("abcx", k=60):
            true.advance(dice.choice((dice.uniform(0, 9), dice.uniform(0, 1), 60.0)))
            store.fault = unavailable if name == "x" else lambda: None
            for replica in replicas.values() if name == "x" else [replicas[name]]:
                replica.try_to_lead()
            assert sum(replica.is_leader() for replica in replicas.values()) <= 1, "two lead"
            round_.faults += name == "x"
            round_.inputs += 1


def queue_backoff(round_: Round) -> None:
    """A pod that always fails backs off for the exact time, at any moment of a second; others continue."""
    for _ in range(round_.some(50, 100)):
        part = round_.dice.randrange(4) * 0.25
        clock = FakeClock(1_700_000_000.0 + round_.dice.randrange(10**6) + part)
        queue = new_queue(clock, HEARS_NODES)
        queue.add_pod(make_pod("failing"))
        for number, backoff in enumerate((1, 2, 4, 8, 10, 10, 10)):
            reject(queue)
            queue.move_pods(NODE_ADDED, None, None)
            queue.add_pod(make_pod(f"other-{number}"))
            assert popped(queue).pod.metadata.name == f"other-{number}"
            # The end is cut to the whole second, and the backoff lasts through that second.
            assert seconds_until_active(queue, clock) == backoff + 1 - part
            clock.time = int(clock.time) + part
            round_.inputs += 1


def unschedulable_flush(round_: Round) -> None:
    """No event comes; every pod is tried again after 5 minutes, at the latest after 5 min 30 s."""
    dice = round_.dice
    for _ in range(round_.some(10, 20)):
        clock = FakeClock()
        queue = new_queue(clock, HEARS_NODES)
        queue.move_due_pods()
        given_up: dict[str, float] = {}
        for number in range(dice.randint(1, 10)):
            clock.advance(dice.randrange(120) / 4)
            queue.move_due_pods()
            queue.add_pod(make_pod(f"p{number}"))
            given_up[reject(queue).pod.metadata.name] = clock.time
        while given_up:
            clock.advance(0.25)
            queue.move_due_pods()
            while (item := queue.pop()) is not None:
                assert 300 < clock.time - given_up.pop(item.sorted_as.metadata.name) <= 330.25
                round_.inputs += 1
            assert all(clock.time - since <= 331 for since in given_up.values()), "it is forgotten"


def second_scheduler_race(round_: Round) -> None:
    """A rival binds the same pods and fills the same nodes."""
    dice, room, share = round_.dice, round_.dice.randint(20, 60), round_.dice.uniform(0.1, 0.5)
    names = [f"p-{number}" for number in range(round_.some(200, 500))]
    with tempfile.TemporaryDirectory() as folder, FakeApiServer() as fake:
        fake.add(node_manifest("small", allocatable={"pods": room}))
        fake.add(*(node_manifest(f"n{at}", allocatable={"pods": len(names)}) for at in range(2)))
        api = fake.client()
        with scheduler(fake, Path(folder), "--leader-elect=false"):
            for name in names:
                fake.add(pending(name))
                if dice.random() < share:
                    body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
                    api.request("POST", f"/api/v1/namespaces/default/pods/{name}/binding", body=body)
                    round_.faults += 1
            until(lambda: all(node_of(fake, name) for name in names), "all bindings")
        bound = [uid for uid, _, _ in fake.history.accepted_bindings()]
        assert len(bound) == len(set(bound)) == len(names), "I1"
        own = [node for _, node, agent in fake.history.accepted_bindings() if agent.startswith("mooring")]
        assert own.count("small") <= room, "I2"
        round_.inputs += len(names)
        round_.count(fake)


def poison_pod(round_: Round) -> None:
    """Pods whose filter raises are parked with an event; all others are bound."""
    dice = round_.dice
    world = World(Poisoned, nodes=[make_node("a", allocatable={"pods": 5000})])
    names = [random_name(dice, at) for at in range(round_.some(100, 200))]
    for name in names:
        world.add(make_pod(name))
        if dice.random() < 0.1:
            world.wait(dice.randrange(1, 20))
    good = [name for name in names if name.startswith("good")]
    assert sorted(name for name, _ in world.cluster.bindings) == sorted(good)
    for name in set(names) - set(good):
        assert "FailedScheduling" in world.reasons(name)
        assert world.cluster.node_of(name) == ""
        round_.faults += 1
    round_.inputs += len(names)


def random_name(dice: random.Random, at: int) -> str:
    return f"poison-{at}" if dice.random() < 0.1 else f"good-{at}"


ROWS = (
    Row("C1", "two_leaders", two_leaders),
    Row("C2", "lease_clock", lease_clock),
    Row("C3", "queue_backoff", queue_backoff),
    Row("C4", "unschedulable_flush", unschedulable_flush),
    Row("C5", "second_scheduler_race", second_scheduler_race),
    Row("C6", "poison_pod", poison_pod),
)
