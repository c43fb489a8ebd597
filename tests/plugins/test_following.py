"""A plugin's notes follow the pods that come and go: they equal new notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Change, Put, Remove
from mooring.cluster.state import State
from mooring.framework import Code, CycleState, Int32s, NodeView, Pod, PodChange, Status
from mooring.kernels.arrays import REJECTED
from mooring.plugins.inter_pod_affinity.plugin import InterPodAffinity
from mooring.plugins.pod_topology_spread.plugin import PodTopologySpread
from mooring.testing.builders import Manifest, make_node, make_pod
from tests.compiled_loops import compiled_loops, loops_as_written
from tests.plugins.harness import make

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
KEYS = st.sampled_from([ZONE, HOST])
SELECTORS = st.sampled_from(
    [{"matchLabels": {"app": "a"}}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}]
)
NODES = {
    "n0": {ZONE: "z1", HOST: "n0"},
    "n1": {ZONE: "z1", HOST: "n1"},
    "n2": {ZONE: "z2"},
    "n3": {HOST: "n3"},
    "n4": {ZONE: "", HOST: "n4"},
}

CONSTRAINTS = st.builds(
    lambda key, selector, action, skew, least: {
        "topologyKey": key,
        "labelSelector": selector,
        "whenUnsatisfiable": action,
        "maxSkew": skew,
        **({"minDomains": least} if action == "DoNotSchedule" else {}),
    },
    KEYS,
    SELECTORS,
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    st.integers(1, 2),
    st.integers(1, 3),
)
SPREADING = st.lists(CONSTRAINTS, min_size=1, max_size=3).map(
    lambda constraints: {"topologySpreadConstraints": constraints}
)


def term(key: str, selector: Manifest, namespaces: list[str]) -> Manifest:
    return {"topologyKey": key, "labelSelector": selector, "namespaces": namespaces}


TERMS = st.builds(term, KEYS, SELECTORS, st.sampled_from([[], ["other"], ["default", "other"]]))
SIDES = st.builds(
    lambda required, preferred: {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": wanted} for weight, wanted in preferred
        ],
    },
    st.lists(TERMS, max_size=2),
    st.lists(st.tuples(st.integers(1, 9), TERMS), max_size=2),
)
CLOSE = st.builds(
    lambda near, apart: {"affinity": {"podAffinity": near, "podAntiAffinity": apart}}, SIDES, SIDES
)


def placed(number: int, namespace: str, app: str, node: str, deleted: bool, spec: Manifest) -> Pod:
    metadata = {"uid": f"u{number}", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})}
    return make_pod(
        f"p{number}", namespace=namespace, labels={"app": app}, node=node, metadata=metadata, spec=spec
    )


@st.composite
def changes(draw: st.DrawFn, specs: st.SearchStrategy[Manifest]) -> list[Change]:
    """Pods come, are relabelled, move or go."""
    pods = st.builds(
        placed,
        st.integers(0, 5),
        st.sampled_from(["default", "other"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from([*NODES, "unknown", ""]),
        st.booleans(),
        specs,
    )
    gone = st.builds(
        lambda number, namespace: Remove("Pod", namespace, f"p{number}"),
        st.integers(0, 5),
        st.sampled_from(["default", "other"]),
    )
    return draw(st.lists(st.one_of(pods.map(Put), pods.map(Put), gone), max_size=8))


def answers(plugin: Any, state: CycleState, pod: Pod, nodes: NodeView) -> list[object]:
    """Verdicts, raw and normalised scores, with ``state`` as the plugin left it before."""
    early: Status = plugin.pre_filter(state, pod, nodes)
    found: list[object] = [Status()] * len(nodes)
    if early.code is not Code.SKIP:
        verdicts = plugin.filter_nodes(state, pod, nodes)
        found = [verdicts.status(at) for at in range(len(nodes))]
    raw = normalized = np.zeros(len(nodes), np.int64)
    if plugin.pre_score(state, pod, nodes).code is not Code.SKIP:
        raw = plugin.score_nodes(state, pod, nodes)
        normalized = plugin.normalize_score(state, pod, raw)
    return [*found, *raw.tolist(), *normalized.tolist()]


def totals_by_points(
    plugin: Any, state: CycleState, pod: Pod, nodes: NodeView, before: Int32s, weight: int
) -> Int32s:
    """Return the nodes that Filter rejects, and Score's points for the other nodes."""
    totals = before.copy()
    if plugin.pre_filter(state, pod, nodes).code is not Code.SKIP:
        totals[nodes.rows[plugin.filter_nodes(state, pod, nodes).codes != 0]] = REJECTED
    feasible = nodes.subset(np.flatnonzero(totals != REJECTED).astype(np.int32))
    if len(feasible) and plugin.pre_score(state, pod, feasible).code is not Code.SKIP:
        raw = plugin.score_nodes(state, pod, feasible)
        own = plugin.normalizer is None
        shares = plugin.normalize_score(state, pod, raw) if own else plugin.normalizer.apply(raw)
        totals[feasible.rows] += weight * shares
    return totals


def totals_in_one_step(plugin: Any, state: CycleState, before: Int32s, weight: int) -> Int32s:
    totals = before.copy()
    filtering, scoring = plugin.counts_in(state)
    if filtering is not None:
        filtering.reject_in(totals)
    if scoring is not None:
        scoring.add_to(totals, weight)
    return totals


def moves(state: State, version: int) -> list[PodChange]:
    log = state.changes_since(version)
    assert log is not None
    # With other labels a pod leaves and comes, too.
    moved = [(row, record, amount) for row, record, amount in log if record and amount and row >= 0]
    return [(row, record, 1 if amount > 0 else -1) for row, record, amount in moved]


PLUGINS = pytest.mark.parametrize(
    ("kind", "specs"),
    [
        pytest.param(PodTopologySpread, SPREADING, id="PodTopologySpread"),
        pytest.param(InterPodAffinity, CLOSE, id="InterPodAffinity"),
    ],
)


@PLUGINS
@given(data=st.data())
def test_notes_that_follow_say_what_new_ones_say(kind: Any, specs: Any, data: st.DataObject) -> None:
    cluster = State()
    cluster.replace("nodes", [make_node(name, labels=labels) for name, labels in NODES.items()])
    cluster.apply("pods", data.draw(changes(specs)))
    plugin = make(kind, state=cluster)
    pod = make_pod("new", labels={"app": "a"}, spec=data.draw(specs))
    nodes = NodeView(cluster.snapshot, cluster.snapshot.nodes.rows()[::-1].copy())
    state = CycleState()
    answers(plugin, state, pod, nodes)
    for _ in range(3):
        version, twin, before = cluster.version, state.clone(), answers(plugin, CycleState(), pod, nodes)
        cluster.apply("pods", data.draw(changes(specs)))
        assert plugin.update(state, pod, moves(cluster, version))
        assert answers(plugin, twin, pod, nodes) == before
        assert answers(plugin, state, pod, nodes) == answers(plugin, CycleState(), pod, nodes)


@PLUGINS
@given(data=st.data(), compiled=st.booleans())
def test_one_step_says_what_the_points_say(
    kind: Any, specs: Any, data: st.DataObject, compiled: bool
) -> None:
    cluster = State()
    cluster.replace("nodes", [make_node(name, labels=labels) for name, labels in NODES.items()])
    cluster.apply("pods", data.draw(changes(specs)))
    plugin = make(kind, state=cluster)
    pod = make_pod("new", labels={"app": "a"}, spec=data.draw(specs))
    nodes = NodeView(cluster.snapshot, cluster.snapshot.nodes.rows())
    state = CycleState()
    answers(plugin, state, pod, nodes)
    before = np.full(cluster.snapshot.nodes.capacity, REJECTED, np.int32)
    with compiled_loops() if compiled else loops_as_written():
        for _ in range(3):
            version = cluster.version
            cluster.apply("pods", data.draw(changes(specs)))
            plugin.update(state, pod, moves(cluster, version))
            before[nodes.rows] = data.draw(st.lists(st.integers(REJECTED, 9), min_size=5, max_size=5))
            weight = data.draw(st.integers(1, 3))
            expected = totals_by_points(plugin, CycleState(), pod, nodes, before, weight)
            np.testing.assert_array_equal(totals_in_one_step(plugin, state, before, weight), expected)
