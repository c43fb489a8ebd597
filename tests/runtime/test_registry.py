"""The registry: names, sources, and what a plugin class must have."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

from mooring.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    Int64s,
    NodeInfo,
    NodeView,
    Normalizer,
    Plugin,
    Pod,
    PreFilterPlugin,
    ScorePlugin,
    Status,
    Verdicts,
)
from mooring.runtime.profiles.plugin_checks import PluginDefinitionError
from mooring.runtime.profiles.registry import Registry, RegistryError, new_in_tree_registry
from tests.missing_plugins import add_missing_plugin


class Good(FilterPlugin[None]):
    name = "Good"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return SUCCESS


def test_a_name_is_registered_once() -> None:
    registry = Registry()
    registry.register("Good", Good)
    with pytest.raises(RegistryError, match="a plugin named Good already exists"):
        registry.register("Good", Good)


def announce(monkeypatch: pytest.MonkeyPatch, reference: str) -> None:
    """Let an installed package announce the plugin Good."""
    point = EntryPoint("Good", reference, "mooring.plugins")
    monkeypatch.setattr("mooring.runtime.profiles.registry.entry_points", lambda **_: [point])


def test_what_a_package_announces_may_be_named_in_code_too(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("good_package")
    vars(package)["Good"] = Good
    monkeypatch.setitem(sys.modules, package.__name__, package)
    announce(monkeypatch, "good_package:Good")
    registry = Registry()
    registry.register_entry_points()
    registry.register("Good", Good)
    assert [(entry.name, entry.source) for entry in registry] == [("Good", "in code")]
    with pytest.raises(RegistryError, match="a plugin named Good already exists"):
        registry.register("Good", Good)


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("mooring.plugins.node_name.plugin:NodeName", id="another class"),
        pytest.param("no_such_module:Good", id="cannot be loaded"),
    ],
)
def test_what_a_package_announces_otherwise_keeps_its_name(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(monkeypatch, reference)
    registry = Registry()
    registry.register_entry_points()
    with pytest.raises(RegistryError, match="a plugin named Good already exists"):
        registry.register("Good", Good)


def test_what_is_not_there_cannot_be_unregistered() -> None:
    registry = Registry()
    registry.register("Good", Good)
    registry.unregister("Good")
    with pytest.raises(RegistryError, match="no plugin named Good exists"):
        registry.unregister("Good")


def test_merging_takes_all_or_nothing() -> None:
    ours, theirs = Registry(), Registry()
    ours.register("Good", Good)
    theirs.register("Other", Good)
    theirs.register("Good", Good)
    with pytest.raises(RegistryError, match="a plugin named Good already exists"):
        ours.merge(theirs)
    assert "Other" not in ours
    theirs.unregister("Good")
    ours.merge(theirs)
    assert "Other" in ours


def test_one_class_may_serve_under_two_names() -> None:
    registry = Registry()
    registry.register("Good", Good)
    registry.register("Better", Good)
    assert [entry.name for entry in registry] == ["Good", "Better"]


def test_a_reference_names_module_and_class() -> None:
    registry = Registry()
    name = registry.register_reference("mooring.plugins.node_name.plugin:NodeName")
    assert name == "NodeName"
    assert registry["NodeName"].source == "mooring.plugins.node_name.plugin:NodeName"


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        pytest.param("NodeName", "write package.module:Class", id="no module"),
        pytest.param("no.such.module:Class", "loaded: ModuleNotFoundError: No module", id="unknown module"),
        pytest.param("mooring.framework:Nothing", "loaded: AttributeError: module", id="unknown class"),
        pytest.param("mooring.framework:Status", "is not a plugin class", id="no plugin"),
    ],
)
def test_bad_references_are_named(reference: str, fault: str) -> None:
    with pytest.raises(RegistryError, match=fault):
        Registry().register_reference(reference)


def test_a_factory_function_says_what_it_makes() -> None:
    def make(_args: object, handle: Handle) -> Good:
        return Good(None, handle)

    registry = Registry()
    registry.register("Made", make)
    assert registry["Made"].plugin_class() is Good
    with pytest.raises(PluginDefinitionError, match="return annotation"):
        registry.register("Unsaid", lambda _args, handle: Good(None, handle))


def test_the_catalog_knows_what_is_built_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = add_missing_plugin(monkeypatch)
    catalog = new_in_tree_registry().catalog()
    assert catalog["NodeResourcesFit"].supported
    assert {"preFilter", "filter", "preScore", "score"} <= catalog["NodeResourcesFit"].points
    assert not catalog[missing].supported
    assert "NoSuchPlugin" not in catalog


def _no_method() -> type[Plugin[Any]]:
    class Bad(PreFilterPlugin[None]):
        pass

    return Bad


def _wrong_parameters() -> type[Plugin[Any]]:
    class Bad(FilterPlugin[None]):
        def filter(self, pod: Pod, node: NodeInfo) -> Status:  # type: ignore[override]  # the fault under test
            return SUCCESS

    return Bad


def _neither_form() -> type[Plugin[Any]]:
    class Bad(FilterPlugin[None]):
        pass

    return Bad


def _both_forms() -> type[Plugin[Any]]:
    class Bad(FilterPlugin[None]):
        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            return SUCCESS

        def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
            return Verdicts.passed(len(nodes))

    return Bad


def _normalised_twice() -> type[Plugin[Any]]:
    class Bad(ScorePlugin[None]):
        normalizer = Normalizer.BY_MAX

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            return 0

        def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
            return scores

    return Bad


def _args_no_dataclass() -> type[Plugin[Any]]:
    class Bad(Good):
        Args = dict

    return Bad


def _mistyped() -> type[Plugin[Any]]:
    class Bad(ScorePlugin[None]):
        def scores(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            return 0

    return Bad


def _wrong_add_pod() -> type[Plugin[Any]]:
    class Bad(Good):
        def add_pod(self, pod: Pod) -> Status:
            return SUCCESS

    return Bad


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        pytest.param(_no_method, "lacks pre_filter", id="abstract method missing"),
        pytest.param(
            _wrong_parameters, r"can't be called as filter\(self, state, pod, node\)", id="parameters"
        ),
        pytest.param(_neither_form, "neither of filter and filter_nodes", id="neither form"),
        pytest.param(_mistyped, "neither of score and score_nodes", id="mistyped name"),
        pytest.param(_both_forms, "both of filter and filter_nodes", id="both forms"),
        pytest.param(_normalised_twice, "both a normalizer and normalize_score", id="two normalisers"),
        pytest.param(_args_no_dataclass, "must be a dataclass", id="args"),
        pytest.param(_wrong_add_pod, "can't be called as add_pod", id="optional method"),
    ],
)
def test_a_class_that_does_not_fit_is_rejected_when_it_is_registered(
    make: Callable[[], type[Plugin[Any]]], fault: str
) -> None:
    with pytest.raises(PluginDefinitionError, match=f"plugin 'Bad'.*{fault}"):
        Registry().register("Bad", make())


def test_a_plugin_that_cannot_be_made_is_named_with_its_profile() -> None:
    from mooring.cluster.state import State
    from mooring.config import from_document
    from mooring.runtime.assembly import build_engine

    from .fakes import profile
    from .test_engine import NoBinder

    class Broken(Good):
        name = "Broken"

        def __init__(self, args: None, handle: Handle) -> None:
            raise RuntimeError("no licence")

    registry = new_in_tree_registry()
    registry.register("Broken", Broken)
    configuration = from_document(profile([Broken]), registry.catalog())
    with pytest.raises(RegistryError, match=r"default-scheduler.*Broken.*RuntimeError: no licence"):
        build_engine(configuration, registry, State(), NoBinder())
