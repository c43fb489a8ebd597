"""percentageOfNodesToScore: the number of evaluated nodes."""

from __future__ import annotations

import pytest

from mooring.cluster.kinds import Put, Remove
from mooring.cluster.state import State
from mooring.runtime.cycle.sampling import nodes_to_find, search_order
from mooring.testing.builders import make_node

from .fakes import cycle, filtering, scoring


@pytest.mark.parametrize(
    ("percentage", "count", "scoring", "wanted"),
    [
        pytest.param(None, 5000, True, 5000, id="absent: every node"),
        pytest.param(0, 99, True, 99, id="under 100: all"),
        pytest.param(0, 100, True, 100, id="at least 100"),
        pytest.param(0, 1000, True, 420, id="adaptive at 1000"),
        pytest.param(0, 5000, True, 500, id="adaptive at 5000"),
        pytest.param(0, 100_000, True, 5000, id="never under 5 percent"),
        pytest.param(40, 1000, True, 400, id="as set"),
        pytest.param(1, 5000, True, 100, id="as set, at least 100"),
        pytest.param(100, 5000, True, 5000, id="all of them"),
        pytest.param(50, 5000, False, 1, id="nothing scores: the first will do"),
        pytest.param(None, 5000, False, 5000, id="nothing scores, absent: every node"),
    ],
)
def test_how_many_feasible_nodes_are_enough(
    percentage: int | None, count: int, scoring: bool, wanted: int
) -> None:
    assert nodes_to_find(percentage, count, scoring) == wanted


def test_the_search_ends_when_enough_are_found() -> None:
    names = [f"n{at:03}" for at in range(300)]
    plain = scoring("S", dict.fromkeys(names, 1))
    document = cycle(filtering("F", {}), plain, nodes=names, config={"percentageOfNodesToScore": 50})
    assert (document["evaluated"], document["feasible"]) == (150, 150)
    not_seen = [node for node in document["nodes"].values() if node["status"]["code"] != "Success"]
    assert len(not_seen) == 150
    assert "not evaluated" in not_seen[0]["status"]["reasons"][0]


ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, OLD_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        pytest.param([{}, {}, {}], [0, 1, 2], id="no zones: as they came"),
        pytest.param([{ZONE: "b"}, {ZONE: "b"}, {ZONE: "a"}, {ZONE: "a"}], [0, 2, 1, 3], id="in turns"),
        pytest.param([{ZONE: "a"}, {ZONE: "a"}, {}, {ZONE: ""}], [0, 2, 1, 3], id="an empty zone is none"),
        pytest.param([{ZONE: "a"}, {ZONE: "a"}, {OLD_ZONE: "a"}], [0, 1, 2], id="the older label counts"),
        pytest.param(
            [{ZONE: "a"}, {ZONE: "a"}, {ZONE: "a", OLD_ZONE: "b"}], [0, 2, 1], id="and is preferred"
        ),
        pytest.param([{ZONE: "a"}, {ZONE: "a"}, {ZONE: "a", REGION: "r"}], [0, 2, 1], id="of another region"),
        pytest.param(
            [{REGION: "r"}, {REGION: "r"}, {OLD_REGION: "s", REGION: "r"}], [0, 2, 1], id="regions alone"
        ),
        pytest.param([{ZONE: "a"}] * 3 + [{ZONE: "b"}], [0, 3, 1, 2], id="a zone that ends first"),
    ],
)
def test_the_order_in_which_nodes_are_looked_at(labels: list[dict[str, str]], order: list[int]) -> None:
    state = State()
    state.replace("test", [make_node(f"n{at}", labels=each) for at, each in enumerate(labels)])
    nodes = state.snapshot.nodes
    assert search_order(nodes, nodes.rows()).tolist() == order


def test_a_node_that_takes_a_freed_row_comes_last() -> None:
    state = State()
    state.replace("test", [make_node(name) for name in ("a", "b", "c")])
    state.apply("test", [Remove("Node", "", "a"), Put(make_node("d"))])
    nodes = state.snapshot.nodes
    assert [nodes.names[row] for row in nodes.rows()[search_order(nodes, nodes.rows())]] == ["b", "c", "d"]
