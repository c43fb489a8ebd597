"""Declarations of the plugins in the tree: what they don't name changes none of their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from mooring.framework import (
    Aspect,
    CacheablePlugin,
    CycleState,
    FilterPlugin,
    Node,
    NodeView,
    Part,
    Plugin,
    Pod,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from mooring.framework.named_node import without_named_node
from mooring.framework.pod_aspects import without_amounts, without_claims, without_group
from mooring.plugins.in_tree import IN_TREE
from mooring.testing import make_pod
from tests.examples import examples
from tests.plugins import strategies
from tests.plugins.harness import cluster, make

DECLARING: list[type[Any]] = [kind for kind in IN_TREE if issubclass(kind, CacheablePlugin)]
APPS = st.fixed_dictionaries({}, optional={"app": st.sampled_from("ab"), "index": st.sampled_from("01")})
SELECTOR = {"matchLabels": {"app": "a"}}
TOPOLOGY = st.sampled_from(["zone", "kubernetes.io/hostname"])
CONSTRAINTS = st.builds(
    lambda key, when: {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": SELECTOR,
    },
    TOPOLOGY,
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
)
TERMS = st.builds(lambda key: {"labelSelector": SELECTOR, "topologyKey": key}, TOPOLOGY)
POD_AFFINITIES = st.one_of(
    st.just({}),
    st.builds(
        lambda side, term: {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        st.sampled_from(["podAffinity", "podAntiAffinity"]),
        TERMS,
    ),
    st.builds(
        lambda side, term: {
            side: {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "podAffinityTerm": term}]
            }
        },
        st.sampled_from(["podAffinity", "podAntiAffinity"]),
        TERMS,
    ),
)
VOLUMES = st.sampled_from(
    [
        [],
        [{"name": "v", "emptyDir": {}}],
        [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    ]
)
NAMING = st.sampled_from(
    [
        None,
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
    ]
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Return a pending pod that uses a bit of everything."""
    affinity = {"nodeAffinity": draw(strategies.NODE_AFFINITIES), **draw(POD_AFFINITIES)}
    naming = draw(NAMING)
    if naming is not None:
        required = {"nodeSelectorTerms": [naming]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    spec = {
        "containers": draw(strategies.containers(strategies.HUGE // 4)),
        "tolerations": draw(st.lists(strategies.TOLERATIONS, max_size=2)),
        "nodeSelector": draw(st.one_of(st.just({}), strategies.LABELS)),
        "affinity": affinity,
        "topologySpreadConstraints": draw(st.lists(CONSTRAINTS, max_size=1)),
        "volumes": draw(VOLUMES),
        "schedulingGates": draw(st.sampled_from([[], [{"name": "example.com/wait"}]])),
        "resourceClaims": draw(st.sampled_from([[], [{"name": "d", "resourceClaimName": "d"}]])),
        **draw(st.sampled_from([{}, {"nodeName": "n1"}])),
        **draw(st.sampled_from([{}, {"schedulingGroup": {"podGroupName": "g"}}])),
    }
    return make_pod("new", labels=draw(APPS), spec=spec)


def answers(plugin: Plugin[Any], pod: Pod, nodes: NodeView) -> list[object]:
    """Return the results of the points up to Score, as far as they are called."""
    state = CycleState()
    returned: list[object] = []
    if isinstance(plugin, PreEnqueuePlugin):
        returned.append(plugin.pre_enqueue(pod))
    early = plugin.pre_filter(state, pod, nodes) if isinstance(plugin, PreFilterPlugin) else Status()
    returned.append(early)
    passes = not isinstance(early, Status) or early.ok
    if passes and isinstance(plugin, FilterPlugin):
        verdicts = plugin.filter_nodes(state, pod, nodes)
        returned.append([verdicts.status(at) for at in range(len(nodes))])
    skips = plugin.pre_score(state, pod, nodes) if isinstance(plugin, PreScorePlugin) else Status()
    returned.append(skips)
    if skips.ok and isinstance(plugin, ScorePlugin):
        returned.append(plugin.score_nodes(state, pod, nodes).tolist())
    return returned


def twins(pod: Pod, other: Pod) -> list[Pod]:
    """Return ``pod`` with one field of ``other``, once for each field."""
    specs = [replace(pod.spec, **{name: value}) for name, value in asdict(other.spec).items()]
    metadata = [replace(pod.metadata, **{name: value}) for name, value in asdict(other.metadata).items()]
    return [
        *(replace(pod, spec=spec) for spec in specs if spec != pod.spec),
        *(replace(pod, metadata=meta) for meta in metadata if meta != pod.metadata),
    ]


@examples(60)
@given(nodes=strategies.nodes(), placed=strategies.placed_pods(), pod=pods(), other=pods())
def test_equal_signatures_mean_equal_answers(
    nodes: list[Node], placed: list[Pod], pod: Pod, other: Pod
) -> None:
    view = cluster(*nodes, *placed)
    for kind in DECLARING:
        plugin = make(kind)
        declared = plugin.dependencies(pod)
        if declared.signature is None:
            continue
        expected = answers(plugin, pod, view)
        for twin in twins(pod, other):
            if plugin.dependencies(twin).signature == declared.signature:
                assert plugin.dependencies(twin) == declared, kind
                assert hash(plugin.dependencies(twin).signature) == hash(declared.signature)
                assert answers(plugin, twin, view) == expected, kind


def without_labels(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, labels={}))


@pytest.mark.parametrize(
    ("aspect", "without"),
    [
        pytest.param(Aspect.LABELS, without_labels, id="labels"),
        pytest.param(Aspect.AMOUNTS, without_amounts, id="amounts"),
        pytest.param(Aspect.CLAIMS, without_claims, id="claims"),
        pytest.param(Aspect.NODE_NAME, without_named_node, id="node-name"),
        pytest.param(Aspect.GROUP, without_group, id="group"),
    ],
)
@examples(60)
@given(pod=pods())
def test_aspects_that_are_not_named_change_no_dependencies(
    aspect: Aspect, without: Callable[[Pod], Pod], pod: Pod
) -> None:
    for kind in DECLARING:
        plugin = make(kind)
        if not plugin.aspects & aspect:
            assert plugin.dependencies(without(pod)) == plugin.dependencies(pod), kind


@examples(60)
@given(pod=pods())
def test_amounts_change_the_signature_alone(pod: Pod) -> None:
    for kind in DECLARING:
        plugin = make(kind)
        if plugin.aspects != Aspect.ALL:
            declared, bare = plugin.dependencies(pod), plugin.dependencies(without_amounts(pod))
            assert declared.parts in bare.parts, kind
            assert replace(declared, signature=(), parts=Part.ALL, kinds=()) == replace(
                bare, signature=(), parts=Part.ALL, kinds=()
            ), kind


@examples(60)
@given(nodes=strategies.nodes(), placed=strategies.placed_pods(), pod=pods())
def test_a_plugin_that_declares_no_rejection_rejects_no_node(
    nodes: list[Node], placed: list[Pod], pod: Pod
) -> None:
    view = cluster(*nodes, *placed)
    for kind in DECLARING:
        plugin = make(kind)
        if not plugin.dependencies(pod).rejects and isinstance(plugin, PreFilterPlugin):
            assert plugin.pre_filter(CycleState(), pod, view) == Status.skip(), kind
