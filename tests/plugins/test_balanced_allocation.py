from typing import Any

import pytest

from mooring.framework import Code, CycleState
from mooring.plugins.node_resources_balanced_allocation.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation
from mooring.plugins.node_resources_fit.args import ResourceSpec
from mooring.testing.builders import make_node, make_pod
from tests.plugins.harness import cluster, make, raw_scores

GPU = "example.com/gpu"


def comparing(*names: str) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(tuple(map(ResourceSpec, names)))


@pytest.mark.parametrize(
    ("requests", "now", "before"),
    [
        # The node has 10 cpu and 1000 of memory; 4 and 200 are taken.
        pytest.param({"cpu": 2, "memory": 200}, 75, 90, id="nothing changes"),
        pytest.param({"memory": 200}, 80, 100, id="evened out"),
        pytest.param({"cpu": 6}, 60, 60, id="thrown off"),
        pytest.param({"cpu": 60}, 60, 60, id="a share is at most all"),
    ],
)
def test_score(requests: dict[str, Any], now: int, before: int) -> None:
    nodes = cluster(
        make_node("n", allocatable={"cpu": 10, "memory": 1000}),
        make_pod("there", node="n", requests={"cpu": 4, "memory": 200}),
    )
    pod = make_pod(requests=requests)
    assert raw_scores(make(NodeResourcesBalancedAllocation), pod, nodes) == {"n": now}
    assert raw_scores(make(NodeResourcesBalancedAllocation, kube="1.35"), pod, nodes) == {"n": before}


@pytest.mark.parametrize(
    ("names", "allocatable", "score"),
    [
        pytest.param(["cpu", "memory", GPU], {GPU: 4}, 63, id="three shares: 0.5 0.1 1"),
        pytest.param(["cpu", "memory", GPU], {}, 80, id="the node lacks one: 0.5 0.1"),
        pytest.param(["cpu", GPU], {GPU: 4}, 75, id="two others: 0.5 1"),
        pytest.param(["cpu", GPU], {}, 100, id="one share is always even"),
    ],
)
def test_shares_that_a_node_has(names: list[str], allocatable: dict[str, Any], score: int) -> None:
    nodes = cluster(make_node("n", allocatable={"cpu": 10, "memory": 1000, **allocatable}))
    pod = make_pod(requests={"cpu": 5, "memory": 100, GPU: 4})
    plugin = make(NodeResourcesBalancedAllocation, comparing(*names), kube="1.35")
    assert raw_scores(plugin, pod, nodes) == {"n": score}


@pytest.mark.parametrize(
    ("names", "requests", "skips"),
    [
        pytest.param(["cpu", "memory"], {}, True, id="best effort"),
        pytest.param(["cpu", "memory"], {"ephemeral-storage": 1}, True, id="asks for something else"),
        pytest.param(["cpu", "memory"], {"cpu": 1}, False, id="asks for one"),
        pytest.param([GPU], {"cpu": 1}, True, id="asks for none listed"),
    ],
)
def test_pods_that_ask_for_nothing_listed_skip(
    names: list[str], requests: dict[str, Any], skips: bool
) -> None:
    plugin = make(NodeResourcesBalancedAllocation, comparing(*names))
    nodes, pod = cluster(make_node("n")), make_pod(requests=requests)
    assert plugin.pre_score(CycleState(), pod, nodes).code is (Code.SKIP if skips else Code.SUCCESS)
    if skips:
        assert plugin.score_nodes(CycleState(), pod, nodes).tolist() == [0]
