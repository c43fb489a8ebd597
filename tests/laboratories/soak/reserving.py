"""Rows D: places that run out, and reservations that anything may happen to."""

from __future__ import annotations

from collections import Counter

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from mooring.framework import BindOutcome
from mooring.framework.errors import InvalidArgumentError, PermissionDeniedError
from tests.fake_api_server import Answer
from tests.laboratories.soak.binding import manifests, some_fault
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.runtime.committing import BINDING, failing, manifest
from tests.runtime.reservation_model import Reserving


def last_ip_race(round_: Round) -> None:
    """Far more pods than room, from several clients; exactly as many win as there is room."""
    dice = round_.dice
    for _ in range(round_.some(4, 8)):
        nodes, room = dice.randint(5, 50), dice.randint(1, 2)
        with round_.binding(nodes=nodes, room=room) as world:
            pods = world.add(*manifests(nodes * room * dice.randint(2, 10)))
            ended = at_once(dice.randint(2, 16), world.place, pods)
            assert ended.count(BindOutcome.BOUND) == nodes * room
            round_.faults += len(ended) - nodes * room


def ip_churn_1to1(round_: Round) -> None:
    """As many pods as room, recreated again and again under faults; all are bound each time."""
    dice, nodes, room = round_.dice, round_.dice.randint(5, 20), round_.dice.randint(2, 8)
    with round_.binding(nodes=nodes, room=room, timeout_seconds=0.5, settling_seconds=1.0) as world:
        for turn in range(round_.some(10, 20)):
            names = {f"p{at}": f"uid-{turn}-{at}" for at in range(nodes * room)}
            pods = world.add(*(manifest(name, uid=uid) for name, uid in names.items()))
            for _ in range(dice.randrange(4)):
                path = f"/p{dice.randrange(len(names))}{BINDING}"
                world.fake.faults.on("POST", path, some_fault(dice), times=1)
            for _ in range(10):
                at_once(8, world.place, pods)
                world.settle(60.0)
                pods = [pod for name in names if not (pod := world.pod(name)).spec.node_name]
                if not pods:
                    break
            assert pods == [], f"turn {turn}: a place has leaked"
            for name in names:
                world.fake.remove("Pod", name)
            world.sync()


def reserve_every_exit(round_: Round) -> None:
    """A failure at any step gives everything back, exactly once."""
    dice = round_.dice
    for _ in range(round_.some(15, 30)):
        released: list[str] = []
        point, way = (
            dice.choice(("reserve", "permit", "pre_bind", "bind")),
            dice.choice(("rejects", "raises")),
        )
        with round_.binding(failing(point, way, released), nodes=2, room=20) as world:
            pods = world.add(*manifests(dice.randint(1, 20)))
            if point == "bind":
                world.fake.faults.on("POST", BINDING, Answer(403 if way == "rejects" else 422))
            ended = at_once(dice.randint(1, 8), world.place, pods)
            assert not any(isinstance(end, BindOutcome) for end in ended)
            assert Counter(released) == Counter(pod.metadata.uid for pod in pods), f"{way} at {point}"
            round_.faults += len(pods)


def unreserve_forged(round_: Round) -> None:
    """Wrong names with the victim's UID, and other owners, free nothing."""
    dice, count = round_.dice, round_.some(100, 200)
    with round_.binding(nodes=4, room=count) as world:
        committer, profile = world.committer, world.engine.profile()
        pods = world.add(*manifests(count))
        for pod in pods:
            assert committer.reserve_pod(pod, f"n{dice.randrange(4)}", profile, owner="me").status.ok
        for _ in range(count * 5):
            victim = dice.choice(pods)
            name, uid = victim.metadata.name, victim.metadata.uid
            if dice.random() < 0.5:
                namespace, other = dice.choice((("default", "nobody"), ("kube-system", name)))
                with pytest.raises(InvalidArgumentError):
                    committer.unreserve_pod(namespace, other, uid, owner=dice.choice(("", "me", "you")))
            else:
                with pytest.raises(PermissionDeniedError):
                    committer.unreserve_pod("default", name, uid, owner=dice.choice(("", "you")))
            round_.faults += 1
        assert len(committer.reservations) == count, "a forged call freed a place"
        for pod in pods:
            assert committer.unreserve_pod("default", pod.metadata.name, pod.metadata.uid, owner="me")
        round_.inputs += count * 7


def reserve_idempotent(round_: Round) -> None:
    """Any order of calls, repeated and late ones among them, does what the model does."""
    examples, steps = round_.some(30, 60), 40
    settings = hypothesis.settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, database=None
    )
    run_state_machine_as_test(hypothesis.seed(round_.seed)(Reserving), settings=settings)
    round_.inputs += examples * steps


ROWS = (
    Row("D1", "last_ip_race", last_ip_race),
    Row("D2", "ip_churn_1to1", ip_churn_1to1),
    Row("D3", "reserve_every_exit", reserve_every_exit),
    Row("D4", "unreserve_forged", unreserve_forged),
    Row("D5", "reserve_idempotent", reserve_idempotent),
)
