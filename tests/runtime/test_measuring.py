"""Values are measured in the background, and decisions find them while they are recent enough."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.cluster.work_tree import WorkTree
from mooring.config import from_document
from mooring.framework import CycleState, Handle, MeasurementSource, NodeInfo, NodeView, Pod, ScorePlugin
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import Measurement, ObjectMeta
from mooring.measurements import MeasurementFunction
from mooring.runtime import measuring
from mooring.runtime.assembly import ProfileBuilder
from mooring.runtime.measuring import Filler, Measuring, RecentPods, sources_of
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder
from tests.plugins.harness import SetClock

MINUTE = timedelta(minutes=1)


@dataclass
class Told:
    """A function that returns, or raises, what a test says."""

    answer: Mapping[str, Any] | Exception = field(default_factory=dict)
    calls: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self) -> Mapping[str, int]:
        self.calls.release()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class World:
    """A state of three nodes and a pod on each, with all objects that a test reads."""

    told: Told = field(default_factory=Told)
    state: State = field(default_factory=State)
    clock: SetClock = field(default_factory=SetClock)
    events: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        nodes = [make_node(name) for name in "abc"]
        self.state.replace("test", [*nodes, *(make_pod(f"on-{name}", node=name) for name in "abc")])

    @property
    def handle(self) -> Handle:
        return Handle(
            snapshot=lambda: self.state.snapshot,
            binder=NoBinder(),
            clock=self.clock,
            logger=logging.getLogger("test"),
            assumptions=self.state,
            count=lambda _, event: self.events.update([event]),
        )

    def filler(self, **fields: Any) -> Filler:
        source = MeasurementFunction(name="load", function=self.told, **fields)
        return Filler(source, "Rule", self.handle)

    def load(self, name: str = "load", state: State | None = None) -> list[int | None]:
        """Return the value of each node, as rules find it."""
        snapshot = (state or self.state).snapshot
        infos = NodeView(snapshot, snapshot.nodes.rows()).infos()
        return [node.measurements[name] for node in infos]


def test_a_node_is_found_by_its_name_or_an_address() -> None:
    world, address = World(Told({"a": 1, "10.0.0.2": 2, "10.0.0.3": 3})), {"type": "InternalIP"}
    world.state.apply(
        "test",
        [
            Put(make_node("a", status={"addresses": [{**address, "address": "10.0.0.3"}]})),
            Put(
                make_node(
                    "b", status={"addresses": [{**address, "address": ip} for ip in ("::1", "10.0.0.2")]}
                )
            ),
        ],
    )
    world.filler().refresh()
    assert world.load() == [1, 2, None]
    assert world.load("another") == [None, None, None]


def test_the_names_of_what_is_measured() -> None:
    world = World(Told({"a": 1}))
    info = NodeView(world.state.snapshot, world.state.snapshot.nodes.rows()).info(0)
    assert dict(info.measurements) == {}
    world.filler().refresh()
    assert (dict(info.measurements), len(info.measurements)) == ({"load": 1}, 1)
    assert ("load" in info.measurements, "another" in info.measurements) == (True, False)
    without = NodeView(world.state.snapshot, world.state.snapshot.nodes.rows()).info(1).measurements
    assert (dict(without), "load" in without, without["load"]) == ({}, False, None)
    assert (info.measurements.get("load", 9), without.get("load", 9)) == (1, 9)


def test_a_node_without_a_value_may_count_as_the_highest() -> None:
    world = World(Told({"a": 1, "elsewhere": 7}))
    world.filler(unmeasured_as_highest=True).refresh()
    assert world.load() == [1, 7, 7]


def test_equal_values_are_no_change() -> None:
    world = World(Told({"a": 1}))
    filler = world.filler()
    filler.refresh()
    before = world.state.version
    filler.refresh()
    assert world.state.version == before
    world.told.answer = {"a": 2}
    filler.refresh()
    assert world.state.version == before + 1


def test_listeners_hear_of_new_values_and_of_those_that_are_too_old() -> None:
    world, heard = World(Told({"a": 1})), list[Any]()
    filler = world.filler(max_age=MINUTE)
    world.state.subscribe(heard.append)

    def told() -> list[tuple[Any, Any]]:
        values = [(change.old and change.old.values, change.new and change.new.values) for change in heard]
        heard.clear()
        return values

    filler.refresh()
    assert told() == [(None, {"a": 1})]
    filler.refresh()
    world.told.answer = OSError("refused")
    filler.refresh()
    assert told() == []
    world.clock.seconds += 59
    filler.expire()
    assert told() == []
    world.clock.seconds += 1
    filler.expire()
    assert told() == [({"a": 1}, None)]
    world.told.answer = {"a": 2}
    filler.refresh()
    filler.stop()
    assert told() == [(None, {"a": 2}), ({"a": 2}, None)]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OSError("refused"), id="an error"),
        pytest.param({"a": 1.5}, id="a fraction"),
        pytest.param({"a": -1}, id="below zero"),
        pytest.param({"a": None}, id="nothing"),
        pytest.param({1: 1}, id="no name"),
        pytest.param({"a": 2**63}, id="too large"),
    ],
)
def test_the_last_good_values_stay_until_they_are_too_old(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(Told({"a": 1}))
    filler = world.filler(max_age=MINUTE)
    filler.refresh()
    world.told.answer = answer
    for _ in range(3):
        filler.refresh()
    assert caplog.text.count("error getting measurement 'load'") == 1
    world.clock.seconds += 59
    filler.expire()
    assert world.load() == [1, None, None]
    status = filler.status()
    assert (status.name, status.age, status.failures) == ("load", 59, 3)
    world.clock.seconds += 1
    filler.expire()
    filler.expire()
    assert world.load() == [None, None, None]
    assert filler.status().age is None
    assert world.events == {"refreshed": 1, "refresh_failed": 3, "expired": 1}
    world.told.answer = {"a": 2}
    filler.refresh()
    assert world.load() == [2, None, None]


def test_a_call_that_does_not_end_fails_and_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mooring.measurements")
    world, release = World(), threading.Event()
    source = MeasurementFunction(
        name="load", function=lambda: dict.fromkeys("a", int(release.wait(30))), timeout=MINUTE / 60_000
    )
    filler = Filler(source, "Rule", world.handle)
    filler.refresh()
    filler.refresh()
    assert "no answer within 0.001 s" in caplog.text
    assert "the call before this one has not ended" in caplog.text
    release.set()


@given(
    st.lists(st.tuples(st.integers(0, 100), st.lists(st.integers(0, 9), max_size=4)), min_size=1, max_size=6)
)
def test_no_pod_counts_more_than_once_nor_longer_than_the_window(
    refreshes: list[tuple[int, list[int]]],
) -> None:
    recent, now, width = RecentPods(60), 0.0, 0
    arrivals: Counter[int] = Counter()
    before: list[int] | None = None
    for pause, counts in refreshes:
        now += pause
        width = max(width, len(counts))
        grown = counts + [0] * (width - len(counts))
        if before is not None:
            old = before + [0] * (width - len(before))
            arrivals.update({row: max(0, grown[row] - old[row]) for row in range(width)})
        before = grown
        lacking = recent.lacking(now, np.array(grown, np.int64))
        assert all(0 <= lacking[row] <= arrivals[row] for row in range(width))
    assert not recent.lacking(now + 61, np.array(before, np.int64)).any()


def test_pods_that_are_too_new_count_as_the_mean_of_a_pod() -> None:
    world = World(Told({"a": 30, "b": 60}))
    filler = world.filler(window=MINUTE)
    filler.refresh()
    assert world.load() == [30, 60, None]
    world.state.assume(make_pod("new"), "a")
    assert world.load() == [30 + 30, 60, None]
    world.state.assume(make_pod("another"), "c")
    assert world.load() == [60, 60, None]
    world.clock.seconds += 15
    filler.refresh()
    assert world.load() == [30 + 18, 60, None]  # the mean of five pods
    world.clock.seconds += 61
    filler.refresh()
    assert world.load() == [30, 60, None]


def test_a_fork_and_a_session_have_the_values_and_recordings_do_not() -> None:
    world = World(Told({"a": 1}))
    world.filler().refresh()
    tree, fork = WorkTree(world.state), world.state.fork()
    world.told.answer = {"a": 2}
    world.filler().refresh()
    assert (world.load(state=tree), world.load(state=fork)) == ([1, None, None], [1, None, None])
    tree.follow(world.state.journal().end)
    assert world.load(state=tree) == [2, None, None]
    world.state.forget_object(Measurement, "load")
    tree.follow(world.state.journal().end)
    assert world.load(state=tree) == [None, None, None]
    assert world.state.journal().end == 0


VALUES = st.integers(0, 2**63 - 1)
MEASURED = st.builds(
    Measurement,
    st.just(ObjectMeta(name="load")),
    st.dictionaries(st.sampled_from(["a", "b", "10.0.0.1", "x"]), st.one_of(st.integers(0, 99), VALUES)),
    st.one_of(st.none(), st.integers(0, 99)),
    st.sampled_from([0.0, 0.5, 30.0, 1e30]),
    st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 2.0]))),
)
HAPPENINGS = st.one_of(
    st.tuples(st.just("measured"), MEASURED),
    st.tuples(st.just("node"), st.sampled_from("abcd"), st.sampled_from(["10.0.0.1", "10.0.0.2"])),
    st.tuples(st.just("gone"), st.sampled_from("abcd")),
    st.tuples(st.just("pod"), st.integers(0, 3), st.sampled_from("abcd")),
    st.just(("fork",)),
)


@given(st.lists(HAPPENINGS, max_size=12))
def test_the_values_of_many_nodes_are_those_of_each(steps: list[tuple[Any, ...]]) -> None:
    state = World().state
    for kind, *what in steps:
        if kind == "measured":
            state.assume_object(what[0])
        elif kind == "node":
            name, address = what
            status = {"addresses": [{"type": "InternalIP", "address": address}]}
            state.apply("test", [Put(make_node(name, status=status))])
        elif kind == "gone":
            state.apply("test", [Remove("Node", "", what[0])])
        elif kind == "pod":
            state.apply("test", [Put(make_pod(f"p{what[0]}", node=what[1]))])
        else:
            measurement = state.snapshot.objects.get(Measurement, "load")
            state = State()
            state.replace("test", [make_node("d"), make_node("a")])
            if measurement is not None:
                state.assume_object(measurement)
        rows = state.snapshot.nodes.rows()[::-1].copy()
        nodes = NodeView(state.snapshot, rows)
        values, there = nodes.measured("load")
        each = [node.measurements["load"] for node in nodes.infos()]
        assert values.tolist() == [value or 0 for value in each]
        assert there.tolist() == [value is not None for value in each]


class Quiet(ScorePlugin[None]):
    """Names the sources that a test says."""

    name = "Quiet"
    named: Sequence[MeasurementSource] = ()

    def measures(self) -> Sequence[MeasurementSource]:
        return self.named

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return node.measurements["load"] or 0


class Named(Quiet):
    name = "Named"


def profiles_of(world: World, *sources: MeasurementSource) -> list[Profile]:
    """Return a profile with ``Quiet``, which names the first, and ``Named``, which names the others."""
    Quiet.named, Named.named = sources[:1], sources[1:]
    registry = new_in_tree_registry()
    for kind in (Quiet, Named):
        registry.register(kind.name, kind)
    enabled = [{"name": Quiet.name}, {"name": Named.name}]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"enabled": enabled}}}],
    }
    configuration = from_document(document, registry.catalog())
    return list(ProfileBuilder.over(registry, world.state, NoBinder()).build(configuration).values())


TOLD = Told({"a": 1})
LOAD = MeasurementFunction(name="load", function=TOLD, interval=timedelta(hours=1), max_age=60 * MINUTE)


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        pytest.param(replace(LOAD, timeout=MINUTE), "differs from that of Quiet", id="one name for two"),
        pytest.param(replace(LOAD, name=""), "is missing", id="no name"),
        pytest.param(replace(LOAD, interval=timedelta(0)), "must be greater than 0", id="no interval"),
    ],
)
def test_sources_that_cannot_be(second: MeasurementSource, fault: str) -> None:
    world = World()
    following = Measuring(world.handle)
    following.follow(profiles_of(world, LOAD))
    with pytest.raises(InvalidArgumentError, match=fault):
        following.follow(profiles_of(world, LOAD, second))


def test_equal_sources_are_one() -> None:
    assert list(sources_of(profiles_of(World(), LOAD, replace(LOAD)))) == ["load"]


@contextmanager
def running(world: World) -> Iterator[Measuring]:
    found = Measuring(world.handle)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def another(**fields: Any) -> MeasurementFunction:
    return replace(LOAD, function=Told({"a": 5}), **fields)


def test_sources_come_and_go_with_the_profiles() -> None:
    world = World()
    with running(world) as following:
        following.follow(profiles_of(world, LOAD))
        assert world.load() == [1, None, None]
        following.follow(profiles_of(world, LOAD, another(name="more")))
        assert (world.load()[0], world.load("more")[0]) == (1, 5)
        assert TOLD.calls.acquire(blocking=False)
        assert not TOLD.calls.acquire(blocking=False)
        following.follow(profiles_of(world, another()))
        assert (world.load()[0], world.load("more")[0]) == (5, None)
        assert [status.name for status in following.describe()] == ["load"]
    assert world.load() == [None, None, None]
    following.start()
    assert following.describe() == []


def test_nothing_is_called_before_the_start() -> None:
    world, told = World(), Told()
    following = Measuring(world.handle)
    following.follow(profiles_of(world, replace(LOAD, function=told)))
    following.read_files()
    assert world.load() == [None, None, None]
    assert not told.calls.acquire(blocking=False)


def test_a_source_is_called_again_and_again_and_a_start_does_not_wait_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring, "FIRST_SECONDS", 0.01)
    world, release, told = World(), threading.Event(), Told({"a": 1})
    hanging = MeasurementFunction(name="hanging", function=lambda: dict.fromkeys("a", int(release.wait(30))))
    often = MeasurementFunction(name="load", function=told, interval=timedelta(milliseconds=1))
    following = Measuring(world.handle)
    following.follow(profiles_of(world, often, hanging))
    following.start()
    assert world.load("hanging") == [None, None, None]
    for _ in range(3):
        assert told.calls.acquire(timeout=30)
    following.stop()
    release.set()
