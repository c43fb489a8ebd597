"""Labels that no selector names make neither a signature nor an evaluation; those that one names do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster import table_writer
from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework.selected_labels import keys_of_pod, selected_labels
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.tracking import change_tracker
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_node, make_pod
from mooring.testing.builders import Manifest
from tests.examples import examples
from tests.laboratories.histories.comparing import facts

from .test_cached_equals_full import HOST, NODES, SMALL, ZONE, History, Step

KEYS = ("app", "own", "role")
NAMES_OWN: Manifest = {"matchExpressions": [{"key": "own", "operator": "Exists"}]}
NODE_STEPS: list[Step] = [
    ("node", name, "4", ("z1", "z2")[at % 2], None, set(), False) for at, name in enumerate(NODES)
]


def apart(selector: Manifest, **term: Any) -> Manifest:
    """Anti-affinity by host."""
    terms = [{"topologyKey": HOST, "labelSelector": selector, **term}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def rather(kind: str, selector: Manifest) -> Manifest:
    term = {"weight": 3, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": selector}}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(action: str, selector: Manifest, keys: tuple[str, ...] = ()) -> Manifest:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": action, "labelSelector": selector}
    return {"topologySpreadConstraints": [{**constraint, "matchLabelKeys": list(keys)}]}


class Labelled(History):
    """A history of pods with labels of their own, and of selectors."""

    def ask(self, labels: dict[str, str], spec: Manifest, owner: bool) -> None:
        metadata = {"ownerReferences": [OWNER]} if owner else {}
        self._count += 1
        uid = f"u{self._count}"
        pod = make_pod(
            f"p{self._count}", labels=labels, requests=SMALL, spec=spec, metadata={"uid": uid, **metadata}
        )
        expected = facts(self._in_full(pod, 5, self.engine.start))
        assert facts(self.engine.place(pod, self.engine.profile(), ALL_NODES, seed=5)) == expected
        self._assumed.append(uid)

    def select(self, number: int, labels: dict[str, str], spec: Manifest) -> None:
        name = f"placed-{number}"
        pod = make_pod(
            name, node=NODES[number], labels=labels, requests={}, spec=spec, metadata={"uid": name}
        )
        self.state.apply("test", [Put(pod)])

    def serve(self, kind: str, labels: dict[str, str]) -> None:
        selector = labels if kind == "Service" else {"matchLabels": labels}
        version = "v1" if kind == "Service" else "apps/v1"
        metadata = {"name": "set", "namespace": "default"}
        manifest = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}
        self.state.apply("test", [Put(from_manifest(manifest)) if labels else Remove(kind, "default", "set")])


OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "set", "uid": "set", "controller": True}

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from("xy"), max_size=3)
expressions = st.builds(
    lambda key, operator: {
        "key": key,
        "operator": operator,
        **({"values": ["x"]} if operator.endswith("In") else {}),
    },
    st.sampled_from(KEYS),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
)
selectors = st.one_of(
    st.builds(lambda chosen: {"matchLabels": chosen}, labels),
    st.builds(lambda chosen: {"matchExpressions": [chosen]}, expressions),
)
specs: st.SearchStrategy[Manifest] = st.one_of(
    st.just({}),
    st.just({}),
    st.builds(apart, selectors),
    st.builds(rather, st.sampled_from(("podAffinity", "podAntiAffinity")), selectors),
    st.builds(
        spread,
        st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
        selectors,
        st.sampled_from(((), ("own",), ("app", "role"))),
    ),
)
steps = st.one_of(
    st.tuples(st.just("ask"), labels, st.just({}), st.booleans()),
    st.tuples(st.just("ask"), labels, st.just({}), st.booleans()),
    st.tuples(st.just("ask"), labels, specs, st.booleans()),
    st.tuples(st.just("select"), st.integers(0, 6), labels, specs),
    st.tuples(st.just("serve"), st.sampled_from(("Service", "StatefulSet")), labels),
    st.tuples(st.just("remove_pod"), st.integers(0, 6)),
    st.just(("forget",)),
)


@examples(200)
@given(st.sampled_from((0, 256)), st.lists(steps, min_size=5, max_size=40))
def test_whatever_selects_pods_their_answers_are_those_in_full(first: int, later: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_writer, "_FIRST_KEYS", first)
        patch.setattr(change_tracker, "_MAX_AFFINITIES", max(1, first))
        Labelled().run([*NODE_STEPS, *later])


def own_label(number: int) -> dict[str, str]:
    return {"app": "a", "own": f"pod-{number}"}


@pytest.mark.parametrize(
    ("spec", "evaluations"),
    [
        pytest.param({}, 1, id="nothing"),
        pytest.param(spread("DoNotSchedule", {"matchLabels": {"app": "a"}}), 1, id="another-label"),
        pytest.param(apart({"matchLabels": {"app": "b"}}), 1, id="another-label-of-others"),
        pytest.param(spread("DoNotSchedule", {"matchLabels": {"own": "pod-3"}}), 8, id="spread-by-it"),
        pytest.param(
            spread("ScheduleAnyway", {"matchLabels": {"app": "a"}}, ("own",)), 8, id="spread-by-its-value"
        ),
        pytest.param(apart(NAMES_OWN), 8, id="apart-by-it"),
    ],
)
def test_pods_with_a_label_of_their_own_share_an_evaluation_unless_it_is_named(
    spec: Manifest, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[CachedEvaluation] = []
    begin = CachedEvaluation.__init__

    def beginning(self: CachedEvaluation, *arguments: Any) -> None:
        made.append(self)
        begin(self, *arguments)

    monkeypatch.setattr(CachedEvaluation, "__init__", beginning)
    history = Labelled().run(NODE_STEPS)
    for number in range(8):
        pod = make_pod(
            "p", labels=own_label(number), requests=SMALL, spec=spec, metadata={"uid": f"{number}"}
        )
        history.engine.decide(pod, history.engine.profile(), ALL_NODES, seed=1)
    assert len(made) == evaluations


Select = Callable[[Labelled], object]


@pytest.mark.parametrize(
    "select",
    [
        pytest.param(lambda history: history.select(2, {}, apart(NAMES_OWN)), id="anti-affinity"),
        pytest.param(
            lambda history: history.select(2, {}, rather("podAffinity", NAMES_OWN)), id="preferred-affinity"
        ),
        pytest.param(lambda history: history.serve("Service", {"own": "pod-7"}), id="service"),
        pytest.param(lambda history: history.serve("StatefulSet", {"own": "pod-7"}), id="controller"),
    ],
)
def test_a_label_counts_from_when_it_is_named_on(select: Select) -> None:
    history = Labelled().run(NODE_STEPS)
    for number in range(4):
        history.ask(own_label(number), {}, True)
    assert "own" not in history.state.snapshot.pods.selected_keys
    select(history)
    assert "own" in history.state.snapshot.pods.selected_keys
    for _ in range(3):
        history.ask(own_label(7), {}, True)
        history.ask({"app": "a"}, {}, True)


def test_a_label_that_is_named_while_a_pod_is_decided_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    history = Labelled().run(NODE_STEPS[:2])
    engine = history.engine
    history.ask(own_label(0), {}, False)
    update = CachedEvaluation.update
    named = iter([True])

    def named_meanwhile(self: CachedEvaluation, *args: Any, **fields: Any) -> None:
        if next(named, False):
            history.select(0, {}, apart({"matchLabels": {"own": "pod-1"}}))
        update(self, *args, **fields)

    monkeypatch.setattr(CachedEvaluation, "update", named_meanwhile)
    pod = make_pod("q", labels=own_label(1), requests=SMALL, metadata={"uid": "q"})
    assert engine.place(pod, engine.profile(), ALL_NODES, seed=0).node_name == NODES[1]


def test_keys_that_none_names_any_more_are_forgotten_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "_FIRST_KEYS", 4)
    state = State()
    state.apply("test", [Put(make_node("n"))])
    for number in range(40):
        term = apart({"matchLabels": {f"key-{number}": "x"}})
        state.apply("test", [Put(make_pod("p", node="n", spec=term, metadata={"uid": f"u{number}"}))])
        keys = state.snapshot.pods.selected_keys
        assert f"key-{number}" in keys
        assert len(keys) <= 4
        assert state.fork().snapshot.pods.selected_keys == keys


def test_what_a_pod_selects_by_itself() -> None:
    spec = {
        **apart({"matchLabels": {"a": "1"}}, matchLabelKeys=["b"], mismatchLabelKeys=["c"]),
        **spread("DoNotSchedule", {"matchExpressions": [{"key": "d", "operator": "Exists"}]}, ("e",)),
    }
    pod = make_pod("p", labels=dict.fromkeys("abcdefg", "1"), spec=spec)
    assert keys_of_pod(pod) == set("abcde")
    assert selected_labels(pod, frozenset("fx")) == dict.fromkeys("abcdef", "1")
    assert selected_labels(pod, frozenset("abcdefgh")) is pod.metadata.labels
