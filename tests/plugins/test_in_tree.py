from collections.abc import Mapping
from importlib import resources
from typing import Any

import pytest

from mooring.cluster.state import State
from mooring.framework.objects import (
    ObjectMeta,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSpec,
    TopologyConstraint,
)
from mooring.framework.points import points_of
from mooring.plugins.in_tree import IN_TREE, UPSTREAM
from mooring.plugins.unsupported import UNSUPPORTED
from mooring.testing.builders import make_pod

BUILT = {kind.name: kind for kind in IN_TREE}
OF_OTHER_SYSTEMS = {"nodeFilter", "NetworkTraffic", "HelloWorldPlugin", "UnderlayIP"}
PLACING = {"TopologyPlacementGenerator", "PodGroupPodsCount"}

POINTS_OF_KUBE_SCHEDULER = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "filter",
    "NodeName": "filter",
    "TaintToleration": "filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score placementScore",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind",
    "DefaultPreemption": "preEnqueue postFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": "preFilter filter",
    "GangScheduling": "preEnqueue permit",
    "TopologyPlacementGenerator": "placementGenerate",
    "PodGroupPodsCount": "placementScore",
}
"""The interfaces that the plugins of v1.36.3 declare, in the order of its default list."""


def test_every_plugin_of_kube_scheduler_is_built_or_listed() -> None:
    assert BUILT.keys().isdisjoint(UNSUPPORTED)
    assert BUILT.keys() - OF_OTHER_SYSTEMS | UNSUPPORTED.keys() == POINTS_OF_KUBE_SCHEDULER.keys()
    assert list(UPSTREAM) == list(POINTS_OF_KUBE_SCHEDULER)


@pytest.mark.parametrize("name", sorted(POINTS_OF_KUBE_SCHEDULER))
def test_points_are_those_of_kube_scheduler(name: str) -> None:
    points = set(points_of(BUILT[name])) if name in BUILT else UNSUPPORTED[name].points
    assert points.union(UPSTREAM[name].more_points) == set(POINTS_OF_KUBE_SCHEDULER[name].split())


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
