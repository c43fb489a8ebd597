"""A decision is true for the state in which it is given, whatever changed while it was made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.objects import Node
from mooring.runtime.answers import ChoiceColumns
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.layers.node_totals import NodeTotals
from mooring.runtime.cache.layers.resource_scores import ResourceScores
from mooring.runtime.cache.lookup.evaluation_cache import EvaluationCache
from mooring.runtime.cache.tracking.change_tracker import ChangeTracker
from mooring.runtime.cycle.candidates import ALL_NODES, Candidates
from mooring.runtime.cycle.choice import Choice
from mooring.runtime.cycle.cycle import CycleOptions, evaluate_preemption
from mooring.runtime.cycle.evaluation import Evaluation, begin
from mooring.runtime.cycle.full_cycle import FullCycle
from mooring.runtime.cycle.tie_break import choose
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder

from .pausing import Running, pause

ZONE = "topology.kubernetes.io/zone"
IN_FULL = CycleOptions()
TWO_CPUS, ONE_CPU = {"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}


def engine_of(*objects: Node | Pod, tuning: CacheTuning = DEFAULT_TUNING) -> tuple[Engine, State]:
    """Return the default configuration over a state with these objects."""
    registry, state = new_in_tree_registry(), State()
    state.replace("test", objects)
    return build_engine(default(registry.catalog()), registry, state, NoBinder(), tuning=tuning), state


def pod(name: str, **fields: Any) -> Pod:
    return make_pod(name, metadata={"uid": name}, **fields)


def put(state: State, *objects: Node | Pod | Remove) -> None:
    """Deliver changes in one step."""
    state.apply("test", [item if isinstance(item, Remove) else Put(item) for item in objects])


def gone(name: str) -> Remove:
    return Remove("Pod", "default", name)


def brief(choice: Choice) -> tuple[str | None, int, int, int]:
    return choice.node_name, choice.total, choice.tie_count, choice.feasible


def decide(engine: Engine, some: Pod, seed: int = 0, **options: Any) -> Choice:
    return engine.decide(some, engine.profile(), ALL_NODES, seed=seed, **options)


def assume(engine: Engine, some: Pod, seed: int = 0) -> Choice:
    return engine.place(some, engine.profile(), ALL_NODES, seed=seed)


def warm(engine: Engine, *templates: dict[str, Any]) -> None:
    """Decide often enough about pods like these for an evaluation to be kept."""
    for number in range(3):
        for at, template in enumerate(templates):
            decide(engine, pod(f"warm-{at}-{number}", **template))


def preferring(*weights: int) -> dict[str, Any]:
    """Return a pod that prefers nodes by label, so that its scores are stretched between the
    feasible nodes.
    """
    terms = [
        {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": "w", "operator": "In", "values": [str(weight)]}]},
        }
        for weight in weights
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    return {**ONE_CPU, "spec": {"affinity": affinity}}


def test_scores_are_stretched_anew_when_one_node_becomes_feasible_for_another() -> None:
    engine, state = engine_of(
        make_node("a", labels={"w": "5"}, allocatable={"cpu": "2"}),
        make_node("b", labels={"w": "1"}, allocatable={"cpu": "2"}),
        make_node("c"),
        pod("full-a", node="a", **TWO_CPUS),
    )
    wants = preferring(1, 5)
    warm(engine, wants)
    put(state, gone("full-a"), pod("full-b", node="b", **TWO_CPUS))
    asked = pod("asked", **wants)
    assert brief(decide(engine, asked)) == brief(decide(engine, asked, options=IN_FULL))


@pytest.mark.parametrize("rows", [3, 60], ids=["few changes", "many changes"])
def test_nodes_in_one_state_are_rated_although_the_one_that_stands_for_them_changes(rows: int) -> None:
    names = [f"n{at:02}" for at in range(2 * rows)]
    engine, state = engine_of(*map(make_node, names))
    asked = pod("asked", **ONE_CPU)
    warm(engine, ONE_CPU)
    decide(engine, pod("again", **ONE_CPU))
    put(state, *(pod(f"on-{name}", node=name, **ONE_CPU) for name in names[:rows]))
    with pause(ResourceScores, "rate", "put_at_once", thread="asks") as place:
        asks = Running("asks", partial(decide, engine, asked))
        place.wait()
        for name in {names[0], names[rows - 1]}:
            put(state, pod(f"more-{name}", node=name, **TWO_CPUS))
        place.go_on()
        found = asks.result()
    assert brief(found) == brief(decide(engine, asked, options=IN_FULL))


def test_a_dry_run_goes_on_with_the_numbers_that_it_began_with() -> None:
    """The second template begins the numbers again; the first one's values belong to the old ones."""
    asks = ONE_CPU, TWO_CPUS
    closed = make_node("z", allocatable={"cpu": "900", "pods": "9000"}, spec={"unschedulable": True})
    nodes = [make_node(f"n{at}", allocatable={"cpu": "8"}) for at in range(6)]
    engine, state = engine_of(
        closed, *nodes, tuning=CacheTuning(resource_states=16, resource_states_per_row=0)
    )
    profile, indices, uids = engine.profile(), [0, 1, 0, 0], ["u0", "u1", "u2", "u3"]
    templates = [(make_pod("t", **ask), profile) for ask in asks]
    for step in range(120):
        odd = {"cpu": f"{100 + 37 * step % 900}m"}
        put(state, pod(f"x{step % 9}", node="z", requests=odd))
        put(state, pod(f"y{step % 7}", node=f"n{step * 5 % 6}", **asks[step % 2]))
        found = engine.decide_batch(templates, indices, uids, seed=3)
        assert isinstance(found, ChoiceColumns)
        fork, names = state.fork(), []
        copy = engine.over(fork)
        for index, uid in zip(indices, uids, strict=True):
            one = pod(uid, **asks[index])
            name = decide(copy, one, seed=3, options=IN_FULL).node_name
            assert name is not None
            fork.assume(one, name)
            names.append(name)
        assert found.names == names


def test_no_change_is_missed_by_whoever_reads_while_another_thread_reads_the_log() -> None:
    """A cached value may claim a version only if it has seen all of its changes."""
    engine, state = engine_of(
        make_node("a", allocatable={"cpu": "4"}), make_node("b", allocatable={"cpu": "2"})
    )
    for guest in (None, "3", None):
        if guest is not None:
            put(state, pod("guest", node="a", requests={"cpu": guest}))
        warm(engine, TWO_CPUS, ONE_CPU)
        if guest is not None:
            put(state, gone("guest"))
    put(state, make_node("b", allocatable={"cpu": "2"}, labels={"x": "y"}))
    with (
        pause(CachedEvaluation, "_begin", thread="assuming") as begins,
        pause(ChangeTracker, "_move", thread="asking") as reads,
    ):
        assuming = Running("assuming", lambda: assume(engine, pod("victim", **TWO_CPUS)))
        begins.wait()
        put(state, pod("late", node="a", requests={"cpu": "3"}))
        put(state, make_node("b", allocatable={"cpu": "2"}, labels={"x": "z"}))
        asking = Running("asking", lambda: decide(engine, pod("asker", **ONE_CPU)))
        reads.wait()
        begins.go_on()
        time.sleep(0.05)
        reads.go_on()
        choice = assuming.result()
        asking.result()
    assert choice.node_name == "b"


def test_numbers_that_begin_anew_during_a_decision_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # A compiled pass, if an earlier test has left one, looks nothing up by number.
    monkeypatch.setattr(ResourceScores, "put_at_once", lambda *_: None)
    nodes = [make_node(f"n{at}", allocatable={"cpu": "8"}) for at in range(3)]
    closed = make_node("z", allocatable={"cpu": "900", "pods": "9000"}, spec={"unschedulable": True})
    engine, state = engine_of(
        *nodes, closed, tuning=CacheTuning(resource_states=32, resource_states_per_row=0)
    )
    warm(engine, TWO_CPUS, ONE_CPU)
    tracker, used = engine._cache.tracker, 0
    while tracker.count < 32:
        used += 1
        put(state, pod("x", node="z", requests={"cpu": f"{used}m"}))
        decide(engine, pod("v", **ONE_CPU))
    decide(engine, pod("v", **TWO_CPUS))
    put(state, pod("y", node="n0", requests={"cpu": "7"}), pod("x", node="z", requests={"cpu": "100"}))
    seed = next(seed for seed in range(99) if choose(seed, "q", 3) == 0)
    asked, generation = pod("q", **TWO_CPUS), tracker.generation
    with pause(NodeTotals, "apply_changes", thread="assuming") as taking:
        assuming = Running("assuming", lambda: assume(engine, asked, seed))
        taking.wait()
        for other in ("r", "s"):
            decide(engine, pod(other, **ONE_CPU))
            put(state, pod(f"on-z-{other}", node="z", requests={"cpu": "1"}))
        decide(engine, pod("t", **ONE_CPU))
        assert tracker.generation > generation
        expected = brief(decide(engine.over(state.fork()), asked, seed, options=IN_FULL))
        taking.go_on()
        assert brief(assuming.result()) == expected


def test_a_nomination_that_comes_during_a_decision_counts() -> None:
    engine, state = engine_of(make_node("a", allocatable={"cpu": "2"}))
    warm(engine, TWO_CPUS)
    first = pod("first", **TWO_CPUS, spec={"priority": 1000}, status={"nominatedNodeName": "a"})
    with pause(EvaluationCache, "find_decision", thread="assuming") as finding:
        assuming = Running("assuming", lambda: assume(engine, pod("late", **TWO_CPUS)))
        finding.wait()
        put(state, first)
        finding.go_on()
        assert assuming.result().node_name is None


NAMED = Candidates(lambda live: live.snapshot.nodes.rows())
"""All nodes, but named: the cache is not used."""


def changed_at_each_look(monkeypatch: pytest.MonkeyPatch, change: Callable[[int], object]) -> list[int]:
    """Make ``change`` after each look of the engine, called with the look's number; returns the numbers."""
    plain, looks = FullCycle.evaluate, list[int]()

    def look(self: FullCycle, *arguments: Any, **options: Any) -> Any:
        found = plain(self, *arguments, **options)
        looks.append(len(looks))
        change(looks[-1])
        return found

    monkeypatch.setattr(FullCycle, "evaluate", look)
    return looks


def apart(name: str) -> Pod:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, labels={"app": "a"}, spec={"affinity": affinity})


def test_a_rule_between_nodes_holds_though_only_another_node_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, state = engine_of(*(make_node(f"n{at}", labels={ZONE: "z"}) for at in range(2)))

    def change(look: int) -> None:
        if look < 4:
            put(state, make_node("n0", labels={ZONE: "z", "beat": str(look)}))
        elif look == 4:
            state.assume(apart("first"), "n1")

    changed_at_each_look(monkeypatch, change)
    choice = engine.place(apart("second"), engine.profile(), NAMED)
    placed = [record for record in state.snapshot.pods.records.values() if record.node_name]
    assert len(placed) == 1
    assert choice.node_name is None or placed[0].uid == "second"


def test_a_named_node_is_filtered_in_the_state_in_which_the_pod_is_assumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, state = engine_of(*(make_node(f"n{at}", labels={ZONE: "z"}) for at in range(2)))

    def change(look: int) -> None:
        if look < 4:
            put(state, make_node("n1", labels={ZONE: "z", "beat": str(look)}))
        elif look == 4:
            state.assume(apart("first"), "n1")

    changed_at_each_look(monkeypatch, change)
    evaluation = engine.assume_if_fits(apart("second"), "n0", engine.profile())
    assert not len(evaluation.feasible)


def test_heartbeats_do_not_make_a_decision_void(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, state = engine_of(make_node("a"), make_node("b"))

    def beat(look: int) -> None:
        put(state, make_node("b", metadata={"resourceVersion": str(look + 7)}))

    looks = changed_at_each_look(monkeypatch, beat)
    chosen = engine.place(pod("p"), engine.profile(), NAMED)
    assert chosen.node_name is not None
    assert len(looks) == 1


def test_a_pod_that_leaves_fails_no_preemption() -> None:
    """A plugin fails over a victim that is gone; the failure counts only if the state did not move."""
    count = 60
    engine, state = engine_of(*(make_node(f"n{at}", allocatable={"cpu": "4"}) for at in range(count)))
    put(state, *(pod(f"l{at}", node=f"n{at % count}", requests={"cpu": "900m"}) for at in range(4 * count)))
    stop = threading.Event()

    def replace_pods() -> None:
        at = 0
        while not stop.is_set():
            put(
                state,
                gone(f"l{at}"),
                pod(f"l{at + 4 * count}", node=f"n{at % count}", requests={"cpu": "900m"}),
            )
            at += 1

    churn = Running("churn", replace_pods)
    try:
        for number in range(40):
            high = pod(f"h{number}", requests={"cpu": "3"}, spec={"priority": 10})
            run = partial(evaluate_preemption, given=None, seed=1)
            engine.evaluate(high, engine.profile(), ALL_NODES, run=run)
    finally:
        stop.set()
        churn.result()


@pytest.mark.parametrize("moved", [pytest.param(True, id="moved"), pytest.param(False, id="at rest")])
def test_a_failure_counts_only_if_the_state_is_at_rest(*, moved: bool) -> None:
    engine, state = engine_of(make_node("a"))
    tries = []
    found = begin(engine.profile(), state, pod("p"), state.snapshot.nodes.rows())

    def run(*_: Any) -> Evaluation:
        tries.append(state.version)
        if len(tries) == 1:
            if moved:
                put(state, make_node("b"))
            raise PluginFailureError("failed", plugin="P", extension_point="Filter")
        return found

    if moved:
        assert engine.evaluate(pod("p"), engine.profile(), ALL_NODES, run=run) == (found, state.version)
    else:
        with pytest.raises(PluginFailureError):
            engine.evaluate(pod("p"), engine.profile(), ALL_NODES, run=run)
    assert len(tries) == 1 + moved


@pytest.mark.parametrize(
    "successor", [pytest.param(None, id="gone"), pytest.param("z", id="its row used again")]
)
def test_a_dry_run_names_a_node_that_it_looked_at(
    successor: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, state = engine_of(make_node("a"))

    def change(_: int) -> None:
        put(state, Remove("Node", "", "a"))
        if successor is not None:
            put(state, make_node(successor))

    changed_at_each_look(monkeypatch, change)
    assert decide(engine, pod("p"), options=IN_FULL).node_name == "a"
