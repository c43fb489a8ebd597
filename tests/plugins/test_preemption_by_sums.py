"""Many nodes are searched at once if filters read sums, with the same victims as a search node by node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.preemption import Preemption
from mooring.plugins.default_preemption.victims import VictimSearch
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import evaluate_preemption
from mooring.runtime.cycle.post_filter import EvaluatedNodes
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_node, make_pod
from mooring.testing.question import NoBinder
from tests.examples import examples

STARTS = (None, "2025-01-01T00:00:00Z", "2025-01-01T00:00:01Z", "2025-02-01T00:00:00Z")
APPS = ("plain", "guarded", "guarded twice")

Placed = tuple[int, int, int, str | None, str, bool]
"""A pod's node, priority, CPU in hundredths, start, app, and whether it is small in memory."""

PLACED = st.tuples(
    st.integers(0, 4),
    st.sampled_from((-5, 0, 0, 1, 20)),
    st.sampled_from((0, 25, 50, 100, 150)),
    st.sampled_from(STARTS),
    st.sampled_from(APPS),
    st.booleans(),
)


def budget(name: str, allowed: int, *apps: str) -> Any:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps)}]}
    return from_manifest(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed},
        }
    )


def found(pods: Sequence[Placed], allowed: int, version: str, *, nominated: bool) -> Preemption | None:
    state = State()
    nodes = [make_node(f"n{at}", allocatable={"cpu": "2", "memory": "2Gi", "pods": 5}) for at in range(5)]
    budgets = [budget("one", allowed, "guarded", "guarded twice"), budget("two", 0, "guarded twice")]
    running = [
        make_pod(
            f"p{at}",
            node=f"n{node}",
            labels={"app": app},
            metadata={"uid": f"u{at}"},
            requests={"cpu": f"{cpu * 10}m", "memory": "100Mi" if small else "900Mi"},
            spec={"priority": priority},
            status={"startTime": start} if start else {},
        )
        for at, (node, priority, cpu, start, app, small) in enumerate(pods)
    ]
    status = {"nominatedNodeName": "n1"}
    guests = [make_pod("guest", requests={"cpu": "1"}, spec={"priority": 20}, status=status)]
    state.replace("test", [*nodes, *budgets, *running, *(guests if nominated else ())])
    registry = new_in_tree_registry()
    configuration = default(registry.catalog())
    engine = build_engine(configuration, registry, state, NoBinder(), kube_version=version)
    pod = make_pod("needs-room", requests={"cpu": "1500m", "memory": "1Gi"}, spec={"priority": 10})
    run = partial(evaluate_preemption, given=None, seed=1)
    return engine.evaluate(pod, engine.profile(), ALL_NODES, run=run)[0].preemption


@examples(150)
@given(st.lists(PLACED, max_size=16), st.integers(0, 2), st.sampled_from(("1.36", "1.37")), st.booleans())
def test_the_victims_are_those_of_a_search_node_by_node(
    pods: list[Placed], allowed: int, version: str, nominated: bool
) -> None:
    at_once = found(pods, allowed, version, nominated=nominated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EvaluatedNodes, "sums", lambda _: None)
        assert at_once == found(pods, allowed, version, nominated=nominated)


def test_many_nodes_are_searched_by_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VictimSearch, "on_nodes", lambda *_: pytest.fail("searched node by node"))
    preemption = found([(node, 0, 150, None, "plain", True) for node in range(5)], 1, "1.37", nominated=False)
    assert preemption is not None
    assert [candidate.node_name for candidate in preemption.candidates] == [f"n{at}" for at in range(5)]
