"""Rows A: bindings between which and the API server everything goes wrong."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

from mooring.framework import BindOutcome, Pod
from mooring.testing import make_node
from mooring.testing.builders import make_pod, pod_manifest
from tests.cluster.cutting import proxied
from tests.fake_api_server import Answer, Cut, Delay, FakeApiServer, Hang
from tests.fake_api_server.faults import Action
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.runtime.committing import BINDING, ROOM, UNKNOWN, Late, World, hooked, manifest
from tests.runtime.killed import POINTS
from tests.runtime.killing import kill_at

UNREAD = (Cut(), Answer(503), Answer(403), Answer(200, body=b"<html>"), Hang())
"""Faults that keep a pod from being read."""

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]}


def manifests(count: int) -> list[dict[str, Any]]:
    return [manifest(f"p{at}") for at in range(count)]


def recreate(world: World, name: str, **fields: Any) -> None:
    """The API server has another pod of that name, or the same one changed; the state doesn't know."""
    world.fake.remove("Pod", name)
    world.fake.add(manifest(name, **fields))


def bind_happy_status(round_: Round) -> None:
    """Nothing goes wrong, and every place is taken; the same seed decides the same (I6)."""
    nodes, room = round_.dice.randint(3, 20), round_.some(20, 60)
    with round_.binding(nodes=nodes, room=room) as world:
        ended = at_once(8, world.place, world.add(*manifests(nodes * room)))
        assert set(ended) == {BindOutcome.BOUND}
    assert decisions(round_.seed, nodes, room) == decisions(round_.seed, nodes, room), "I6"


def decisions(seed: int, nodes: int, room: int) -> list[str]:
    """Return the nodes that a few pods get, one after the other."""
    with Round(seed).binding(nodes=nodes, room=room) as world:
        for pod in world.add(*manifests(min(nodes * room, 20))):
            world.place(pod, seed=seed)
        return [node for _, node, _ in world.outcomes]


def some_fault(dice: random.Random) -> Action:
    """Something that a binding may meet."""
    after = dice.random() < 0.5
    return dice.choice(
        (
            Cut(after=after),
            Cut(after=True, at_byte=dice.randrange(1, 300)),
            Answer(dice.choice((500, 502, 503, 504)), after=after),
            Answer(429, retry_after=0),
            Answer(409),
            Hang(after=after),
            Delay(dice.random() * 0.8),
        )
    )


def bind_response_lost(round_: Round) -> None:
    """Faults of every kind under concurrent binds of more pods than fit, until every place is taken."""
    dice, nodes, room = round_.dice, round_.dice.randint(4, 10), round_.some(20, 40)
    count = nodes * room * 5 // 4
    with round_.binding(nodes=nodes, room=room, timeout_seconds=0.5, settling_seconds=1.0) as world:
        world.add(*manifests(count))
        for at in dice.sample(range(count), round(count * dice.uniform(0.3, 0.6))):
            world.fake.faults.on("POST", rf"/p{at}{BINDING}", some_fault(dice), times=1)
            if dice.random() < 0.5:
                world.fake.faults.on("GET", f"/p{at}$", dice.choice(UNREAD), times=2)
        orders = [(f"p{at}", dice.choice(("", f"n{dice.randrange(nodes)}"))) for at in range(count)]
        dice.shuffle(orders)
        for _ in range(30):
            at_once(8, lambda order: bind_or_place(world, *order), orders)
            world.settle(60.0)
            orders = [(name, "") for name, _ in orders if not world.pod(name).spec.node_name]
            if len(orders) <= count - nodes * room:
                break
        assert len(orders) <= count - nodes * room, "places are left that nobody gets"


def bind_or_place(world: World, name: str, node: str) -> BindOutcome | str:
    """Bind the pod to the node, or to one that is selected now."""
    pod = world.pod(name)
    return world.bind(pod, node) if node else world.place(pod)


def bind_request_lost(round_: Round) -> None:
    """The connection breaks after any number of bytes of the request."""
    step = round(1 / round_.size)
    with FakeApiServer() as fake, proxied(fake) as (binder, proxy):

        def bind(name: str) -> None:
            fake.add(pod_manifest(name, metadata={"uid": name}))
            assert binder.bind(make_pod(name, metadata={"uid": name}), "n") is BindOutcome.BOUND, name

        bind("whole")
        for cut in range(round_.dice.randrange(step), proxy.request_bytes, step):
            proxy.cut_at = cut
            bind(f"cut-{cut}")
            round_.faults += 1
        accepted = [uid for uid, _, _ in fake.history.accepted_bindings()]
        assert len(accepted) == len(set(accepted)) == len(fake.all("Pod")), "I1"
        round_.inputs += len(accepted)
        round_.count(fake)


def bind_409_other_node(round_: Round) -> None:
    """Another client binds before us; the state may have heard of it or not."""
    with round_.binding(nodes=2, room=1000) as world:
        for pod in world.add(*manifests(round_.some(80, 160))):
            rival = {"metadata": {"name": pod.metadata.name}, "target": {"name": "n1"}}
            path = f"/api/v1/namespaces/default/pods/{pod.metadata.name}/binding"
            assert world.fake.client().request("POST", path, body=rival).ok
            if round_.dice.random() < 0.1:
                world.sync()
            assert world.bind(pod, "n0") == "POD_BOUND_ELSEWHERE"
            assert not len(world.committer.reservations), "I4: a conflict leaves its place taken"
            round_.faults += 1


def bind_409_same_node(round_: Round) -> None:
    """The same binding again and again, also at once; it is done once."""
    dice, count = round_.dice, round_.some(30, 60)
    with round_.binding(nodes=3, room=count) as world:
        for at, pod in enumerate(world.add(*manifests(count))):
            node = f"n{dice.randrange(3)}"
            ended = at_once(dice.randint(1, 4), lambda order: world.bind(*order), [(pod, node)] * 4)
            assert sorted(map(str, ended)) == sorted(
                map(str, [BindOutcome.BOUND] + [BindOutcome.ALREADY_BOUND] * 3)
            )
            if at % 10 == 0:
                world.sync()
                assert world.bind(pod, node) is BindOutcome.ALREADY_BOUND
            round_.faults += 3


def bind_uid_mismatch(round_: Round) -> None:
    """The pod is recreated before or while it is bound; the new one is left alone."""
    dice, count = round_.dice, round_.some(60, 120)
    with round_.binding(nodes=2, room=count) as world:
        for pod in world.add(*manifests(count)):
            name = pod.metadata.name
            arguments = {"uid": f"{name}-again"}
            if dice.random() < 0.5:
                recreate(world, name, **arguments)
                assert world.bind(pod, "n0") == "POD_RECREATED"
            else:
                timer = threading.Timer(dice.random() * 0.01, recreate, (world, name), arguments)
                timer.start()
                world.bind(pod, "n0")
                timer.join()
            round_.faults += 1
        touched = [uid for uid, _, _ in world.fake.history.accepted_bindings() if uid.endswith("-again")]
        assert touched == [], "a pod was bound that nobody asked to bind"


def bind_deleting_pod(round_: Round) -> None:
    """Once the state has heard of it, nothing is sent; before, one rejection ends it."""
    with round_.binding(nodes=2, room=1000) as world:
        for pod in world.add(*manifests(round_.some(60, 120))):
            recreate(world, pod.metadata.name, metadata=LEAVING)
            heard = round_.dice.random() < 0.3
            if heard:
                world.sync()
            before = len(world.fake.history.bindings())
            assert world.bind(pod, f"n{round_.dice.randrange(2)}") == "POD_DELETING"
            assert len(world.fake.history.bindings()) - before == (not heard)
            round_.faults += 1


def bind_node_gone(round_: Round) -> None:
    """A node goes before or during a binding; while the state knows, nothing is bound to it."""
    dice, lose = round_.dice, set[str]()

    def during(pod: Pod) -> None:
        if pod.metadata.uid in lose:
            keep(worlds[0], "n0")

    worlds: list[World] = []
    with round_.binding(hooked("pre_bind", during), nodes=2, room=1000) as world:
        worlds.append(world)
        for pod in world.add(*manifests(round_.some(60, 120))):
            keep(world, "n0", "n1")
            when = dice.choice(("before", "during", "never"))
            if when == "before":
                keep(world, "n0")
            if when == "during":
                lose.add(pod.metadata.uid)
            expected = BindOutcome.BOUND if when == "never" else "NODE_NOT_FOUND"
            assert world.bind(pod, "n1") == expected
            round_.faults += when != "never"
        keep(world, "n0", "n1")


def keep(world: World, *names: str) -> None:
    """The state has just these nodes."""
    pods = [record.pod for record in world.state.snapshot.pods.records.values()]
    nodes = [make_node(name, allocatable={ROOM: 1000}) for name in names]
    world.state.replace("test", [*nodes, *pods])


def bind_429(round_: Round) -> None:
    """The API server is overloaded, for a moment or for long; it gets no more requests than it allows."""
    dice, count = round_.dice, round_.some(40, 80)
    with round_.binding(nodes=4, room=count, timeout_seconds=3.0) as world:
        pods, ideal = world.add(*manifests(count)), 0
        for pod in pods:
            match dice.choice(("none", "moment", "second", "long")):
                case "none":
                    ideal += 1
                case "moment":
                    times = dice.randint(1, 3)
                    ideal += 1 + times
                    reject(world, pod, 0, times)
                case "second":
                    ideal += 2
                    reject(world, pod, dice.choice((1, None)), 1)
                case "long":
                    ideal += 1
                    reject(world, pod, 30, None)
        ended = at_once(8, lambda pod: world.bind(pod, f"n{dice.randrange(4)}"), pods)
        assert set(ended) <= {BindOutcome.BOUND, "OVERLOADED"}
        assert len(world.fake.history.bindings()) <= 1.2 * ideal, "a storm"


def reject(world: World, pod: Pod, retry_after: int | None, times: int | None) -> None:
    path = f"/{pod.metadata.name}{BINDING}"
    world.fake.faults.on("POST", path, Answer(429, retry_after=retry_after), times=times)


def bind_5xx_and_500_invalid(round_: Round) -> None:
    """Every code that can be answered; an outcome is never said to be what it isn't."""
    dice, count = round_.dice, round_.some(80, 160)
    expected = {400: "INVALID_FIELD", 403: "PERMISSION_DENIED", 404: "POD_NOT_FOUND", 422: "INVALID_FIELD"}
    with round_.binding(nodes=4, room=count) as world:
        pods, codes = world.add(*manifests(count)), {}
        for pod in pods:
            code = codes[pod.metadata.uid] = dice.choice((400, 403, 404, 422, 500, 502, 503, 504))
            answer = Answer(code, after=code >= 500 and dice.random() < 0.5)
            world.fake.faults.on("POST", f"/{pod.metadata.name}{BINDING}", answer)
        for pod, ended in zip(pods, at_once(8, lambda pod: world.bind(pod, "n1"), pods), strict=True):
            code = codes[pod.metadata.uid]
            if code < 500:
                assert ended not in UNKNOWN, code
                assert not isinstance(ended, BindOutcome), code
                assert code != 404 or ended == expected[404]
            else:
                assert ended in (BindOutcome.BOUND, BindOutcome.ALREADY_BOUND, *UNKNOWN), code


def bind_concurrent_same_pod(round_: Round) -> None:
    """Many callers, several nodes, one pod; exactly one node wins."""
    dice, nodes = round_.dice, round_.dice.randint(2, 16)
    pause = dice.random() * 0.01
    with round_.binding(hooked("pre_bind", lambda _: time.sleep(pause)), nodes=nodes, room=100) as world:
        for pod in world.add(*manifests(round_.some(20, 40))):
            asked = [(pod, f"n{dice.randrange(nodes)}") for _ in range(dice.randint(2, 64))]
            ended = at_once(len(asked), lambda order: world.bind(*order), asked)
            assert ended.count(BindOutcome.BOUND) == 1
            assert set(ended) <= {BindOutcome.BOUND, BindOutcome.ALREADY_BOUND, "POD_BOUND_ELSEWHERE"}
            round_.faults += len(asked) - 1


def bind_kill9(round_: Round) -> None:
    """The process is killed at points in any order; the next one goes on."""
    points = list(POINTS) * 2
    round_.dice.shuffle(points)
    chosen = points[: round_.some(14, 20)]
    round_.binds += kill_at(chosen, each=60)
    round_.faults += len(chosen)
    round_.inputs += len(chosen)


def bind_caller_cancel(round_: Round) -> None:
    """Callers give up at any moment while requests fail; the work is finished or undone."""
    dice, count = round_.dice, round_.some(200, 400)
    plugin = hooked("pre_bind", lambda _: time.sleep(dice.random() * 0.003))
    with round_.binding(plugin, nodes=3, room=count, timeout_seconds=0.5, settling_seconds=1.0) as world:
        pods = world.add(*manifests(count))
        for _ in range(round_.some(10, 40)):
            world.fake.faults.on("POST", rf"/p{dice.randrange(count)}{BINDING}", some_fault(dice), times=1)
        longest = dice.choice((0.01, 0.03, 0.1))
        orders = [(pod, f"n{dice.randrange(3)}", dice.random() * longest) for pod in pods]
        at_once(6, lambda order: world.bind(order[0], order[1], progress=Late(order[2])), orders)
        round_.faults += sum(ended == "DEADLINE_EXCEEDED" for _, _, ended in world.outcomes)


ROWS = (
    Row("A1", "bind_happy_status", bind_happy_status),
    Row("A2", "bind_response_lost", bind_response_lost),
    Row("A3", "bind_request_lost", bind_request_lost),
    Row("A4", "bind_409_other_node", bind_409_other_node),
    Row("A5", "bind_409_same_node", bind_409_same_node),
    Row("A6", "bind_uid_mismatch", bind_uid_mismatch),
    Row("A7", "bind_deleting_pod", bind_deleting_pod),
    Row("A8", "bind_node_gone", bind_node_gone),
    Row("A9", "bind_429", bind_429),
    Row("A10", "bind_5xx_and_500_invalid", bind_5xx_and_500_invalid),
    Row("A11", "bind_concurrent_same_pod", bind_concurrent_same_pod),
    Row("A12", "bind_kill9", bind_kill9),
    Row("A13", "bind_caller_cancel", bind_caller_cancel),
)
