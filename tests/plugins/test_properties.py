"""For every cluster the columns give each node the answer of plain Python for that node."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import (
    FilterPlugin,
    Node,
    NodeInfo,
    NodeView,
    Pod,
    PreFilterResult,
    ScorePlugin,
    Status,
)
from mooring.framework.pod_requests import pod_usage
from mooring.plugins.image_locality.plugin import ImageLocality
from mooring.plugins.node_affinity.plugin import REASON_CONFLICT, NodeAffinity
from mooring.plugins.node_name.plugin import NodeName
from mooring.plugins.node_ports.plugin import NodePorts
from mooring.plugins.node_resources_balanced_allocation.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation
from mooring.plugins.node_resources_fit.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.plugins.node_unschedulable.plugin import NodeUnschedulable
from mooring.plugins.taint_toleration.plugin import TaintToleration
from tests.plugins import plain, strategies
from tests.plugins.harness import cluster, make, pre_filter, raw_scores, verdicts

RESOURCES = ["cpu", "memory", "ephemeral-storage", strategies.GPU]
SHAPES = st.builds(
    lambda steps, scores: list(zip(sorted(steps), scores, strict=False)),
    st.sets(st.integers(0, 100), min_size=1, max_size=4),
    st.lists(st.integers(0, 10), min_size=4, max_size=4),
)
WEIGHTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 100), min_size=1)


def infos(nodes: NodeView) -> dict[str, NodeInfo]:
    return {info.name: info for info in nodes.infos()}


FILTERS: dict[type[FilterPlugin[Any]], Callable[[Pod, NodeInfo], Status]] = {
    NodeUnschedulable: plain.unschedulable,
    NodeName: plain.node_name,
    TaintToleration: plain.taints,
    NodeAffinity: plain.affinity,
    NodePorts: plain.ports,
    NodeResourcesFit: plain.fit,
}
SCORES: dict[type[ScorePlugin[Any]], Callable[[Pod, NodeInfo], int]] = {
    TaintToleration: plain.soft_taints,
    NodeAffinity: plain.preference,
}


@given(nodes=strategies.nodes(), placed=strategies.placed_pods(), pod=strategies.pods())
def test_filters_and_scores(nodes: list[Node], placed: list[Pod], pod: Pod) -> None:
    view = cluster(*nodes, *placed)
    alone = infos(view)
    for kind, plainly in FILTERS.items():
        said = verdicts(make(kind), pod, view)
        if any(REASON_CONFLICT in status.reasons for status in said.values()):
            assert not any(plainly(pod, info).ok for info in alone.values())
        else:
            assert said == {name: plainly(pod, info) for name, info in alone.items()}
    for scoring, score in SCORES.items():
        assert raw_scores(make(scoring), pod, view) == {
            name: score(pod, info) for name, info in alone.items()
        }


@given(nodes=strategies.nodes(), pod=strategies.pods())
def test_node_affinity_names_every_node_that_passes(nodes: list[Node], pod: Pod) -> None:
    view = cluster(*nodes)
    named = pre_filter(make(NodeAffinity), pod, view)
    if isinstance(named, PreFilterResult) and named.nodes is not None:
        assert {name for name, info in infos(view).items() if plain.affinity(pod, info).ok} <= named.nodes


@given(nodes=strategies.nodes(), pod=strategies.pods())
def test_image_locality(nodes: list[Node], pod: Pod) -> None:
    view = cluster(*nodes)
    everyone = infos(view)
    # The size of an image is that of the first node that came with it: the one of the first row.
    by_row = [everyone[name] for name in sorted(everyone)]
    expected = {name: plain.image_locality(pod, info, by_row) for name, info in everyone.items()}
    assert raw_scores(make(ImageLocality), pod, view) == expected


def strategy_args(
    kind: ScoringStrategyType, weights: plain.Weights, shape: list[tuple[int, int]]
) -> NodeResourcesFitArgs:
    ratio = None
    if kind is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
        ratio = RequestedToCapacityRatioParam(tuple(UtilizationShapePoint(*point) for point in shape))
    resources = tuple(ResourceSpec(name, weight) for name, weight in weights.items())
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, resources, ratio))
    assert list(args.validate()) == []
    return args


@given(
    nodes=strategies.nodes(),
    placed=strategies.placed_pods(),
    pod=strategies.pods(),
    weights=WEIGHTS,
    shape=SHAPES,
)
def test_strategies_of_node_resources_fit(
    nodes: list[Node],
    placed: list[Pod],
    pod: Pod,
    weights: plain.Weights,
    shape: list[tuple[int, int]],
) -> None:
    view = cluster(*nodes, *placed)
    plainly: dict[ScoringStrategyType, Callable[[NodeInfo], int]] = {
        ScoringStrategyType.LEAST_ALLOCATED: lambda info: plain.least_allocated(pod, info, weights),
        ScoringStrategyType.MOST_ALLOCATED: lambda info: plain.most_allocated(pod, info, weights),
        ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO: lambda info: plain.capacity_ratio(
            pod, info, weights, shape
        ),
    }
    assert plainly.keys() == set(ScoringStrategyType)
    alone = infos(view)
    for kind, score in plainly.items():
        plugin = make(NodeResourcesFit, strategy_args(kind, weights, shape))
        assert raw_scores(plugin, pod, view) == {name: score(info) for name, info in alone.items()}, kind


@given(
    nodes=strategies.nodes(),
    placed=strategies.placed_pods(),
    pod=strategies.pods(),
    names=st.lists(st.sampled_from(RESOURCES), min_size=1, unique=True),
)
def test_balanced_allocation(nodes: list[Node], placed: list[Pod], pod: Pod, names: list[str]) -> None:
    view = cluster(*nodes, *placed)
    requests = pod_usage(pod)
    asks = any(requests.request(name) for name in names)
    args = NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(name) for name in names))
    plugin = make(NodeResourcesBalancedAllocation, args)
    expected = {
        name: plain.balanced_allocation(pod, info, names) if asks else 0 for name, info in infos(view).items()
    }
    assert raw_scores(plugin, pod, view) == expected
