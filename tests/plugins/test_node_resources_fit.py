from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.framework import (
    Code,
    CycleState,
    GroupPlacement,
    NodeView,
    Pod,
    PodGroupAssignments,
    PodGroupInfo,
    Status,
)
from mooring.framework.groups import AssignedEverywhere, PlacementColumns
from mooring.framework.objects import DeviceClass, ObjectMeta, PodGroup
from mooring.framework.objects.devices import DeviceClassSpec
from mooring.kernels.percentages import percentage
from mooring.plugins.node_resources_fit import filtering
from mooring.plugins.node_resources_fit.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from mooring.plugins.node_resources_fit.plugin import NodeResourcesFit
from mooring.plugins.node_resources_fit.scoring import score_curve
from mooring.testing.builders import make_node, make_pod
from tests.compiled_loops import compiled_loops
from tests.plugins.harness import cluster, make, raw_scores, verdicts

OFFERED = {"cpu": "2", "memory": "1000", "ephemeral-storage": "1000", "pods": 3, "example.com/gpu": 2}
MAX = 2**63 - 1


def short(*reasons: str) -> Status:
    return Status.unschedulable(*reasons)


def never(*reasons: str) -> Status:
    return Status.unresolvable(*reasons)


@pytest.mark.parametrize(
    ("requests", "verdict"),
    [
        pytest.param({}, Status(), id="asks nothing"),
        pytest.param({"cpu": "500m", "memory": 400}, Status(), id="fits exactly"),
        pytest.param({"cpu": "501m"}, short("Insufficient cpu"), id="cpu"),
        pytest.param({"memory": 401}, short("Insufficient memory"), id="memory"),
        pytest.param({"ephemeral-storage": 501}, short("Insufficient ephemeral-storage"), id="storage"),
        pytest.param({"cpu": "2001m"}, never("Insufficient cpu"), id="more than the node ever has"),
        pytest.param(
            {"cpu": "600m", "memory": 1001},
            never("Insufficient cpu", "Insufficient memory"),
            id="one hopeless request is enough",
        ),
        pytest.param({"example.com/gpu": 2}, short("Insufficient example.com/gpu"), id="extended"),
        pytest.param({"example.com/tpu": 1}, never("Insufficient example.com/tpu"), id="a resource unknown"),
        pytest.param({"example.com/tpu": 0}, Status(), id="none of a resource unknown"),
        pytest.param(
            {"example.com/tpu": 1, "example.com/gpu": 2, "hugepages-2Mi": 1, "memory": 401, "cpu": 1},
            never(
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient example.com/gpu",
                "Insufficient example.com/tpu",
                "Insufficient hugepages-2Mi",
            ),
            id="all of them, in order",
        ),
    ],
)
def test_filter(requests: dict[str, Any], verdict: Status) -> None:
    taken = {"cpu": "1500m", "memory": 600, "ephemeral-storage": 500, "example.com/gpu": 1}
    nodes = cluster(
        make_node("n", allocatable=OFFERED),
        make_node("roomy", allocatable={**OFFERED, "cpu": 64, "example.com/tpu": 8, "hugepages-2Mi": 8}),
        make_pod("there", node="n", requests=taken),
    )
    said = verdicts(make(NodeResourcesFit), make_pod(requests=requests), nodes)
    assert said["n"] == verdict


@pytest.mark.parametrize(
    ("requests", "verdict"),
    [
        pytest.param({}, short("Too many pods"), id="counted even when nothing is asked"),
        pytest.param({"cpu": 9}, never("Too many pods", "Insufficient cpu"), id="comes first"),
    ],
)
def test_pods_are_counted(requests: dict[str, Any], verdict: Status) -> None:
    others = [make_pod(f"p{number}", node="n") for number in range(3)]
    nodes = cluster(make_node("n", allocatable=OFFERED), *others)
    assert verdicts(make(NodeResourcesFit), make_pod(requests=requests), nodes) == {"n": verdict}


@pytest.mark.parametrize(
    ("args", "passes"),
    [
        pytest.param(NodeResourcesFitArgs(), False, id="not ignored"),
        pytest.param(NodeResourcesFitArgs(ignored_resources=("example.com/tpu",)), True, id="by name"),
        pytest.param(NodeResourcesFitArgs(ignored_resource_groups=("example.com",)), True, id="by group"),
        pytest.param(NodeResourcesFitArgs(ignored_resource_groups=("example",)), False, id="another group"),
    ],
)
def test_ignored_resources(args: NodeResourcesFitArgs, passes: bool) -> None:
    nodes = cluster(make_node("n", allocatable=OFFERED))
    said = verdicts(make(NodeResourcesFit, args), make_pod(requests={"example.com/tpu": 1}), nodes)
    assert said["n"].ok is passes


def test_only_extended_resources_can_be_ignored() -> None:
    args = NodeResourcesFitArgs(ignored_resources=("cpu", "hugepages-2Mi"))
    nodes = cluster(make_node("n", allocatable=OFFERED))
    said = verdicts(make(NodeResourcesFit, args), make_pod(requests={"cpu": 3, "hugepages-2Mi": 1}), nodes)
    assert said["n"].reasons == ("Insufficient cpu", "Insufficient hugepages-2Mi")


def test_many_reasons_stay_apart() -> None:
    names = [f"example.com/r{number:02}" for number in range(70)]
    nodes = cluster(*(make_node(f"n{number}", allocatable={names[number]: 1}) for number in range(70)))
    said = verdicts(make(NodeResourcesFit), make_pod(requests=dict.fromkeys(names, 1)), nodes)
    for number in range(70):
        missing = [name for name in names if name != names[number]]
        assert said[f"n{number}"].reasons == tuple(f"Insufficient {name}" for name in missing)


def test_many_reasons_are_put_down_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"example.com/r{number:04}" for number in range(2_000)]
    nodes = cluster(*(make_node(f"n{number}", allocatable={names[number]: 1}) for number in range(3)))
    written: list[int] = []

    class Counting(Status):
        def __init__(self, code: Code, reasons: tuple[str, ...], plugin: str = "") -> None:
            super().__init__(code, reasons, plugin)
            written.append(len(reasons))

    monkeypatch.setattr(filtering, "Status", Counting)
    said = verdicts(make(NodeResourcesFit), make_pod(requests=dict.fromkeys(names, 1)), nodes)
    assert [len(status.reasons) for status in said.values()] == [1_999] * 3
    assert 0 < sum(written) <= 3 * len(names)


@pytest.mark.parametrize("requests", [{"memory": MAX}, {"ephemeral-storage": MAX}, {"example.com/gpu": MAX}])
def test_a_sum_above_int64_counts_as_its_largest_value(requests: dict[str, int]) -> None:
    container = {"image": "i", "resources": {"requests": {name: str(of) for name, of in requests.items()}}}
    pod = make_pod(spec={"containers": [{"name": name, **container} for name in ("a", "b", "c")]})
    nodes = cluster(
        make_node("n", allocatable=OFFERED), make_node("most", allocatable={**OFFERED, **requests})
    )
    said = verdicts(make(NodeResourcesFit), pod, nodes)
    assert said == {"n": never(*(f"Insufficient {name}" for name in requests)), "most": Status()}


def strategy(kind: str, *shape: tuple[int, int], **weights: int) -> NodeResourcesFitArgs:
    ratio = RequestedToCapacityRatioParam(tuple(UtilizationShapePoint(*point) for point in shape))
    resources = tuple(ResourceSpec(name.replace("gpu", "example.com/gpu"), w) for name, w in weights.items())
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(ScoringStrategyType(kind), resources, ratio if shape else None)
    )


LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
PACK = [(0, 0), (100, 10)]


@pytest.mark.parametrize(
    ("args", "requests", "scores"),
    [
        pytest.param(NodeResourcesFitArgs(), {"cpu": 1, "memory": 250}, {"a": 62, "b": 93}, id="least"),
        pytest.param(
            strategy(LEAST, cpu=3, memory=1), {"cpu": 1, "memory": 250}, {"a": 56, "b": 93}, id="weights"
        ),
        pytest.param(strategy(LEAST, cpu=1), {"cpu": 3}, {"a": 0, "b": 81}, id="least, more than there is"),
        pytest.param(strategy(MOST, cpu=1), {"cpu": 3}, {"a": 100, "b": 18}, id="most, more than there is"),
        pytest.param(
            strategy(LEAST, cpu=1, gpu=1), {"cpu": 1}, {"a": 50, "b": 93}, id="extended, not asked for"
        ),
        pytest.param(
            strategy(MOST, cpu=1, gpu=1),
            {"cpu": 1, "example.com/gpu": 1},
            {"a": 50, "b": 28},
            id="asked for: a has none of it, b has 2",
        ),
        pytest.param(strategy(RATIO, *PACK, cpu=1), {"cpu": 1}, {"a": 50, "b": 6}, id="ratio, rising"),
        pytest.param(strategy(RATIO, (0, 10), (100, 0), cpu=1), {"cpu": 1}, {"a": 50, "b": 94}, id="falling"),
        pytest.param(
            strategy(RATIO, *PACK, cpu=1, memory=3),
            {"cpu": 1, "memory": 5},
            {"a": 50, "b": 6},
            id="ratio, what scores nothing has no weight",
        ),
        pytest.param(strategy(LEAST, pods=1), {"cpu": 1}, {"a": 0, "b": 0}, id="a resource never counted"),
    ],
)
def test_scores(args: NodeResourcesFitArgs, requests: dict[str, Any], scores: dict[str, int]) -> None:
    a = make_node("a", allocatable={"cpu": 2, "memory": 1000})
    b = make_node("b", allocatable={"cpu": 16, "memory": 4000, "example.com/gpu": 2})
    assert raw_scores(make(NodeResourcesFit, args), make_pod(requests=requests), cluster(a, b)) == scores


def test_containers_without_requests_count_with_the_defaults() -> None:
    containers = [{"name": f"c{number}", "image": "x"} for number in range(2)]
    asked_nothing = [{**c, "resources": {"requests": {"cpu": 0, "memory": 0}}} for c in containers]
    nodes = cluster(make_node("n", allocatable={"cpu": 1, "memory": "1000Mi"}))
    plugin = make(NodeResourcesFit)
    assert raw_scores(plugin, make_pod(spec={"containers": containers}), nodes) == {"n": 70}
    assert raw_scores(plugin, make_pod(spec={"containers": asked_nothing}), nodes) == {"n": 100}


def test_pod_level_requests_count_in_the_filter_and_not_in_the_score() -> None:
    pod = make_pod(requests={"cpu": 1, "memory": 1}, spec={"resources": {"requests": {"cpu": 3}}})
    nodes = cluster(make_node("n", allocatable={"cpu": 2, "memory": 100}))
    plugin = make(NodeResourcesFit, strategy(LEAST, cpu=1))
    assert verdicts(plugin, pod, nodes)["n"].code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert raw_scores(plugin, pod, nodes) == {"n": 50}


@pytest.mark.parametrize(
    ("points", "at"),
    [
        pytest.param([(50, 5)], {0: 50, 50: 50, 100: 50}, id="one point"),
        pytest.param([(20, 0), (80, 10)], {0: 0, 20: 0, 50: 50, 80: 100, 100: 100}, id="flat ends"),
        pytest.param([(0, 10), (3, 9)], {0: 100, 1: 97, 2: 94, 3: 90}, id="falling slopes cut towards zero"),
    ],
)
def test_score_curve(points: list[tuple[int, int]], at: dict[int, int]) -> None:
    curve = score_curve([UtilizationShapePoint(*point) for point in points])
    assert {percent: int(curve[percent]) for percent in at} == at


@given(st.lists(st.tuples(st.integers(0, MAX), st.integers(1, MAX)), max_size=5))
def test_percentages_are_exact_for_every_int64(pairs: list[tuple[int, int]]) -> None:
    parts = [min(pair) for pair in pairs]
    wholes = [max(pair) for pair in pairs]
    exact = [100 * part // whole for part, whole in zip(parts, wholes, strict=True)]
    assert percentage(np.array(parts, np.int64), np.array(wholes, np.int64)).tolist() == exact


@pytest.mark.parametrize(
    ("pods", "score"),
    [
        pytest.param([], 50, id="without any pod of the group"),
        pytest.param([make_pod("a", requests={"cpu": "1"})], 75, id="with one"),
        pytest.param([make_pod(name, requests={"cpu": "1"}) for name in "ab"], 100, id="full"),
    ],
)
def test_a_placement_scores_by_how_full_it_is(pods: list[Pod], score: int) -> None:
    there = make_pod("there", node="n", requests={"cpu": "2"})
    view = NodeView(cluster(make_node("n", allocatable={"cpu": "4"}), there).snapshot, np.zeros(1, np.int32))
    plugin = make(NodeResourcesFit, strategy("LeastAllocated", cpu=1))
    found = PodGroupAssignments(GroupPlacement("", view.rows), view.snapshot, tuple(pods), ("n",) * len(pods))
    scores = plugin.score_placements(CycleState(), PodGroupInfo(PodGroup(), tuple(pods)), [found])
    assert scores.tolist() == [score]


@pytest.mark.parametrize("most", [pytest.param(9, id="small"), pytest.param(MAX // 4, id="large amounts")])
@pytest.mark.parametrize("seed", range(10))
def test_placements_score_the_same_one_by_one_by_columns_and_compiled(seed: int, most: int) -> None:
    rng = Random(seed)
    nodes = [
        make_node(f"n{at}", allocatable={"cpu": rng.choice([0, 4, 9]), "memory": rng.randint(0, most)})
        for at in range(7)
    ]
    there = [
        make_pod(f"p{at}", node=f"n{at}", requests={"cpu": rng.randint(0, 3), "memory": rng.randint(0, 9)})
        for at in range(7)
    ]
    snapshot = cluster(*nodes, *there).snapshot
    asked = {"cpu": rng.randint(0, 9), "memory": rng.randint(0, most)}
    pods = tuple(make_pod(f"g{at}", requests=asked) for at in range(rng.randint(1, 2)))
    order = np.array(rng.sample(range(7), 7), np.int32)
    placements = PlacementColumns([GroupPlacement("a", order[:3]), GroupPlacement("b", order[3:])])
    together = AssignedEverywhere(placements, snapshot, pods, lambda _: ("n",) * len(pods))
    state, group = CycleState(), PodGroupInfo(PodGroup(), pods)
    plugin = make(NodeResourcesFit, strategy(LEAST, cpu=rng.randint(1, 3), memory=1))

    one_by_one = [int(plugin.score_placements(state, group, [each])[0]) for each in together]
    assert plugin.score_placements(state, group, together).tolist() == one_by_one
    assert plugin.score_placements(state, group, list(together)).tolist() == one_by_one
    with compiled_loops():
        assert plugin.score_placements(state, group, together).tolist() == one_by_one
        assert plugin.score_placements(state, group, list(together)).tolist() == one_by_one


def test_devices_count_from_when_their_class_is_there() -> None:
    state, fit = State(), make(NodeResourcesFit)
    class_ = DeviceClass(ObjectMeta(name="tpu"), DeviceClassSpec(extended_resource_name="example.com/tpu"))
    pod = make_pod(requests={"example.com/tpu": 1})
    state.apply("test", [Put(make_node("a", allocatable={"pods": 3}))])

    def verdict() -> Status:
        return verdicts(fit, pod, NodeView(state.snapshot, state.snapshot.nodes.rows()))["a"]

    changes: tuple[Put | Remove, ...] = Put(class_), Remove("DeviceClass", "", "tpu")
    said = [verdict()]
    for change in changes:
        state.apply("test", [change])
        said.append(verdict())
    assert said == [never("Insufficient example.com/tpu"), Status(), never("Insufficient example.com/tpu")]
