"""Merging with the defaults and expanding multiPoint."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config import ConfigError, Configuration, EnabledPlugin, from_document
from tests.config.catalogs import plugin, with_plugins
from tests.config.documents import Document, document, enabled, profile
from tests.config.random_configs import random_configuration

CATALOG = with_plugins(
    plugin("A", "filter", "score"),
    plugin("B", "filter", "score"),
    plugin("C", "filter", "score"),
    plugin("Scorer", "score"),
)
ESSENTIAL = ("PrioritySort", "DefaultBinder")


def loaded(*profiles: Document, **fields: Any) -> Configuration:
    return from_document(document(*profiles, **fields), CATALOG)


def only(*names: str, **weights: int) -> Document:
    """Return a multiPoint section with nothing of the defaults but what every profile needs."""
    return enabled(*ESSENTIAL, *names, disabled=("*",), **weights)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        pytest.param(
            {"multiPoint": only("A", "B", "C")}, ["A", "B", "C"], id="multiPoint alone, in its order"
        ),
        pytest.param(
            {"multiPoint": only("A", "B"), "filter": enabled("C")},
            ["A", "B", "C"],
            id="the point's own come last",
        ),
        pytest.param(
            {"multiPoint": only("A", "B"), "filter": enabled("C", "B")},
            ["B", "A", "C"],
            id="listed over multiPoint comes first",
        ),
        pytest.param(
            {"multiPoint": only("A", "B", "C"), "filter": enabled("C", "A")},
            ["C", "A", "B"],
            id="the point's order among those listed over multiPoint",
        ),
        pytest.param(
            {"multiPoint": only("A", "B"), "filter": enabled(disabled=("A",))},
            ["B"],
            id="disabled at the point",
        ),
        pytest.param(
            {"multiPoint": only("A", "B"), "filter": enabled("C", disabled=("*",))},
            ["C"],
            id="a star at the point stops the expansion",
        ),
        pytest.param(
            {"multiPoint": only("A", "B"), "filter": enabled("A", disabled=("A",))},
            ["B", "A"],
            id="disabled and enabled moves to the end",
        ),
        pytest.param({"multiPoint": only("Scorer", "A")}, ["A"], id="left out where it has no method"),
    ],
)
def test_order_at_a_point(sections: dict[str, Document], expected: list[str]) -> None:
    effective = loaded({"schedulerName": "test", "plugins": sections}).profiles[0]
    assert [item.name for item in effective.plugins["filter"]] == expected


@pytest.mark.parametrize(
    ("sections", "weight"),
    [
        pytest.param({"multiPoint": only("A")}, 1, id="absent is 1"),
        pytest.param({"multiPoint": only(A=0)}, 1, id="0 is 1"),
        pytest.param({"multiPoint": only(A=7)}, 7, id="of multiPoint"),
        pytest.param({"multiPoint": only(A=7), "score": enabled(A=3)}, 3, id="the point's wins"),
        pytest.param(
            {"multiPoint": only(A=7), "score": enabled("A")}, 1, id="the point's absent weight wins too"
        ),
        pytest.param({"score": enabled(A=100)}, 100, id="of the point alone"),
    ],
)
def test_weight(sections: dict[str, Document], weight: int) -> None:
    effective = loaded({"schedulerName": "test", "plugins": sections}).profiles[0]
    assert EnabledPlugin("A", weight) in effective.plugins["score"]


def test_a_default_listed_again_keeps_its_place() -> None:
    before = [p.name for p in loaded().profiles[0].plugins["score"]]
    effective = loaded(profile(multiPoint=enabled(NodeAffinity=9))).profiles[0]
    assert [p.name for p in effective.plugins["score"]] == before
    assert EnabledPlugin("NodeAffinity", 9) in effective.plugins["score"]


def test_disabled_and_enabled_in_multi_point_moves_to_the_end() -> None:
    effective = loaded(
        profile(multiPoint=enabled("TaintToleration", disabled=("TaintToleration",)))
    ).profiles[0]
    assert effective.plugins["filter"][-1].name == "TaintToleration"


def test_weights_are_for_scoring_alone() -> None:
    effective = loaded().profiles[0]
    assert {plugin.weight for plugin in effective.plugins["filter"]} == {0}


def test_default_plugins_by_point() -> None:
    plugins = loaded().profiles[0].plugins
    names = {point: " ".join(p.name for p in listed) for point, listed in plugins.items() if listed}
    assert names == {
        "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
        "queueSort": "PrioritySort",
        "preFilter": "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
        "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
        "DynamicResources NodeDeclaredFeatures",
        "filter": "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
        "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
        "DynamicResources NodeDeclaredFeatures",
        "postFilter": "DynamicResources DefaultPreemption",
        "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
        "InterPodAffinity NodeResourcesBalancedAllocation",
        "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
        "InterPodAffinity DynamicResources NodeResourcesBalancedAllocation ImageLocality",
        "reserve": "VolumeBinding DynamicResources",
        "preBind": "VolumeBinding DynamicResources",
        "bind": "DefaultBinder",
        "placementScore": "NodeResourcesFit",
        "podGroupPostFilter": "DynamicResources DefaultPreemption",
    }
    weights = {plugin.name: plugin.weight for plugin in plugins["score"]}
    assert weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


@pytest.mark.parametrize(
    ("version", "gates", "present", "absent"),
    [
        pytest.param("1.34", {}, "DynamicResources", "NodeDeclaredFeatures", id="1.34"),
        pytest.param(
            "1.34", {"NodeDeclaredFeatures": True}, "NodeName", "NodeDeclaredFeatures", id="a gate to come"
        ),
        pytest.param(
            "1.37", {"GenericWorkload": True}, "GangScheduling", "PodGroupPodsCount", id="a gate on"
        ),
        pytest.param(
            "1.37", {"GangScheduling": True}, "NodeName", "GangScheduling", id="a gate that is gone"
        ),
        pytest.param(
            "1.36", {"NodeDeclaredFeatures": False}, "NodeName", "NodeDeclaredFeatures", id="a gate off"
        ),
    ],
)
def test_defaults_follow_release_and_gates(
    version: str, gates: dict[str, bool], present: str, absent: str
) -> None:
    configuration = from_document(document(), CATALOG, kube_version=version, feature_gates=gates)
    names = {p.name for listed in configuration.profiles[0].plugins.values() for p in listed}
    assert present in names
    assert absent not in names


@pytest.mark.parametrize(("version", "scores"), [("1.34", False), ("1.35", True)])
def test_devices_score_since_1_35(version: str, scores: bool) -> None:
    listed = from_document(document(), CATALOG, kube_version=version).profiles[0].plugins["score"]
    assert ("DynamicResources" in [plugin.name for plugin in listed]) is scores


def test_a_plugin_that_the_release_lacks_is_rejected_by_name() -> None:
    asked = document(profile(filter=enabled("NodeDeclaredFeatures")))
    from_document(asked, CATALOG, kube_version="1.35")
    with pytest.raises(
        ConfigError, match="NodeDeclaredFeatures is not part of the selected Kubernetes release"
    ):
        from_document(asked, CATALOG, kube_version="1.34")


@given(st.integers(0, 10_000))
def test_no_plugin_runs_twice_at_a_point_nor_where_it_has_no_method(seed: int) -> None:
    for effective in from_document(random_configuration(seed), CATALOG).profiles:
        for point, listed in effective.plugins.items():
            names = [plugin.name for plugin in listed]
            assert len(names) == len(set(names))
            assert all(point in CATALOG[name].points for name in names)
