"""Signatures: pods that get the same answers, and the number of calls to plugins about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace as with_fields

from mooring.cluster.state import State
from mooring.config import from_document
from mooring.framework import (
    Aspect,
    CacheablePlugin,
    CycleState,
    Dependencies,
    Int64s,
    NodeView,
    Part,
    Pod,
    ScorePlugin,
)
from mooring.framework.cacheable import as_cacheable
from mooring.framework.errors import PluginFailureError
from mooring.framework.pod_aspects import without_amounts
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.layers.resource_scores import ResourcePlugins
from mooring.runtime.cache.lookup.signature import Signature, Signer
from mooring.runtime.profiles.profile import Enabled, Profile
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_pod
from mooring.testing.question import NoBinder

from .test_cached_equals_full import EMPTY_DOCUMENT, TEMPLATES
from .test_cached_systems import DOCUMENT


def profile_of(document: dict[str, Any]) -> Profile:
    """Return the profile of a configuration."""
    registry = new_in_tree_registry()
    configuration = from_document(document, registry.catalog())
    return build_engine(configuration, registry, State(), NoBinder()).profile()


PROFILE = profile_of(DOCUMENT)
BY_SHAPE = {
    plugin.name: as_cacheable(plugin)
    for plugin in PROFILE.evaluating
    if not as_cacheable(plugin).aspects & (Aspect.AMOUNTS | Aspect.CLAIMS)
}
ASKS_MUCH: dict[str, Any] = {
    "requests": {"cpu": "7", "memory": "9Gi", "example.com/gpu": 3},
    "spec": {
        "initContainers": [
            {
                "name": "first",
                "image": "first:1",
                "restartPolicy": "Always",
                "ports": [{"hostPort": 81}],
                "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}},
            }
        ],
        "overhead": {"cpu": "200m"},
        "resources": {"requests": {"cpu": "9"}},
    },
}


class Counting(ScorePlugin[None], CacheablePlugin):
    """Signs all pods alike, and counts how often."""

    name = "Counting"

    def __init__(self, part: Part) -> None:
        self.part = part
        self.signed: list[Pod] = []

    def dependencies(self, pod: Pod) -> Dependencies:
        self.signed.append(pod)
        return Dependencies(signature=(), parts=self.part)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        raise AssertionError("only signs are asked for")


class CountingByShape(Counting):
    """The same, once for all pods that differ only in what they ask for."""

    aspects = Aspect.NONE


def unnamed(pod: Pod) -> Pod:
    return with_fields(pod, metadata=with_fields(pod.metadata, name="", uid=""))


def signed(*pods: Pod, plugin: Counting) -> list[Signature | None]:
    """Return the signatures of ``pods`` with ``plugin`` in force besides the default profile."""
    profile = replace(PROFILE, score=(*PROFILE.score, Enabled(plugin.name, plugin)))
    signer = Signer()
    return [signer.sign(unnamed(pod), profile) for pod in pods]


@pytest.mark.parametrize("name", BY_SHAPE)
def test_what_pods_ask_for_has_no_part_in_the_signatures_of_plugins_that_say_so(name: str) -> None:
    dependencies = BY_SHAPE[name].dependencies
    for kind, fields in {**TEMPLATES, "asks much": ASKS_MUCH}.items():
        pod = make_pod(**fields)
        assert dependencies(pod) == dependencies(without_amounts(pod)), kind


@pytest.mark.parametrize(
    ("kind", "asked"),
    [pytest.param(Counting, 3, id="looks at requests"), pytest.param(CountingByShape, 1, id="by shape")],
)
def test_plugins_that_go_by_the_shape_are_asked_once(kind: type[Counting], asked: int) -> None:
    pods = [make_pod(f"p{number}", requests={"cpu": f"{number}m"}) for number in range(3)]
    plugin = kind(Part.NODES)
    signed(*pods, plugin=plugin)
    assert len(plugin.signed) == asked


@pytest.mark.parametrize("kind", [Counting, CountingByShape])
@pytest.mark.parametrize(
    ("first", "second", "alike", "standing_alike"),
    [
        pytest.param({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1"}}, True, True, id="equal"),
        pytest.param({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}, False, True, id="other amounts"),
        pytest.param({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}, False, True, id="spelling"),
        pytest.param({"labels": {"app": "a"}}, {"labels": {"app": "b"}}, False, False, id="other labels"),
        pytest.param({"metadata": {"annotations": {"a": "1"}}}, {}, True, True, id="annotations"),
    ],
)
def test_signatures_are_equal_only_where_answers_are(
    kind: type[Counting], first: dict[str, Any], second: dict[str, Any], alike: bool, standing_alike: bool
) -> None:
    one, other = signed(make_pod("a", **first), make_pod("b", **second), plugin=kind(Part.NODES))
    assert one is not None
    assert other is not None
    assert (one.whole == other.whole) is alike
    assert (one.static == other.static) is standing_alike


@pytest.mark.parametrize("kind", [Counting, CountingByShape])
@pytest.mark.parametrize(
    ("part", "alone"),
    [
        pytest.param(Part.RESOURCES, True, id="resources"),
        pytest.param(Part.NODES, False, id="more than resources"),
    ],
)
def test_plugins_that_read_resources_alone_are_kept_apart(
    kind: type[Counting], part: Part, alone: bool
) -> None:
    (found,) = signed(make_pod(), plugin=kind(part))
    assert found is not None
    assert ("Counting" in found.resources.plugins) is alone
    assert ("Counting" in found.others.plugins) is not alone


@pytest.mark.parametrize(
    ("disabled", "rated"),
    [
        pytest.param({}, ["NodeResourcesFit", "NodeResourcesBalancedAllocation"], id="at all points"),
        pytest.param({"score": {"disabled": [{"name": "NodeResourcesFit"}]}}, [], id="not at Score"),
        pytest.param({"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}, [], id="not at Filter"),
    ],
)
def test_plugins_are_asked_in_one_step_where_all_of_their_points_are_enabled(
    disabled: dict[str, Any], rated: list[str]
) -> None:
    profile = profile_of({**EMPTY_DOCUMENT, "profiles": [{"plugins": disabled}]})
    found = Signer().sign(unnamed(make_pod(requests={"cpu": "1"})), profile)
    assert found is not None
    assert [rater.name for rater in ResourcePlugins.of(found.resources).raters] == rated


def test_a_pod_that_a_plugin_will_not_sign_has_no_signature() -> None:
    pod = make_pod(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})
    assert signed(pod, pod, plugin=Counting(Part.NODES)) == [None, None]


class Raising(ScorePlugin[None], CacheablePlugin):
    """Its declarations can't be had for some pods."""

    name = "Raising"

    def __init__(self, declare: Callable[[Pod], Any]) -> None:
        self._declare = declare

    def dependencies(self, pod: Pod) -> Dependencies:
        declared: Dependencies = self._declare(pod)
        return declared

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        return np.zeros(len(nodes), np.int64)


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        pytest.param(lambda pod: pod.metadata.labels["team"], "KeyError: 'team'", id="raises"),
        pytest.param(
            lambda _: Dependencies(signature=["a"]),  # type: ignore[arg-type] # the point
            "TypeError: unhashable type: 'list'",
            id="signature is a list",
        ),
        pytest.param(lambda _: None, "returned NoneType, not Dependencies", id="nothing"),
        pytest.param(
            lambda _: Dependencies(signature=(), parts="NODES"),  # type: ignore[arg-type] # the point
            "declared parts NODES, which is not a Part",
            id="parts are a word",
        ),
    ],
)
def test_a_declaration_that_fails_names_its_plugin(declare: Callable[[Pod], Any], said: str) -> None:
    profile = replace(PROFILE, score=(*PROFILE.score, Enabled("Raising", Raising(declare), 1)))
    with pytest.raises(PluginFailureError) as caught:
        Signer().sign(make_pod("p"), profile)
    assert "plugin 'Raising' failed at Sign" in str(caught.value)
    assert said in str(caught.value)
