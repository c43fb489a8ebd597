"""Reserve, Permit, Bind and Unreserve against an API server that fails: the rows A and D of reliability."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.framework import (
    SUCCESS,
    BindOutcome,
    Code,
    CycleState,
    PermitPlugin,
    Pod,
    PreBindPlugin,
    Status,
)
from mooring.framework.errors import MooringError
from mooring.runtime.commit import binding_cycle
from mooring.runtime.commit.clock import SystemClock
from mooring.runtime.commit.reservations import Stage
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_node
from tests.fake_api_server import Answer, Cut, Hang
from tests.fake_api_server.faults import Action
from tests.process import until

from .committing import BINDING, ROOM, Late, committing, failing, hooked, manifest


def test_bind_response_lost() -> None:
    """A2: 100 faults of every kind under concurrent binds; nothing is bound twice, nothing leaks."""
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    faults: list[Action] = [
        Cut(),
        Cut(after=True),
        Cut(after=True, at_byte=40),
        Answer(500),
        Answer(500, after=True),
    ]
    faults += [Answer(503, after=True), Answer(504), Answer(429, 0), Hang(), Hang(after=True)]
    with committing(nodes=[f"n{at}" for at in range(8)], room=40, timeout_seconds=0.4) as world:
        pods = world.add(*(manifest(f"p{at}") for at in range(240)))
        for _ in range(100):
            path = rf"/p{dice.randrange(240)}{BINDING}"
            world.fake.faults.on("POST", path, dice.choice(faults), times=1)
        for _ in range(10):
            world.fake.faults.on("GET", f"/p{dice.randrange(240)}$", dice.choice(faults[:4:3]), times=2)
        orders = [(pod, f"n{dice.randrange(8)}") for pod in pods]
        with ThreadPoolExecutor(8) as callers:
            list(callers.map(lambda order: world.bind(*order), orders))
        assert world.fake.faults.met > 60
        world.fake.faults.clear()
        world.settle()
        world.check(room=40)
        bound = [ended for _, _, ended in world.outcomes if isinstance(ended, BindOutcome)]
        assert len(bound) > 150


def test_an_unknown_outcome_that_turns_out_bound_is_confirmed() -> None:
    with committing(timeout_seconds=0.3) as world:
        (pod,) = world.add(manifest("p"))
        world.fake.faults.on("POST", BINDING, Hang(after=True), times=1)
        world.fake.faults.on("GET", "/pods/p$", Answer(503), times=3)
        assert world.bind(pod, "a") == "API_SERVER_UNAVAILABLE"
        assert world.committer.reservations.count_by_stage() == {Stage.UNKNOWN: 1}
        with pytest.raises(MooringError, match="not known yet"):
            world.committer.unreserve_pod("default", "p", pod.metadata.uid)
        world.settle()
        record = world.state.snapshot.pods.get(pod.metadata.uid)
        assert record is not None
        assert record.pod.spec.node_name == "a"
        world.check(room=10)


@pytest.mark.parametrize("rejection", [Answer(403), Answer(429, 30), Answer(422)], ids=lambda it: it.status)
def test_a_rejected_repetition_settles_nothing(rejection: Answer) -> None:
    with committing(timeout_seconds=0.3, settling_seconds=20.0) as world:
        (pod,) = world.add(manifest("p"))
        world.fake.faults.on("POST", BINDING, Cut(after=True), times=1)
        world.fake.faults.on("GET", "/pods/p$", Answer(503))
        world.fake.faults.on("POST", BINDING, rejection)
        for _ in range(2):
            assert isinstance(world.bind(pod, "a"), str)
            assert world.committer.reservations.count_by_stage() == {Stage.UNKNOWN: 1}
        world.fake.faults.clear()
        until(lambda: not len(world.committer.reservations))
        record = world.state.snapshot.pods.get(pod.metadata.uid)
        assert record is not None
        assert record.pod.spec.node_name == "a"


@pytest.mark.parametrize("fault", [Answer(403), Answer(429, 30)], ids=lambda it: it.status)
def test_a_bound_pod_keeps_its_place_when_its_binding_is_repeated_in_vain(fault: Answer) -> None:
    with committing(timeout_seconds=0.3) as world:
        (pod,) = world.add(manifest("p"))
        assert world.bind(pod, "a") is BindOutcome.BOUND
        world.fake.faults.on("POST", BINDING, fault)
        assert world.bind(pod, "a") in ("FORBIDDEN", "OVERLOADED")
        until(lambda: not len(world.committer.reservations))
        assert world.state.snapshot.nodes.requested[:, 0].any()


@pytest.mark.parametrize("becomes", ["unbound", "gone", "recreated", "recreated there", "bound elsewhere"])
def test_an_unknown_outcome_that_turns_out_not_bound_is_released(becomes: str) -> None:
    released: list[str] = []
    plugin = hooked("unreserve", lambda pod: released.append(pod.metadata.uid))
    with committing(plugin, timeout_seconds=0.3, settling_seconds=0.5) as world:
        (pod,) = world.add(manifest("p"))
        world.fake.faults.on("", "/pods/p", Cut())
        assert world.bind(pod, "a") == "API_SERVER_UNAVAILABLE"
        if becomes != "unbound":
            world.fake.remove("Pod", "p")
        if becomes.startswith("recreated"):
            world.fake.add(manifest("p", uid="another", node="a" if becomes.endswith("there") else ""))
        if becomes == "bound elsewhere":
            world.fake.add(manifest("p", node="b"))
        assert world.state.snapshot.nodes.requested[:, 0].any()
        world.fake.faults.clear()
        until(lambda: not len(world.committer.reservations))
        assert released == ["uid-p"]
        assert not world.state.snapshot.nodes.requested[:, 0].any()
        world.sync()
        world.check(room=10)


def test_a_pod_that_was_read_while_somebody_tried_to_bind_it_can_be_bound() -> None:
    with committing(timeout_seconds=0.3) as world:
        (pod,) = world.add(manifest("p"))
        world.fake.faults.on("POST", BINDING, Cut(), times=4)
        assert world.bind(pod, "a") == "API_SERVER_UNAVAILABLE"
        read = world.state.find_pod("default", "p")
        assert read is not None
        assert read.spec.node_name == "a"
        world.settle()
        world.fake.faults.clear()
        assert world.bind(read, "a") is BindOutcome.BOUND


def test_a_pod_whose_binding_may_be_on_its_way_keeps_its_place_until_it_can_be_no_more() -> None:
    class Ahead(SystemClock):
        seconds = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.seconds

    clock = Ahead()
    with committing(timeout_seconds=0.3, settling_seconds=3600.0, clock=clock) as world:
        (pod,) = world.add(manifest("p"))
        world.fake.faults.on("POST", BINDING, Cut())
        assert world.bind(pod, "a") == "API_SERVER_UNAVAILABLE"
        until(lambda: len(world.fake.history.all("GET", "/pods/p")) > 1)
        assert len(world.committer.reservations) == 1
        clock.seconds = 3600.0
        until(lambda: not len(world.committer.reservations))


def test_bind_409_other_node() -> None:
    """A4: another client was faster, and the state has not heard of it."""
    with committing() as world:
        for at in range(50):
            (pod,) = world.add(manifest(f"p{at}"))
            world.fake.remove("Pod", f"p{at}")
            world.fake.add(manifest(f"p{at}", node="b"))
            assert world.bind(pod, "a") == "POD_BOUND_ELSEWHERE"
            assert not len(world.committer.reservations)


def test_bind_409_same_node() -> None:
    """A5: repeats, before and after the state has heard of it, bind once."""
    with committing() as world:
        (pod,) = world.add(manifest("p"))
        assert world.bind(pod, "a") is BindOutcome.BOUND
        assert world.bind(pod, "a") is BindOutcome.ALREADY_BOUND
        posted = len(world.fake.history.bindings())
        world.sync()
        assert world.bind(pod, "a") is BindOutcome.ALREADY_BOUND
        assert len(world.fake.history.bindings()) == posted
        world.check(room=10)


def test_bind_uid_mismatch() -> None:
    """A6: the pod was recreated; the new one is left alone."""
    with committing() as world:
        (pod,) = world.add(manifest("p"))
        world.fake.remove("Pod", "p")
        world.fake.add(manifest("p", uid="another"))
        assert world.bind(pod, "a") == "POD_RECREATED"
        world.settle()
        assert not world.pod("p").spec.node_name
        world.check(room=10)


def test_bind_deleting_pod() -> None:
    """A7: once the state has heard of it, nothing is sent; before, one rejection ends it."""
    deleting = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]}
    with committing() as world:
        (pod,) = world.add(manifest("p"))
        world.fake.remove("Pod", "p")
        world.fake.add(manifest("p", metadata=deleting))
        assert world.bind(pod, "a") == "POD_DELETING"
        assert len(world.fake.history.bindings()) == 1
        world.sync()
        assert world.bind(pod, "a") == "POD_DELETING"
        assert len(world.fake.history.bindings()) == 1


@pytest.mark.parametrize("when", ["before", "during"])
def test_bind_node_gone(when: str) -> None:
    """A8: a node that the state no longer has gets no binding."""

    def lose(_: Pod) -> None:
        worlds[0].state.replace("test", [make_node("b", allocatable={ROOM: 10}), *worlds[0].pods()])

    worlds: list[Any] = []
    with committing(hooked("pre_bind", lose if when == "during" else lambda _: None)) as world:
        world.pods = lambda: [world.pod("p")]  # type: ignore[attr-defined]
        worlds.append(world)
        (pod,) = world.add(manifest("p"))
        if when == "before":
            lose(pod)
        assert world.bind(pod, "a") == "NODE_NOT_FOUND"
        assert world.fake.history.bindings() == []
        assert not len(world.committer.reservations)


def test_a_node_that_no_longer_has_room_is_rejected() -> None:
    with committing(room=1) as world:
        first, second = world.add(manifest("p"), manifest("q"))
        assert world.bind(first, "a") is BindOutcome.BOUND
        assert world.bind(second, "a") == "NODE_NO_LONGER_FITS"
        world.sync()
        world.check(room=1)


def test_bind_concurrent_same_pod() -> None:
    """A11: many callers, several nodes, one pod; exactly one node wins, every round."""
    prepared: list[str] = []

    def prepare(pod: Pod) -> None:
        prepared.append(pod.metadata.uid)
        # Long enough for the other callers to come by.
        time.sleep(0.01)

    with committing(hooked("pre_bind", prepare), nodes=[f"n{at}" for at in range(16)]) as world:
        pods = world.add(*(manifest(f"p{at}") for at in range(8)))
        with ThreadPoolExecutor(64) as callers:
            for pod in pods:
                ended = list(callers.map(lambda at, pod=pod: world.bind(pod, f"n{at % 16}"), range(64)))
                assert ended.count(BindOutcome.BOUND) == 1
                assert ended.count(BindOutcome.ALREADY_BOUND) == 3
                assert ended.count("POD_BOUND_ELSEWHERE") == 60
        assert sorted(prepared) == sorted(pod.metadata.uid for pod in pods)
        world.settle()
        world.check(room=10)


def test_bind_caller_cancel() -> None:
    """A13: callers who give up at any moment; the work is finished or undone."""
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    plugin = hooked("pre_bind", lambda _: time.sleep(dice.random() * 0.003))
    with committing(plugin, nodes=("a", "b", "c"), room=200) as world:
        pods = world.add(*(manifest(f"p{at}") for at in range(300)))
        orders = [(pod, dice.choice("abc"), dice.random() * 0.03) for pod in pods]
        with ThreadPoolExecutor(6) as callers:
            list(callers.map(lambda order: world.bind(order[0], order[1], progress=Late(order[2])), orders))
        world.settle()
        world.check(room=200)
        ended = [ended for _, _, ended in world.outcomes]
        assert "DEADLINE_EXCEEDED" in ended
        assert BindOutcome.BOUND in ended


def test_last_ip_race() -> None:
    """D1: far more pods than room, from 8 clients; exactly as many win as there is room."""
    nodes = [f"n{at}" for at in range(10)]
    with committing(nodes=nodes, room=1) as world:
        pods = world.add(*(manifest(f"p{at}") for at in range(60)))
        profile = world.engine.profile()
        with ThreadPoolExecutor(8) as clients:
            placed = list(clients.map(lambda pod: world.committer.place_pod(pod, profile, ALL_NODES), pods))
        assert sum(placement.status.ok for placement in placed) == 10
        world.settle()
        world.check(room=1)
        assert {node for _, node, _ in world.fake.history.accepted_bindings()} == set(nodes)


def test_ip_churn_1to1() -> None:
    """D2: as many pods as room, recreated again and again; all are bound each time."""
    with committing(nodes=[f"n{at}" for at in range(10)], room=4) as world:
        profile = world.engine.profile()
        for turn in range(5):
            pods = world.add(*(manifest(f"p{at}", uid=f"uid-{turn}-{at}") for at in range(40)))
            with ThreadPoolExecutor(8) as clients:
                ended = list(
                    clients.map(
                        lambda pod: world.committer.place_pod(pod, profile, ALL_NODES).status.ok, pods
                    )
                )
            assert all(ended), f"turn {turn}"
            world.settle()
            world.check(room=4)
            for at in range(40):
                world.fake.remove("Pod", f"p{at}")


@pytest.mark.parametrize("way", ["rejects", "raises"])
@pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind", "bind"])
def test_reserve_every_exit(point: str, way: str) -> None:
    """D3: a failure at each step gives everything back, exactly once."""
    released: list[str] = []
    with committing(failing(point, way, released)) as world:
        (pod,) = world.add(manifest("p"))
        if point == "bind":
            world.fake.faults.on("POST", BINDING, Answer(403 if way == "rejects" else 422))
        assert not isinstance(world.bind(pod, "a"), BindOutcome)
        assert released == ["uid-p"]
        world.settle()
        world.check(room=10)


def test_a_reservation_ends_with_its_pod_or_with_a_binding_by_somebody_else() -> None:
    released: list[str] = []
    plugin = hooked("unreserve", lambda pod: released.append(pod.metadata.name))
    with committing(plugin) as world:
        pods = world.add(*(manifest(name) for name in ("gone", "elsewhere", "here", "stays")))
        profile = world.engine.profile()
        assert all(world.committer.reserve_pod(pod, "a", profile).status.ok for pod in pods)
        world.fake.remove("Pod", "gone")
        for name, node in (("elsewhere", "b"), ("here", "a")):
            world.fake.remove("Pod", name)
            world.fake.add(manifest(name, node=node))
        world.sync()
        until(lambda: len(world.committer.reservations) == 1)
        assert sorted(released) == ["elsewhere", "gone"]
        assert world.committer.unreserve_pod("default", "stays", "uid-stays")
        world.sync()
        world.check(room=10)


@pytest.mark.parametrize("bound", [False, True], ids=["the pod ends", "somebody else binds it"])
def test_a_reservation_ends_that_something_happened_to_before_it_was_there(bound: bool) -> None:
    """While Reserve runs no thread watches for the pod's end; afterwards it is not left to the clock."""

    def happens(_: Pod) -> None:
        if bound:
            rival = {"metadata": {"name": "p"}, "target": {"name": "b"}}
            path = "/api/v1/namespaces/default/pods/p/binding"
            assert world.fake.client().request("POST", path, body=rival).ok
        else:
            world.fake.remove("Pod", "p")
        world.sync()

    with committing(hooked("reserve", happens)) as world:
        [pod] = world.add(manifest("p"))
        assert world.committer.reserve_pod(pod, "a", world.engine.profile()).status.ok
        until(lambda: not len(world.committer.reservations))


@pytest.mark.parametrize("told", [False, True], ids=["the API server is asked", "a source tells"])
def test_a_reservation_of_a_batch_ends_as_one_by_itself(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_cycle, "RESERVED_PAUSE", 60.0 if told else 0.1)
    with committing() as world:
        names = ["bound", "free", "gone", "elsewhere", "here", "stays"]
        uids = [f"uid-{name}" for name in names]
        template, *_ = world.add(*(manifest(name) for name in names))
        like = replace(template, metadata=replace(template.metadata, name="", uid="")), world.engine.profile()
        placed = world.committer.place_reserved_in_turn([like], [0] * len(names), names, uids, owner="me")
        nodes = dict(zip(names, [choice.node_name or "" for choice in placed], strict=True))
        assert world.committer.reservations.count_by_stage() == {Stage.RESERVED: len(names)}
        assert world.bind(world.pod("bound"), nodes["bound"]) is BindOutcome.BOUND
        with pytest.raises(MooringError, match="by another client"):
            world.committer.unreserve_pod("default", "free", "uid-free", owner="somebody")
        assert world.committer.unreserve_pod("default", "free", "uid-free", owner="me")
        world.fake.remove("Pod", "gone")
        other = {"a": "b", "b": "a"}
        for name, node in (("elsewhere", other[nodes["elsewhere"]]), ("here", nodes["here"])):
            world.fake.remove("Pod", name)
            world.fake.add(manifest(name, node=node))
        if told:
            world.sync()
        until(lambda: len(world.committer.reservations) == 1)
        assert world.committer.unreserve_pod("default", "stays", "uid-stays", owner="me")
        world.fake.remove("Pod", "free")
        world.settle()
        world.check(room=10)


def test_a_batch_gives_back_what_something_happened_to_before_it_was_there() -> None:
    with committing() as world:
        template, *_ = world.add(manifest("p"), manifest("q"))
        place = world.engine.place_batch

        def loses_one(*args: Any, **how: Any) -> Any:
            placed = place(*args, **how)
            world.fake.remove("Pod", "p")
            world.sync()
            return placed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world.engine, "place_batch", loses_one)
            like, both = (template, world.engine.profile()), ["p", "q"]
            world.committer.place_reserved_in_turn([like], [0, 0], both, [f"uid-{name}" for name in both])
        until(lambda: len(world.committer.reservations) == 1)
        assert world.committer.reservations.find_reservation("uid-q")


def test_a_reservation_is_what_bind_uses_and_what_the_filters_look_at_again() -> None:
    with committing(room=1) as world:
        first, second = world.add(manifest("p"), manifest("q"))
        profile = world.engine.profile()
        assert world.committer.reserve_pod(first, "a", profile).status.ok
        assert world.committer.reserve_pod(second, "a", profile).status.code is Code.UNSCHEDULABLE
        assert world.bind(first, "a") is BindOutcome.BOUND
        assert world.committer.reserve_pod(second, "b", profile).status.ok
        world.state.apply("test", [_put(make_node("b", allocatable={ROOM: 0}))])
        assert world.bind(second, "b") == "NODE_NO_LONGER_FITS"
        assert not len(world.committer.reservations)


def _put(item: Any) -> Any:
    from mooring.cluster.kinds import Put

    return Put(item)


class Gate(PermitPlugin[None]):
    """Makes every pod wait."""

    name = "Gate"
    seconds = 30.0

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return Status(Code.WAIT), self.seconds


@pytest.mark.parametrize("verdict", ["allowed", "rejected", "deleted"])
def test_a_pod_waits_for_the_word_of_its_permit_plugin(verdict: str) -> None:
    with committing(Gate) as world:
        (pod,) = world.add(manifest("p"))
        caller = threading.Thread(target=world.bind, args=(pod, "a"))
        caller.start()
        until(lambda: world.engine.profiles.waiting.get("uid-p") is not None)
        (waiting,) = world.engine.profiles.waiting
        assert (waiting.pod.metadata.name, waiting.node_name, waiting.pending_plugins()) == (
            "p",
            "a",
            ("Gate",),
        )
        assert world.fake.history.bindings() == []
        if verdict == "allowed":
            waiting.allow("Gate")
        elif verdict == "rejected":
            assert waiting.reject("Gate", "not all are there")
        else:
            world.fake.remove("Pod", "p")
            world.sync()
        caller.join(10)
        assert list(world.engine.profiles.waiting) == []
        expected = {"allowed": BindOutcome.BOUND, "rejected": "not all are there", "deleted": "removed"}
        assert world.outcomes[-1][2] == expected[verdict]
        world.settle()
        world.check(room=10)


def test_a_pod_waits_no_longer_than_its_plugin_or_its_caller() -> None:
    class Brief(Gate):
        seconds = 0.2

    with committing(Brief) as world:
        first, second = world.add(manifest("p"), manifest("q"))
        assert world.bind(first, "a") == "rejected due to timeout after waiting 200ms at plugin Gate"
        Brief.seconds = 900.0
        assert world.bind(second, "a", progress=Late(0.2)) == "DEADLINE_EXCEEDED"
        assert list(world.engine.profiles.waiting) == []
        world.settle()
        world.check(room=10)


class Deposed:
    """Leads until a test ends it."""

    def __init__(self) -> None:
        self.leads = True

    def is_leader(self) -> bool:
        return self.leads

    def leader(self) -> str:
        return "the-other"


@pytest.mark.parametrize("allow", [True, False], ids=["at the same time", "one after the other"])
def test_neighbours_at_pre_bind_run_at_the_same_time_if_both_allow_it(allow: bool) -> None:
    both = threading.Barrier(2)
    met: list[bool] = []

    class First(PreBindPlugin[None]):
        name = "First"
        allow_parallel = True

        def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
            try:
                both.wait(10.0 if allow else 0.05)
            except threading.BrokenBarrierError:
                met.append(False)
            else:
                met.append(True)
            return SUCCESS

    class Second(First):
        name = "Second"
        allow_parallel = allow

    with committing(First, Second) as world:
        (pod,) = world.add(manifest("p"))
        assert world.bind(pod, "a") is BindOutcome.BOUND
    assert met == [allow, allow]


def test_only_the_leader_commits() -> None:
    leadership = Deposed()

    def depose(_: Pod) -> None:
        leadership.leads = False

    with committing(hooked("pre_bind", depose), leadership=leadership) as world:
        first, second = world.add(manifest("p"), manifest("q"))
        assert world.bind(first, "a") == "NOT_LEADER"
        assert world.bind(second, "a") == "NOT_LEADER"
        for rejected in (
            lambda: world.committer.reserve_pod(second, "a", world.engine.profile()),
            lambda: world.committer.unreserve_pod("default", "q", "uid-q"),
            lambda: world.committer.place_pod(second, world.engine.profile(), ALL_NODES),
        ):
            with pytest.raises(MooringError, match="call the-other"):
                rejected()
        assert world.fake.history.bindings() == []
        world.settle()
        world.check(room=10)


def test_the_checker_sees_what_it_is_for() -> None:
    """The invariants fail on a history that breaks them."""
    with committing(room=1) as world:
        (pod,) = world.add(manifest("p"))
        assert world.bind(pod, "a") is BindOutcome.BOUND
        world.sync()
        world.check(room=1)
        with pytest.raises(AssertionError, match="I2"):
            world.check(room=0)
        world.outcomes.append(("uid-p", "b", BindOutcome.BOUND))
        with pytest.raises(AssertionError, match="I3"):
            world.check(room=1)
        world.outcomes.clear()
        assert world.committer.reserve_pod(world.add(manifest("q"))[0], "b", world.engine.profile()).status.ok
        with pytest.raises(AssertionError, match="I4"):
            world.check(room=1)
