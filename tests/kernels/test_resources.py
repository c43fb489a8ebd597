"""Resources: compiled passes give what numpy gives, whatever the amounts."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put
from mooring.cluster.state import State
from mooring.framework import CycleState, Int64s, NodeTable, NodeView, PodTable, Snapshot
from mooring.framework.objects.devices import DeviceClass, DeviceClassSpec
from mooring.framework.pod_requests import plain_usage
from mooring.framework.quantity import Quantity
from mooring.framework.resource_ratings import TotalsRating, TotalsRatings
from mooring.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from mooring.kernels import resource_totals
from mooring.kernels.arrays import REJECTED
from mooring.kernels.compile import FEWEST_NODES
from mooring.kernels.select import Leaders
from mooring.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation
from mooring.plugins.node_resources_fit.args import (
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
)
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.testing import make_pod
from tests.compiled_loops import compiled_loops
from tests.examples import examples
from tests.plugins.harness import make

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="the extra fast isn't installed"
)


SIZES = st.sampled_from((10, 4000, 2**40, 2**55, 2**62))


GPU = "example.com/gpu"
"""A resource that only some nodes have."""


def nodes(seed: int, cpu: int, memory: int, *, lacking: bool, step: int = 1) -> NodeView:
    """Return each ``step``-th of nodes of any sizes, more or less full, some of them overcommitted."""
    numbers = np.random.default_rng(seed)
    sizes = np.array([[cpu], [memory], [cpu], [110], [8]])
    shape = (5, FEWEST_NODES)
    allocatable = numbers.integers(0 if lacking else 1, sizes, shape, endpoint=True)
    requested = numbers.integers(0, sizes, shape)
    allocatable[4] *= numbers.integers(0, 1, FEWEST_NODES, endpoint=True)
    table = table_of(allocatable, requested, requested[:2] + 1)
    return NodeView(Snapshot(table, PodTable()), np.arange(0, FEWEST_NODES, step, dtype=np.int32))


def table_of(allocatable: Int64s, requested: Int64s, non_zero: Int64s) -> NodeTable:
    """Return a table with these columns."""
    return NodeTable(
        resource_index={name: at for at, name in enumerate((CPU, MEMORY, EPHEMERAL_STORAGE, PODS, GPU))},
        alive=np.ones(allocatable.shape[1], np.bool_),
        allocatable=allocatable,
        requested=requested,
        non_zero_requested=non_zero,
    )


@examples(40)
@given(
    st.integers(0, 2**32),
    SIZES,
    SIZES,
    st.integers(0, 5000),
    st.integers(0, 2**50),
    st.integers(0, 8),
    st.booleans(),
    st.sampled_from((1, 7, FEWEST_NODES)),
)
def test_answers_are_those_of_numpy(
    seed: int, cpu: int, memory: int, asked_cpu: int, asked_memory: int, gpus: int, lacking: bool, step: int
) -> None:
    view = nodes(seed, cpu, memory, lacking=lacking, step=step)
    pod = make_pod(requests={"cpu": f"{asked_cpu}m", "memory": asked_memory, GPU: gpus})
    before = np.random.default_rng(seed).integers(REJECTED, 100, len(view), np.int32)
    plugins: tuple[Any, ...] = (make(NodeResourcesFit), make(NodeResourcesBalancedAllocation))

    def answers() -> list[Int64s]:
        state = CycleState()
        plugins[0].pre_filter(state, pod, view)
        verdicts = plugins[0].filter_nodes(state, pod, view)
        scores = [plugin.score_nodes(state, pod, view) for plugin in plugins]
        rejected = before == REJECTED
        for plugin, score, out in zip(plugins, scores, (verdicts.codes != 0, False), strict=True):
            totals = before.copy()
            plugin.scorer(pod)(view, 3, totals)
            np.testing.assert_array_equal(totals, np.where(rejected | out, REJECTED, before + 3 * score))
        return [verdicts.codes.astype(np.int64), *scores]

    with compiled_loops():
        looped = answers()
    np.testing.assert_array_equal(looped, answers())


@examples(40)
@given(
    st.integers(0, 2**32),
    SIZES,
    st.integers(1, 5000),
    st.integers(0, 8),
    st.booleans(),
    st.sampled_from((1, 7)),
)
def test_one_pass_over_rows_puts_what_the_plugins_add(
    seed: int, cpu: int, asked: int, gpus: int, lacking: bool, step: int
) -> None:
    view = nodes(seed, cpu, 2**40, lacking=lacking, step=step)
    pod = make_pod(requests={"cpu": f"{asked}m", "memory": asked * 2**20, GPU: gpus})
    rated = [make(NodeResourcesFit).scorer(pod), make(NodeResourcesBalancedAllocation).scorer(pod)]
    base, before = np.random.default_rng(seed).integers(REJECTED, 100, (2, FEWEST_NODES), np.int32)
    added = base.take(view.rows)
    for rating in rated:
        rating(view, 3, added)
    expected = before.copy()
    expected[view.rows] = added
    together = TotalsRating.of([(rating, 3) for rating in rated])
    assert together is not None
    totals = before.copy()
    with compiled_loops():
        put = together.put(view.snapshot, view.at, base, totals)
    if put is None:
        np.testing.assert_array_equal(totals, before)
    else:
        np.testing.assert_array_equal(totals, expected)
        crossed, leaders = put
        assert crossed == ((totals == REJECTED) != (before == REJECTED)).any()
        top = totals.max()
        assert leaders == Leaders(top, (totals == top).sum(), (totals != REJECTED).sum())
    assert (put is not None) or lacking or cpu > 2**50


@pytest.mark.parametrize(
    ("resource", "devices", "can"),
    [
        pytest.param(GPU, False, True, id="some nodes have it"),
        pytest.param(GPU, True, False, id="devices may stand for it"),
        pytest.param("example.com/tpu", False, False, id="no node ever had it"),
    ],
)
def test_a_pass_needs_columns_that_tell_who_has_what_is_requested(
    resource: str, devices: bool, can: bool
) -> None:
    view, state = nodes(0, 1000, 2**40, lacking=False), State()
    if devices:
        state.apply("test", [Put(DeviceClass(spec=DeviceClassSpec(extended_resource_name=resource)))])
    snapshot = Snapshot(view.table, view.snapshot.pods, state.snapshot.objects)
    together = both_of({"cpu": "1m", "memory": "1Mi", resource: 1})
    base, totals = np.zeros((2, FEWEST_NODES), np.int32)
    with compiled_loops():
        assert (together.put(snapshot, view.at, base, totals) is not None) == can


def both_of(requests: Mapping[str, Quantity]) -> TotalsRating:
    """Return the scores of both plugins for a pod."""
    pod = make_pod(requests=requests)
    ratings = make(NodeResourcesFit).scorer(pod), make(NodeResourcesBalancedAllocation).scorer(pod)
    together = TotalsRating.of([(rating, 1) for rating in ratings])
    assert together is not None
    return together


def test_where_a_resource_was_found_in_one_state_is_no_answer_for_another() -> None:
    state, offered = State(), np.full((6, FEWEST_NODES), 2**30)
    offered[4] = np.arange(FEWEST_NODES) % 2
    requested = np.zeros_like(offered)
    table = table_of(offered, requested, requested[:2])
    # Another resource has its column there.
    moved = table_of(offered[[0, 1, 2, 3, 5, 4]], requested, requested[:2])
    moved.resource_index[GPU] = 5
    together = both_of({"cpu": "1m", "memory": "1Mi", GPU: 1})

    def rejected(table: NodeTable) -> list[bool] | None:
        base, totals = np.zeros((2, FEWEST_NODES), np.int32)
        with compiled_loops():
            snapshot = Snapshot(table, PodTable(), state.snapshot.objects)
            put = together.put(snapshot, slice(0, FEWEST_NODES), base, totals)
        return None if put is None else (totals == REJECTED).tolist()

    without = np.equal(offered[4], 0).tolist()
    for each in (table, moved, table):
        assert rejected(each) == without
    state.apply("test", [Put(DeviceClass(spec=DeviceClassSpec(extended_resource_name=GPU)))])
    assert rejected(table) is None


def test_a_negative_row_is_no_row() -> None:
    view = nodes(0, 1000, 2**40, lacking=False, step=1)
    pod = make_pod(requests={"cpu": "1m", "memory": "1Mi"})
    ratings = make(NodeResourcesFit).scorer(pod), make(NodeResourcesBalancedAllocation).scorer(pod)
    together = TotalsRating.of([(rating, 1) for rating in ratings])
    assert together is not None
    base = np.zeros(FEWEST_NODES, np.int32)
    some, none = np.array([-1, 3, -1, 5], np.int32), np.array([-1], np.int32)
    totals, expected = np.full((2, FEWEST_NODES), 1000, np.int32)
    with compiled_loops():
        together.put(view.snapshot, some, base, totals)
        together.put(view.snapshot, some[some >= 0], base, expected)
        assert totals.min() < 1000
        np.testing.assert_array_equal(totals, expected)
        assert together.put(view.snapshot, none, base, totals) is not None
        np.testing.assert_array_equal(totals, expected)


STRATEGIES: dict[str, Sequence[tuple[str, int]]] = {
    "default": (("cpu", 1), ("memory", 1)),
    "weighted, the other way round": (("memory", 3), ("cpu", 2)),
    "one of them": (("memory", 5),),
    "one of them twice": (("cpu", 2), ("memory", 1), ("cpu", 3)),
}


@examples(100)
@given(
    st.integers(0, 2**32),
    st.sampled_from(list(STRATEGIES)),
    st.sampled_from((4, 50, 200, 2**30, 2**45)),
    st.integers(1, 30),
    st.integers(1, 3),
)
def test_estimated_scores_are_the_exact_ones_unless_in_doubt(
    seed: int, strategy: str, size: int, asked: int, count: int
) -> None:
    resources = tuple([ResourceSpec(name, weight) for name, weight in STRATEGIES[strategy]])
    args = NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(ScoringStrategyType.LEAST_ALLOCATED, resources)
    )
    table, ratings = nodes(seed, size, size, lacking=False).table, both_ratings(asked, asked, args)
    told = [at for at in range(0, 300, count) if check_estimate(table, ratings, at, at + count)]
    assert told or size < 2**30


def test_a_share_just_below_a_whole_number_is_rounded_down() -> None:
    for whole in range(1, 100):
        part = 2**38 + whole
        offered, free = 100 * part + 1, whole * part
        allocatable, requested = np.array([[offered], [1000], [1], [110]]), np.zeros((4, 1), np.int64)
        requested[:2, 0] = offered - free - 7, 123
        assert check_estimate(table_of(allocatable, requested, requested[:2].copy()), both_ratings(7, 13))


@pytest.mark.parametrize("size", [1000, 7000])
def test_a_balance_on_a_whole_number_is_not_estimated(size: int) -> None:
    estimated, ratings = [], both_ratings(size * 3 // 1000, 1)
    for apart in range(1, 99):
        allocatable = np.array([[size], [size], [1], [110]])
        requested = np.array([[apart * size // 100], [0], [0], [0]])
        table = table_of(allocatable, requested, requested[:2].copy())
        if check_estimate(table, ratings):
            estimated.append(apart)
    assert estimated == list(range(1, 99, 2))


Ratings = tuple[tuple[Any, int], tuple[Any, int]]


def both_ratings(cpu: int, memory: int, args: NodeResourcesFitArgs | None = None) -> Ratings:
    """Return the ratings of a pod that asks for so much, with their weights."""
    pod = make_pod(requests={"cpu": f"{cpu}m", "memory": memory})
    fit, balanced = make(NodeResourcesFit, args), make(NodeResourcesBalancedAllocation)
    return (fit.scorer(pod), 3), (balanced.scorer(pod), 2)


def check_estimate(table: NodeTable, ratings: Ratings, first: int = 0, end: int = 1) -> bool:
    """Compare the estimate of some nodes with the plugins' loops; False = the estimate is in doubt."""
    shares, balance = ((*rating.asked, weight) for rating, weight in ratings)
    columns = table.allocatable, table.requested, table.non_zero_requested
    base, estimated, exact = np.zeros((3, end - first), np.int32)
    estimate: Any = resource_totals._estimate.compile()
    if not estimate(columns, first, shares, balance, base, estimated):
        return False
    for rating, weight in ratings:
        assert rating.loop.compile()(columns, (first, np.zeros(0, np.int32)), *rating.asked, weight, exact)
    fits = exact != REJECTED  # Other plugins reject nodes for other reasons.
    np.testing.assert_array_equal(estimated[fits], exact[fits])
    assert (exact[estimated == REJECTED] == REJECTED).all()
    return True


REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from((0, "0", "1m", 2)),
        "memory": st.sampled_from((0, 1, "1Gi", "9Ei")),
        "ephemeral-storage": st.sampled_from(("0", "1Gi")),
        "nobody-counts-this": st.just(7),
        GPU: st.sampled_from((0, 3)),
    },
)


@given(st.lists(REQUESTS, min_size=1, max_size=3), st.sampled_from(list(STRATEGIES)))
def test_what_a_pod_asks_for_by_position_is_what_it_asks_for(
    requests: list[dict[str, Any]], strategy: str
) -> None:
    resources = tuple([ResourceSpec(name, weight) for name, weight in STRATEGIES[strategy]])
    args = NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(ScoringStrategyType.LEAST_ALLOCATED, resources)
    )
    raters = (make(NodeResourcesFit, args), 3), (make(NodeResourcesBalancedAllocation), 2)
    containers = [{"name": str(at), "resources": {"requests": each}} for at, each in enumerate(requests)]
    pod = make_pod(spec={"containers": containers})
    usage = plain_usage(pod)
    assert usage is not None
    by_position = TotalsRatings(raters).of(usage)
    alone = TotalsRating.of([(plugin.scorer(pod), weight) for plugin, weight in raters])
    assert (by_position is None) == (alone is None)
    if by_position is not None and alone is not None:
        assert told(by_position) == told(alone)


SNAPSHOT = nodes(0, 1, 1, lacking=False).snapshot


def told(rating: TotalsRating) -> list[Any]:
    """Return the arguments of the compiled pass for a pod, with its amounts in their places."""
    return [
        resource_totals.with_amounts(each, rating._amounts).tolist() if isinstance(each, np.ndarray) else each
        for asked in rating.asked_in(SNAPSHOT)
        for each in asked
    ]


def test_other_scores_are_not_put_together() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1Gi"})
    nothing = make_pod(requests={"cpu": "0", "memory": "0"})
    fit, balanced = make(NodeResourcesFit), make(NodeResourcesBalancedAllocation)
    assert TotalsRating.of([(balanced.scorer(pod), 1), (fit.scorer(pod), 1)]) is None
    assert TotalsRating.of([(fit.scorer(pod), 1)]) is None
    assert TotalsRating.of([(fit.scorer(nothing), 1), (balanced.scorer(nothing), 1)]) is None
