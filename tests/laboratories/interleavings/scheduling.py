"""Queue, deciding thread, binders and watch of the second scheduler, in an order that a seed decides."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from mooring.framework import BindOutcome, Node, Pod
from mooring.framework.errors import ResourceExhaustedError, UnavailableError
from mooring.testing import make_node, make_pod
from tests.laboratories.interleavings.committing import VirtualClock
from tests.laboratories.interleavings.turns import Turns, taking_turns
from tests.scheduler import world
from tests.scheduler.world import FakeCluster, World

RUNS = 32
"""Interleavings of a round."""

NODES, PODS, ROOM = 2, 6, 2
LONGEST = 400.0
"""Seconds after which no pod may wait that fits: the queue tries rejected pods every five minutes."""


class LateCluster(FakeCluster):
    """Its watch delivers bindings later, and bindings fail now and then."""

    turns: Turns
    undelivered: list[str]
    over = False

    def bind(self, pod: Pod, node_name: str) -> BindOutcome:
        self.turns.point()
        fault = "" if self.over else self.turns.dice.choice(("", "", "", "refused", "lost", "unanswered"))
        if fault == "refused":
            raise ResourceExhaustedError("busy", reason="OVERLOADED", pod=pod.key)
        if (
            fault != "lost"
            and pod.metadata.uid in self.pods
            and not self.named(pod.metadata.name).spec.node_name
        ):
            self.bindings.append((pod.metadata.name, node_name))
            self.bound(pod, node_name, deliver=False)
            self.undelivered.append(pod.metadata.uid)
        self.turns.point()
        if fault:
            raise UnavailableError("no answer", reason="API_SERVER_UNAVAILABLE")
        return BindOutcome.BOUND

    def watch(self) -> None:
        """Deliver bindings late; after a new connection, as a fresh list."""
        while True:
            self.turns.block(lambda: bool(self.undelivered))
            self.turns.sleep(0.01 + self.turns.dice.random())
            if self.turns.dice.random() < 0.2:
                with self._lock:
                    self.undelivered.clear()
                    self.state.replace(world.SOURCE, self.pods.values(), kind="Pod")
            elif (pod := self.pods.get(self.undelivered.pop(0))) is not None:
                self.put(pod)


def play(seed: int) -> list[int]:
    """Play some interleavings; return for each how often another thread got the turn.

    Raises:
        AssertionError: An invariant does not hold.
    """
    with taking_turns(world.__name__), pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "FakeCluster", LateCluster)
        return [_play(f"scheduler/{seed}/{number}", patch) for number in range(RUNS)]


def _play(seed: str, patch: pytest.MonkeyPatch) -> int:
    turns = Turns(seed)
    patch.setattr(world, "FakeClock", partial(VirtualClock, turns))
    patch.setattr(LateCluster, "turns", turns, raising=False)
    patch.setattr(LateCluster, "undelivered", [], raising=False)
    scene = World(nodes=[_node(number) for number in range(NODES)])
    cluster = scene.cluster
    assert isinstance(cluster, LateCluster)
    ended: list[str] = []

    def schedule() -> None:
        while len(ended) < 3:
            scene.scheduler._wake.clear()
            pause = scene.scheduler.try_next()
            scene.scheduler._wake.wait(min(pause, 5.0)) if pause > 0 else turns.point()

    def create() -> None:
        for number in range(PODS):
            scene.cluster.put(make_pod(f"p{number}", requests={"cpu": 1}, metadata={"uid": f"uid-{number}"}))
            turns.sleep(turns.dice.random())
        ended.append("create")

    def disturb() -> None:
        for number in range(4):
            turns.sleep(turns.dice.random() * 3)
            if turns.dice.random() < 0.5:
                scene.cluster.put(_node(turns.dice.randrange(NODES), beat=number))
            elif bound := [pod for pod in scene.cluster.pods.values() if pod.spec.node_name]:
                scene.cluster.remove(turns.dice.choice(bound))
        ended.append("disturb")

    def settle() -> None:
        turns.block(lambda: len(ended) == 2)
        cluster.over = True
        end = turns.now + LONGEST
        while turns.now < end and (_fit(scene) or len(scene.cycle.reservations)):
            turns.sleep(5.0)
        turns.sleep(2.0)
        scene.cycle.stop()
        ended.append("settle")

    turns.run([schedule, create, disturb, settle], daemons=[cluster.watch])
    _check(scene)
    return turns.switches


def _node(number: int, beat: int = 0) -> Node:
    labels = {"kubernetes.io/hostname": f"n{number}", "beat": str(beat)}
    return make_node(f"n{number}", allocatable={"cpu": ROOM, "pods": 10}, labels=labels)


def _fit(scene: World) -> list[str]:
    """Return the pods that wait although there is room."""
    pods = list(scene.cluster.pods.values())
    waiting = [pod.metadata.name for pod in pods if not pod.spec.node_name]
    return waiting if len(pods) - len(waiting) < NODES * ROOM else []


def _check(scene: World) -> None:
    twice = [name for name, count in Counter(name for name, _ in scene.cluster.bindings).items() if count > 1]
    assert not twice, f"I1: bound twice: {twice}"
    on = Counter(pod.spec.node_name for pod in scene.cluster.pods.values() if pod.spec.node_name)
    assert max(on.values(), default=0) <= ROOM, f"I2: more than there is room: {on}"
    assert not len(scene.cycle.reservations), "I4: reservations left"
    assert not _fit(scene), f"lost: {_fit(scene)} wait, and there is room"
    table = scene.state.snapshot.nodes
    free = {name for name, row in table.index.items() if table.requested[0, row] != 1000 * on[name]}
    assert not free, f"I4: amounts of {free} are not those of their pods"
