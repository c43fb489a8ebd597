"""Pods that each name their node, like those of a DaemonSet, share an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.named_node import named_node, without_named_node
from mooring.runtime.cache.layers.cached_evaluation import CachedEvaluation
from mooring.runtime.cache.tracking.change_tracker import Changes, ChangeTracker
from mooring.runtime.cycle import sampling
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.testing import make_pod
from mooring.testing.builders import Manifest
from tests.examples import examples

from .test_cached_equals_full import EMPTY_DOCUMENT, HOST, NODES, ZONE, Step
from .test_claim_scores import MANY, ClaimHistory, claiming
from .test_selected_labels import NODE_STEPS, Labelled

HARD_DEFAULTS: Manifest = {
    **EMPTY_DOCUMENT,
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
                        ],
                    },
                }
            ]
        }
    ],
}
WITHOUT: Manifest = {
    **EMPTY_DOCUMENT,
    "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}}],
}
SAMPLING: Manifest = {**EMPTY_DOCUMENT, "percentageOfNodesToScore": 40}
DOCUMENTS = {
    "default": None,
    "hard defaults": HARD_DEFAULTS,
    "no NodeAffinity": WITHOUT,
    "sampling": SAMPLING,
}


def named(*names: str, operator: str = "In", also: tuple[Manifest, ...] = ()) -> Manifest:
    """Return a term that names nodes, and may have expressions as well."""
    field = {"key": "metadata.name", "operator": operator, "values": list(names)}
    return {"matchFields": [field], **({"matchExpressions": list(also)} if also else {})}


def requiring(*terms: Manifest, **more: Any) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": {**required, **more}}}


def one(name: str, spec: Manifest) -> Manifest:
    return {**requiring(named(name)), **spec}


def spread(key: str, action: str) -> Manifest:
    constraint: Manifest = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action}
    if action == "DoNotSchedule":
        constraint["minDomains"] = 2
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "x"}}}]}


IN_Z1 = {"key": ZONE, "operator": "In", "values": ["z1"]}
PORT: Manifest = {"containers": [{"name": "c", "image": "app:1", "ports": [{"hostPort": 80}]}]}
names = st.sampled_from((*NODES, "nowhere"))
specs = st.one_of(
    st.builds(one, names, st.sampled_from(({}, PORT, spread(ZONE, "ScheduleAnyway")))),
    st.builds(one, names, st.builds(spread, st.sampled_from((ZONE, HOST)), st.just("DoNotSchedule"))),
    st.builds(lambda name: requiring(named(name, also=(IN_Z1,))), names),
    st.builds(lambda name: requiring(named(name, operator="NotIn")), names),
    st.builds(lambda name, other: requiring(named(name, other)), names, names),
    st.builds(lambda name, other: requiring(named(name), named(other)), names, names),
    st.just({}),
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(({}, {"app": "x"})), specs, st.booleans()),
    st.tuples(st.just("ask"), st.sampled_from(({}, {"app": "x"})), specs, st.booleans()),
    st.tuples(st.just("select"), st.integers(0, 6), st.just({"app": "x"}), st.sampled_from(({}, PORT))),
    st.tuples(st.just("serve"), st.just("Service"), st.sampled_from(({}, {"app": "x"}))),
    st.tuples(st.just("node"), *map(st.just, ("n0", "4", "z2", "hard", set(), False))),
    st.tuples(st.just("remove_node"), st.sampled_from(NODES)),
    st.just(("forget",)),
)


@examples(200)
@given(st.sampled_from(sorted(DOCUMENTS)), st.lists(steps, min_size=5, max_size=30))
def test_their_answers_are_those_in_full(document: str, later: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "MIN_FEASIBLE_NODES", 1)
        Labelled(DOCUMENTS[document]).run([*NODE_STEPS, *later])


def test_they_share_an_evaluation_with_pods_that_name_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CachedEvaluation] = []
    begin = CachedEvaluation.__init__

    def beginning(self: CachedEvaluation, *arguments: Any) -> None:
        made.append(self)
        begin(self, *arguments)

    monkeypatch.setattr(CachedEvaluation, "__init__", beginning)
    history = Labelled().run(NODE_STEPS)
    profile = history.engine.profile()
    for number, name in enumerate(NODES):
        pod = make_pod("daemon", spec=requiring(named(name)), metadata={"uid": f"u{number}"})
        assert history.engine.place(pod, profile, ALL_NODES).node_name == name
    history.engine.place(make_pod("any", metadata={"uid": "any"}), profile, ALL_NODES)
    assert len(made) == 1


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(lambda at: requiring(named(NODES[at % len(NODES)])), id="names a node"),
        pytest.param(lambda _: claiming("v0"), id="has a claim"),
        pytest.param(lambda _: {}, id="is plain"),
    ],
)
def test_a_pod_that_is_assumed_is_taken_in_at_once(
    spec: Callable[[int], Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = ClaimHistory().run([*MANY, ("volume", "v0", None), ("claim", "v0", True)])
    profile, read, steps = history.engine.profile(), ChangeTracker.read, []

    def reading(self: ChangeTracker, version: int) -> Changes:
        steps.append(version)
        return read(self, version)

    monkeypatch.setattr(ChangeTracker, "read", reading)

    for at in range(3 * len(NODES)):
        pod = make_pod("p", spec=spec(at), requests={"cpu": "1m"}, metadata={"uid": f"u{at}"})
        assert history.engine.place(pod, profile, ALL_NODES).node_name
    # It is read for unknown amounts, and as long as nothing is ranked.
    assert len(steps) < 2 * len(NODES)


def test_a_hard_constraint_counts_on_the_named_node_alone() -> None:
    history = Labelled().run(NODE_STEPS)
    for number in range(2):
        history.select(number, {"app": "x"}, {})
    spec = one(NODES[0], spread(ZONE, "DoNotSchedule"))
    pod = make_pod("p", labels={"app": "x"}, spec=spec, metadata={"uid": "p"})
    for _ in range(2):
        # The other zone has no node that the pod may go to, so the emptiest of two zones has no pods.
        assert history.engine.decide(pod, history.engine.profile(), ALL_NODES).node_name is None


@pytest.mark.parametrize(
    ("spec", "name", "left"),
    [
        pytest.param(requiring(named("n")), "n", {}, id="a node"),
        pytest.param(
            requiring(named("n", also=(IN_Z1,))),
            "n",
            requiring({"matchExpressions": [IN_Z1]}),
            id="and a label",
        ),
        pytest.param(requiring(named("n"), named("m")), "", None, id="two terms"),
        pytest.param(requiring(named("n", "m")), "", None, id="two nodes"),
        pytest.param(requiring(named("n", operator="NotIn")), "", None, id="not that node"),
        pytest.param(requiring({"matchExpressions": [IN_Z1]}), "", None, id="a label"),
        pytest.param({}, "", None, id="nothing"),
    ],
)
def test_which_node_a_pod_names(spec: Manifest, name: str, left: Manifest | None) -> None:
    pod = make_pod("p", spec=spec)
    assert named_node(pod) == name
    if left is not None:
        assert without_named_node(pod) == make_pod("p", spec=left)
