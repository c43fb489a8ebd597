"""Pods are counted by columns, and the answer is that of asking pod by pod."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import LabelColumn
from mooring.framework.label_selector import NOTHING, LabelMatcher, Requirement, having
from mooring.framework.objects import Pod
from mooring.testing.builders import make_node, make_pod

KEYS, VALUES, NAMESPACES = ("app", "name", "tier"), ("a", "b", "c", ""), ("one", "two", "three")
NODES = tuple(f"n{at}" for at in range(6))
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
Question = tuple[LabelMatcher, frozenset[str] | None, bool]
Step = Put | Remove | Question


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    name = f"p{draw(st.integers(0, 20))}"
    labels = draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)))
    if draw(st.booleans()):
        labels["name"] = name
    return make_pod(
        name,
        labels=labels,
        node=draw(st.sampled_from(("", *NODES))),
        metadata={
            "uid": name,
            "namespace": draw(st.sampled_from(NAMESPACES)),
            **draw(st.sampled_from([{}, DELETED])),
        },
    )


def requirements() -> st.SearchStrategy[Requirement]:
    keys = st.sampled_from((*KEYS, "unknown"))
    values = st.frozensets(st.sampled_from((*VALUES, "p1", "p2", "unknown")), min_size=1)
    return st.one_of(
        st.builds(Requirement, keys, st.sampled_from(("In", "NotIn")), values),
        st.builds(Requirement, keys, st.sampled_from(("Exists", "DoesNotExist"))),
    )


def questions() -> st.SearchStrategy[Question]:
    matchers = st.builds(LabelMatcher, st.lists(requirements(), max_size=3).map(tuple))
    names = st.none() | st.frozensets(st.sampled_from((*NAMESPACES, "unknown")))
    return st.tuples(st.one_of(matchers, matchers, st.just(NOTHING)), names, st.booleans())


def steps() -> st.SearchStrategy[Step]:
    nodes = st.sampled_from(NODES)
    return st.one_of(
        st.builds(Put, pods()),
        st.builds(Put, pods()),
        st.builds(Put, st.builds(make_node, nodes)),
        st.builds(Remove, st.just("Node"), st.just(""), nodes),
        st.builds(
            Remove, st.just("Pod"), st.sampled_from(NAMESPACES), st.integers(0, 20).map(lambda at: f"p{at}")
        ),
        questions(),
    )


def counted(state: State, question: Question) -> list[int]:
    selector, namespaces, terminating = question
    snapshot = state.snapshot
    capacity = snapshot.nodes.capacity
    found = snapshot.pods.classes.by_row(selector, namespaces, capacity, terminating=terminating)
    return [int(count) for count in found]


def plainly_counted(state: State, question: Question) -> list[int]:
    selector, namespaces, terminating = question
    found: Counter[int] = Counter()
    for record in state.snapshot.pods.records.values():
        meta = record.pod.metadata
        if namespaces is not None and meta.namespace not in namespaces:
            continue
        if (terminating or meta.deletion_timestamp is None) and selector.matches(meta.labels):
            found[record.row] += 1
    return [found[row] for row in range(state.snapshot.nodes.capacity)]


def run(state: State, history: Sequence[Step]) -> None:
    for step in history:
        if isinstance(step, tuple):
            assert counted(state, step) == plainly_counted(state, step)
        else:
            state.apply("test", [step])


EVERY: tuple[Question, ...] = tuple(
    (selector, namespaces, False)
    for selector in (LabelMatcher(), *(having({key: value}) for key in KEYS for value in VALUES))
    for namespaces in (None, *(frozenset({name}) for name in NAMESPACES))
)


@given(st.lists(steps(), max_size=30), st.lists(steps(), max_size=20), st.lists(steps(), max_size=20))
def test_columns_count_what_pods_one_by_one_do(
    history: list[Step], on_origin: list[Step], on_fork: list[Step]
) -> None:
    state = State()
    state.replace("test", [make_node(name) for name in NODES[:4]])
    run(state, history)
    fork = state.fork()
    run(state, on_origin)
    run(fork, on_fork)
    for each in (state, fork, state.fork()):
        run(each, EVERY)


def test_a_fork_and_its_origin_describe_new_pods_apart() -> None:
    state = State()
    state.replace("test", [make_node(name) for name in NODES])
    run(state, EVERY)  # All columns are there.
    fork = state.fork()
    for which, key in ((state, "app"), (fork, "tier"), (state, "name")):
        labels, space = {key: "a"}, {"metadata": {"namespace": key}}
        run(
            which,
            [*(Put(make_pod(f"{key}{at}", labels=labels, node="n0", **space)) for at in range(3)), *EVERY],
        )
        run(state, [(LabelMatcher(), frozenset({"app"}), True), *EVERY])
        run(fork, [(LabelMatcher(), frozenset({"tier"}), True), *EVERY])


@pytest.mark.parametrize(
    ("others", "later"),
    [
        pytest.param({}, {"app": "b", "name": "b"}, id="the-only-one-of-its-labels-before-and-after"),
        pytest.param({}, {"name": "c"}, id="it-loses-a-label"),
        pytest.param({"app": "b"}, {"app": "b"}, id="others-have-what-it-gets"),
        pytest.param({"app": "a"}, {"app": "b"}, id="others-have-what-it-had"),
    ],
)
def test_a_pod_that_stays_where_it_is_counts_by_its_new_labels(
    others: dict[str, str], later: dict[str, str]
) -> None:
    state = State()
    state.replace("test", [make_node(name) for name in NODES])
    run(state, [Put(make_pod("p0", labels={"app": "a"}, node="n0"))])
    if others:
        run(state, [Put(make_pod("p1", labels=others, node="n1"))])
    run(state, EVERY)  # All columns are there.
    fork = state.fork()
    for labels in (later, {"app": "a"}, later):
        run(state, [Put(make_pod("p0", labels=labels, node="n0")), *EVERY])
        run(fork, EVERY)
    for which in (state, fork):
        run(which, [Remove("Pod", "default", "p0"), *EVERY])


def own(at: int, **fields: object) -> Pod:
    return make_pod(f"p{at}", labels={"app": "a", "name": f"p{at}", f"k{at}": "v"}, node="n0", **fields)


def with_pods(count: int) -> State:
    state = State()
    state.replace("test", [make_node("n0"), *(own(at) for at in range(count))])
    return state


NAMED: Question = (LabelMatcher((Requirement("name", "Exists"),)), None, True)


def test_selectors_by_any_number_of_keys_are_answered() -> None:
    state, keys = with_pods(200), [f"k{at}" for at in range(200)]
    for question in [(LabelMatcher((Requirement(key, "Exists"),)), None, True) for key in (*keys, *keys[:9])]:
        assert counted(state, question)[0] == 1
        state.apply("test", [Remove("Pod", "default", "p150"), Put(own(150))])
    assert len(state.snapshot.pods.classes.label_columns) < len(keys)


@pytest.mark.parametrize(
    ("put", "column"),
    [
        pytest.param(
            own,
            lambda state: state.snapshot.pods.classes.label_columns["name"],
            id="labels",
        ),
        pytest.param(
            lambda at: own(at, metadata={"namespace": f"space{at}"}),
            lambda state: state.snapshot.pods.classes.namespaces,
            id="namespaces",
        ),
    ],
)
def test_what_pods_that_are_gone_were_called_is_forgotten(
    put: Callable[[int], Pod], column: Callable[[State], LabelColumn]
) -> None:
    state = with_pods(3)
    most = 0
    for at in range(3, 300):
        pod = put(at)
        state.apply("test", [Put(pod)])
        assert counted(state, NAMED)[0] == 4
        assert counted(state, (having({"name": f"p{at}"}), frozenset({pod.metadata.namespace}), True))[0] == 1
        most = max(most, len(column(state).values))
        state.apply("test", [Remove("Pod", pod.metadata.namespace, pod.metadata.name)])
    assert most < 100


def test_counts_of_many_pods_are_whole_while_others_are_written() -> None:
    state, stop = with_pods(40), threading.Event()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            while not stop.is_set():
                for key in ("app", "name", "absent"):
                    counted(state, (LabelMatcher((Requirement(key, "NotIn", frozenset("x")),)), None, False))
        except BaseException as error:  # noqa: BLE001  # the other thread reports it
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for at in range(40, 1000):
            state.apply("test", [Put(own(at, metadata={"namespace": f"space{at}"}))])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not failures
    assert counted(state, NAMED)[0] == 1000
