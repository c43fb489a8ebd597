"""Kept evaluations: after any history each decision is the one that an evaluation in full makes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.config import default, from_document
from mooring.framework import Pod
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.outcome import NEEDS_PLUGINS
from mooring.runtime.cycle import sampling
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.choice import Choice, ChoiceColumns
from mooring.runtime.cycle.cycle import CycleOptions, evaluate
from mooring.runtime.cycle.evaluation import Evaluation
from mooring.runtime.cycle.full_cycle import select
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.runtime.cycle.tie_break import mix64
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning
from mooring.testing import make_node, make_pod
from mooring.testing.builders import Manifest
from mooring.testing.question import NoBinder
from tests.compiled_loops import compiled_loops
from tests.examples import examples
from tests.laboratories.histories.comparing import facts

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APP_A: Manifest = {"matchLabels": {"app": "a"}}
NODES = tuple(f"n{number}" for number in range(7))


def spread(key: str, action: str) -> Manifest:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": action,
                "labelSelector": APP_A,
            }
        ]
    }


def near(kind: str, key: str, *, required: bool) -> Manifest:
    term = {"topologyKey": key, "labelSelector": APP_A}
    if required:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    weighted = {"weight": 7, "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


def preferring(*labels: str) -> Manifest:
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": label, "operator": "Exists"}]}}
        for weight, label in enumerate(labels, 1)
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


SMALL, LARGE = {"cpu": "500m", "memory": "1Gi"}, {"cpu": "2", "memory": "5Gi"}
TEMPLATES: dict[str, dict[str, Any]] = {
    "small": {"requests": SMALL},
    "large": {"requests": LARGE},
    "asks for nothing": {},
    "of a service": {"requests": SMALL, "labels": {"app": "a"}},
    "tolerant": {"requests": SMALL, "spec": {"tolerations": [{"operator": "Exists"}]}},
    "selecting": {"requests": SMALL, "spec": {"nodeSelector": {"disk": "ssd"}}},
    "preferring": {"requests": SMALL, "spec": preferring("disk", "gpu")},
    "with a port": {"spec": {"containers": [{"name": "c", "image": "app:1", "ports": [{"hostPort": 80}]}]}},
    "spread hard": {"requests": SMALL, "labels": {"app": "a"}, "spec": spread(ZONE, "DoNotSchedule")},
    "spread by host": {"requests": SMALL, "labels": {"app": "a"}, "spec": spread(HOST, "DoNotSchedule")},
    "spread softly": {"requests": SMALL, "labels": {"app": "a"}, "spec": spread(ZONE, "ScheduleAnyway")},
    "near": {"labels": {"app": "a"}, "spec": near("podAffinity", ZONE, required=True)},
    "rather near": {"requests": SMALL, "spec": near("podAffinity", HOST, required=False)},
    "apart": {"labels": {"app": "a"}, "spec": near("podAntiAffinity", HOST, required=True)},
    "spread, apart and with a port": {
        "labels": {"app": "a"},
        "spec": {
            **spread(ZONE, "DoNotSchedule"),
            **near("podAntiAffinity", HOST, required=True),
            "containers": [{"name": "c", "image": "app:1", "ports": [{"hostPort": 80}]}],
        },
    },
    "rather apart": {"labels": {"app": "a"}, "spec": near("podAntiAffinity", ZONE, required=False)},
}

Step = tuple[Any, ...]


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Decisions about a few kinds of pods above all; between them whatever sources deliver."""
    some = draw(st.lists(st.sampled_from(sorted(TEMPLATES)), min_size=1, max_size=3))
    decide = st.tuples(st.just("decide"), st.sampled_from(some))
    others = st.one_of(
        st.just(("forget",)),
        st.tuples(st.just("decide_own"), st.integers(0, 3000)),
        st.tuples(
            st.just("node"),
            st.sampled_from(NODES),
            st.sampled_from(("2", "4", "7500m")),
            st.sampled_from(("z1", "z2", None)),
            st.sampled_from((None, "soft", "hard")),
            st.sets(st.sampled_from(("disk", "gpu"))),
            st.booleans(),
        ),
        st.tuples(
            st.just("placed"), st.integers(0, 5), st.sampled_from(sorted(TEMPLATES)), st.sampled_from(NODES)
        ),
        st.tuples(st.just("remove_node"), st.sampled_from(NODES)),
        st.tuples(st.just("remove_pod"), st.integers(0, 5)),
        st.tuples(st.just("service"), st.booleans()),
    )
    return draw(st.lists(st.one_of(decide, decide, decide, others), min_size=5, max_size=50))


class History:
    """A cluster to which things happen, with the default profile or a configuration.

    Attributes:
        kept: How many decisions came from a kept evaluation.
    """

    def __init__(self, document: dict[str, Any] | None = None, tuning: CacheTuning = DEFAULT_TUNING) -> None:
        self.state = State()
        registry = new_in_tree_registry()
        catalog = registry.catalog()
        configuration = from_document(document, catalog) if document else default(catalog)
        self.engine: Engine = build_engine(configuration, registry, self.state, NoBinder(), tuning=tuning)
        self.kept = 0
        self._assumed: list[str] = []
        self._count = 0

    def run(self, steps: Iterable[Step]) -> Self:
        for name, *arguments in steps:
            getattr(self, name)(*arguments)
        return self

    def decide(self, template: str) -> None:
        """The same pod, in full and as the engine does it."""
        self._decide(**TEMPLATES[template])

    def decide_own(self, cpu: int) -> None:
        """Decide about a pod with unusual requests."""
        self._decide(requests={"cpu": f"{cpu}m", "memory": "100Mi"})

    def _decide(self, **fields: Any) -> None:
        self._count += 1
        uid = f"u{self._count}"
        pod = make_pod(f"p{self._count}", metadata={"uid": uid}, **fields)
        profile = self.engine.profile()
        full = self._in_full(pod, 5, self.engine.start)
        dry = self.engine.decide(pod, profile, ALL_NODES, seed=6)
        assert facts(dry) == facts(self._in_full(pod, 6, mix64(6, uid)))
        choice = self.engine.place(pod, profile, ALL_NODES, seed=5)
        assert facts(choice) == facts(full)
        self.kept += not isinstance(choice.source, Evaluation)
        if choice.node_name is not None:
            self._assumed.append(uid)

    def _in_full(self, pod: Pod, seed: int, start: int) -> Choice:
        run = partial(evaluate, options=CycleOptions(start=start))
        evaluation, version = self.engine.evaluate(pod, self.engine.profile(), ALL_NODES, run=run)
        return select(evaluation, version, seed)

    def forget(self) -> None:
        if self._assumed:
            self.state.forget(self._assumed.pop())

    def node(
        self, name: str, cpu: str, zone: str | None, taint: str | None, labels: set[str], cordoned: bool
    ) -> None:
        effect = {"soft": "PreferNoSchedule", "hard": "NoSchedule"}.get(taint or "")
        node = make_node(
            name,
            labels={**({ZONE: zone} if zone else {}), **dict.fromkeys(labels, "ssd")},
            allocatable={"cpu": cpu, "pods": 4, **self._offers_beside(labels)},
            taints=[{"key": "dedicated", "effect": effect}] if effect else (),
            spec={"unschedulable": cordoned},
            status={"images": [{"names": ["registry.example/app:1"], "sizeBytes": 10**9}]} if zone else {},
        )
        self.state.apply("test", [Put(node)])

    def _offers_beside(self, _labels: set[str]) -> Manifest:
        """Return a node's resources besides CPU, by its labels."""
        return {}

    def placed(self, number: int, template: str, node: str) -> None:
        pod = make_pod(
            f"placed-{number}", node=node, metadata={"uid": f"placed-{number}"}, **TEMPLATES[template]
        )
        self.state.apply("test", [Put(pod)])

    def remove_node(self, name: str) -> None:
        self.state.apply("test", [Remove("Node", "", name)])

    def remove_pod(self, number: int) -> None:
        self.state.apply("test", [Remove("Pod", "default", f"placed-{number}")])

    def service(self, there: bool) -> None:
        manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
        change = Put(from_manifest({**manifest, "spec": {"selector": {"app": "a"}}}))
        self.state.apply("test", [change if there else Remove("Service", "default", "s")])


EMPTY_DOCUMENT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
EMPTY_NODES: list[Step] = [
    ("node", "n0", "4", "z1", None, {"disk"}, False),
    ("node", "n1", "4", "z2", None, {"gpu"}, False),
    ("node", "n2", "4", "z1", None, {"disk", "gpu"}, False),
    ("node", "n3", "2", "z2", "soft", set(), False),
    ("node", "n4", "2", "z1", None, set(), False),
    ("node", "n5", "2", "z2", None, {"gpu"}, False),
]


@examples(150)
@given(histories())
def test_decisions_from_kept_evaluations_are_those_in_full(later: list[Step]) -> None:
    History().run([*EMPTY_NODES, *later])


@examples(150)
@given(histories())
def test_changed_rows_that_are_looked_at_as_columns_make_no_difference(later: list[Step]) -> None:
    History(tuning=CacheTuning(changed_rows=-1)).run([*EMPTY_NODES, *later])


@pytest.mark.slow
@examples(150)
@given(st.sampled_from((-1, 1)), st.sampled_from((0, 2)), histories())
def test_rows_that_a_compiled_pass_rates_make_no_difference(
    few: int, searches: int, later: list[Step]
) -> None:
    tuning = CacheTuning(changed_rows_beside_a_pass=few, unranked_selections=searches)
    with compiled_loops():
        History(tuning=tuning).run([*EMPTY_NODES, *later])


@examples(100)
@given(st.sampled_from((0, 10, 40, 70)), histories())
def test_those_of_a_search_that_ends_before_all_nodes_were_looked_at_are_too(
    percentage: int, later: list[Step]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "MIN_FEASIBLE_NODES", 1)
        document = {**EMPTY_DOCUMENT, "percentageOfNodesToScore": percentage}
        History(document).run([*EMPTY_NODES, *later])


@examples(50)
@given(histories())
def test_decisions_that_ask_no_plugin_are_the_same_or_none(later: list[Step]) -> None:
    history = History().run(EMPTY_NODES)
    engine = history.engine
    for number, step in enumerate(later):
        history.run([step])
        for name in ("small", "spread hard"):
            pod = make_pod("asked", metadata={"uid": f"asked-{number}"}, **TEMPLATES[name])
            template = pod, engine.profile()
            alone = NoDeadline(may_call_plugins=False)
            found = engine.decide_batch([template], [0], [pod.metadata.uid], seed=5, progress=alone)
            full = engine.decide(pod, engine.profile(), ALL_NODES, seed=5, options=CycleOptions())
            assert found in (None, NEEDS_PLUGINS) or found == ChoiceColumns.of(
                full, history.state.snapshot.nodes.epoch
            )
            again = engine.decide(pod, engine.profile(), ALL_NODES, seed=5)
            assert facts(again) == facts(full)


def test_a_pod_that_has_its_node_already_counts_once_when_it_is_decided_again() -> None:
    nodes = EMPTY_NODES[0], EMPTY_NODES[3]
    history = History().run([*nodes, *[("decide", "small")] * 4, ("forget",), ("forget",)])
    again = make_pod("p2", metadata={"uid": "u2"}, **TEMPLATES["small"])
    version = history.state.version
    choice = history.engine.place(again, history.engine.profile(), ALL_NODES, seed=5)
    assert (choice.node_name, history.state.version) == ("n0", version)
    history.run([("decide", "small"), ("decide", "small")])
