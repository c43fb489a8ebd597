from importlib import resources

import pytest

from mooring.framework.points import points_of
from mooring.plugins.in_tree import IN_TREE, UPSTREAM
from mooring.plugins.unsupported import UNSUPPORTED

BUILT = {kind.name: kind for kind in IN_TREE}
OF_OTHER_SYSTEMS = {"nodeFilter", "NetworkTraffic", "HelloWorldPlugin", "UnderlayIP"}

POINTS_OF_KUBE_SCHEDULER = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "preFilter filter",
    "NodeName": "preFilter filter",
    "TaintToleration": "preFilter filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score placementScore",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind podGroupPostFilter",
    "DefaultPreemption": "preEnqueue postFilter podGroupPostFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": "preFilter filter",
    "GangScheduling": "preEnqueue permit",
    "TopologyPlacementGenerator": "placementGenerate",
    "PodGroupPodsCount": "placementScore",
    "DeferredPodScheduling": "preFilter filter permit",
}
"""The interfaces that the plugins of v1.37.2 declare, in the order in which mooring lists them."""


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
