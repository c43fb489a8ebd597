from collections.abc import Mapping
from importlib import resources
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.config.in_tree import IN_TREE_POINTS
from mooring.framework import POINTS, points_of
from mooring.framework.objects import (
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSpec,
    TopologyConstraint,
)
from mooring.plugins.in_tree import IN_TREE
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.testing.builders import make_pod

BUILT = {kind.name: kind for kind in IN_TREE}
OF_OTHER_SYSTEMS = {"nodeFilter", "NetworkTraffic", "HelloWorldPlugin", "UnderlayIP"}
PLACING = {"TopologyPlacementGenerator", "PodGroupPodsCount"}


def test_every_plugin_of_kube_scheduler_is_built_or_listed() -> None:
    assert BUILT.keys().isdisjoint(UNSUPPORTED)
    assert BUILT.keys() - OF_OTHER_SYSTEMS | UNSUPPORTED.keys() == IN_TREE_POINTS.keys()


@pytest.mark.parametrize("name", sorted(IN_TREE_POINTS))
def test_points_are_those_of_kube_scheduler(name: str) -> None:
    points = set(points_of(BUILT[name])) if name in BUILT else UNSUPPORTED[name].points
    known = set(IN_TREE_POINTS[name])
    assert points == (known & POINTS.keys() if name in BUILT else known)


@pytest.mark.parametrize("name", sorted(BUILT))
def test_every_plugin_has_a_readme_that_says_what_it_mirrors(name: str) -> None:
    package = BUILT[name].__module__.rpartition(".")[0]
    text = resources.files(package).joinpath("README.md").read_text()
    assert text.startswith(f"# {name}\n")
    assert "Arguments:" in text
    assert name in OF_OTHER_SYSTEMS or "Mirrors `pkg/scheduler/" in text


@pytest.mark.parametrize(
    ("spec", "constraints", "needed"),
    [
        pytest.param({}, [{"key": "zone"}], set(), id="in no group"),
        pytest.param(
            {"schedulingGroup": {"podGroupName": "g"}}, [], set(), id="a group that may be anywhere"
        ),
        pytest.param(
            {"schedulingGroup": {"podGroupName": "other"}}, [{"key": "zone"}], set(), id="no group yet"
        ),
        pytest.param(
            {"schedulingGroup": {"podGroupName": "g"}}, [{"key": "zone"}], PLACING, id="in one zone"
        ),
    ],
)
def test_which_pods_need_a_plugin_that_is_not_built(
    spec: Mapping[str, Any], constraints: list[Mapping[str, Any]], needed: set[str]
) -> None:
    state, pod = State(), make_pod(spec=spec)
    topology = tuple(TopologyConstraint(**constraint) for constraint in constraints)
    group = PodGroup(
        metadata=ObjectMeta(name="g", namespace="default"),
        spec=PodGroupSpec(scheduling_constraints=PodGroupSchedulingConstraints(topology=topology)),
    )
    state.replace("test", [group])
    objects = state.snapshot.objects
    assert {name for name, entry in UNSUPPORTED.items() if entry.uses(pod, objects)} == needed
