"""Unknown plugins give one fault each, or stubs on request; configurations as projects publish them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.config import ConfigError, load
from mooring.config.load import from_document
from tests.config.catalogs import in_tree
from tests.config.documents import Document, document, enabled, profile

PUBLIC = Path(__file__).parent / "testdata" / "public"

NOT_EVALUATED = {
    "scheduler_plugins": {"Coscheduling", "CapacityScheduling", "TargetLoadPacking"},
    "koordinator": {
        "Coscheduling",
        "DefaultPreBind",
        "DeviceShare",
        "ElasticQuota",
        "LoadAwareScheduling",
        "NodeNUMAResource",
        "Reservation",
    },
    "hami": set(),
    "volcano": {"gang", "conformance", "overcommit", "drf", "proportion", "binpack"},
    "simulator": {"NodeNumber"},
    "eks": set(),
    "gke": set(),
}


def text_of(name: str) -> str:
    return (PUBLIC / f"{name}.yaml").read_text()


@pytest.mark.parametrize("name", NOT_EVALUATED)
def test_public_configurations_load_with_stubs(name: str) -> None:
    [loaded] = load(text_of(name), in_tree(), stubs=True).profiles
    assert set(loaded.not_evaluated) == NOT_EVALUATED[name]
    assert [plugin.name for plugin in loaded.plugins["queueSort"]] == ["PrioritySort"]
    assert [plugin.name for plugin in loaded.plugins["bind"]] == ["DefaultBinder"]
    assert loaded.plugins["filter"]


@pytest.mark.parametrize("name", [name for name, unknown in NOT_EVALUATED.items() if unknown])
def test_without_stubs_each_plugin_is_one_fault(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(text_of(name), in_tree())
    said = [error.message for error in raised.value.errors]
    assert {text.split()[3] for text in said} == NOT_EVALUATED[name]
    assert len(said) == len(NOT_EVALUATED[name])


def test_a_fault_names_all_places_whose_it_is_and_what_there_is_instead() -> None:
    config = document(profile(filter=enabled("Coscheduling"), permit=enabled("Coscheduling")))
    with pytest.raises(ConfigError) as raised:
        from_document(config, in_tree())
    [error] = raised.value.errors
    assert error.path == "profiles[0].plugins.filter.enabled[0]"
    assert "also at profiles[0].plugins.permit.enabled[0]" in error.message
    assert "it is scheduler-plugins' or Koordinator's; mooring has GangScheduling" in error.message


def test_a_mistyped_name_is_told_the_right_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean ImageLocality\? Install its package, name it with"):
        from_document(document(profile(score=enabled("ImageLocalitty"))), in_tree())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("Dynamic", "it is crane-scheduler's; mooring has Score", id="Dynamic"),
        pytest.param("Fluence", "it is Fluence's; mooring has GangScheduling", id="Fluence"),
        pytest.param("NodeNumber", "it is an example of kube-scheduler-simulator;", id="NodeNumber"),
        pytest.param("FitLimitResources", "exists; install", id="FitLimitResources"),
        pytest.param(
            "NodeResourcesMostAllocated",
            "kube-scheduler's up to v1beta1; mooring has NodeResourcesFit with the strategy MostAllocated",
            id="NodeResourcesMostAllocated",
        ),
    ],
)
def test_a_plugin_of_others_is_no_mistyped_name(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_document(document(profile(score=enabled(name)), version="v1beta3"), in_tree())
    assert said in str(raised.value)
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "meant"),
    [
        pytest.param(document(parallelizm=3), "parallelism", id="in the file"),
        pytest.param(
            document(profile(score={"enabled": [{"name": "ImageLocality", "wieght": 2}]})),
            "weight",
            id="below",
        ),
        pytest.param(
            document(profile(args={"NodeResourcesFit": {"scoringStrategi": {}}})),
            "scoringStrategy",
            id="in arguments",
        ),
    ],
)
def test_a_mistyped_field_is_told_the_right_one(config: Document, meant: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_document(config, in_tree())
    assert [error.message for error in raised.value.errors] == [f"unknown field; did you mean {meant}?"]


def test_stubs_hide_no_other_fault() -> None:
    config = document(profile(score=enabled("Nope", "NodeName"), bind=enabled(disabled=("*",))))
    with pytest.raises(ConfigError) as raised:
        from_document(config, in_tree(), stubs=True)
    assert {error.path for error in raised.value.errors} == {
        "profiles[0].plugins.score.enabled[1]",
        "profiles[0].plugins.bind",
    }


def test_what_is_not_evaluated_changes_the_hash() -> None:
    with_it = from_document(document(profile(score=enabled("Nope"))), in_tree(), stubs=True)
    assert with_it.hash != from_document(document(profile()), in_tree()).hash
    assert any("plugin Nope is not evaluated" in warning for warning in with_it.warnings)
