"""Older versions and the 2017 policy become v1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.config import ConfigError, EffectiveProfile, convert, from_document, load
from mooring.config.documents import read_configuration
from mooring.config.policy import _NO_COUNTERPART, _PREDICATES, _PRIORITIES
from tests.config.catalogs import in_tree, seeds
from tests.config.documents import Document, document, enabled, profile

SEEDS = Path(__file__).parent / "testdata" / "seeds"


def converted(source: object) -> Document:
    result: Document = read_configuration(convert(json.dumps(source), in_tree()))
    return result


def effective(source: object) -> EffectiveProfile:
    return from_document(converted(source), in_tree(), strict=True).profiles[0]


def weights(found: EffectiveProfile) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in found.plugins["score"]}


def names(found: EffectiveProfile, point: str) -> list[str]:
    return [plugin.name for plugin in found.plugins[point]]


@pytest.mark.parametrize("path", sorted(SEEDS.iterdir()), ids=lambda path: path.stem)
def test_seeds_become_files_that_strict_accepts(path: Path) -> None:
    load(convert(path.read_text(), seeds()), seeds(), strict=True)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3", "v1"])
def test_converting_changes_nothing_that_loading_would_not(version: str) -> None:
    source = document(profile(score=enabled(NodeAffinity=7, disabled=("ImageLocality",))), version=version)
    loaded = from_document(source, in_tree()).profiles[0]
    assert effective(source).plugins == loaded.plugins


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("v1beta1", (1, 1, 1, 2), id="v1beta1"),
        pytest.param("v1beta2", (1, 1, 1, 2), id="v1beta2"),
        pytest.param("v1beta3", (3, 2, 2, 2), id="v1beta3"),
    ],
)
def test_default_weights_are_those_of_the_version(version: str, expected: tuple[int, ...]) -> None:
    found = weights(effective(document(version=version)))
    plugins = ("TaintToleration", "NodeAffinity", "InterPodAffinity", "PodTopologySpread")
    assert tuple(found[name] for name in plugins) == expected


def test_what_an_old_file_settles_stays() -> None:
    score = enabled(TaintToleration=9, disabled=("NodeAffinity",))
    found = weights(effective(document(profile(score=score), version="v1beta2")))
    assert found["TaintToleration"] == 9
    assert "NodeAffinity" not in found


@pytest.mark.parametrize(
    ("score", "args", "strategy", "weight"),
    [
        pytest.param({}, {}, "LeastAllocated", 1, id="the default"),
        pytest.param(
            enabled(NodeResourcesMostAllocated=5, disabled=("NodeResourcesLeastAllocated",)),
            {"NodeResourcesMostAllocated": {"resources": [{"name": "cpu", "weight": 2}]}},
            "MostAllocated",
            5,
            id="most allocated",
        ),
        pytest.param(
            enabled(RequestedToCapacityRatio=2, disabled=("*",)),
            {"RequestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 10}]}},
            "RequestedToCapacityRatio",
            2,
            id="requested to capacity ratio",
        ),
        pytest.param(enabled(NodeResourcesLeastAllocated=4), {}, "LeastAllocated", 4, id="another weight"),
        pytest.param(
            enabled(disabled=("NodeResourcesLeastAllocated",)), {}, "LeastAllocated", None, id="none"
        ),
    ],
)
def test_resource_scoring_of_v1beta1(
    score: Document, args: dict[str, Any], strategy: str, weight: int | None
) -> None:
    found = effective(document(profile(args=args, score=score), version="v1beta1"))
    assert weights(found).get("NodeResourcesFit") == weight
    assert found.args["NodeResourcesFit"].scoring_strategy.type == strategy
    assert "NodeResourcesFit" in names(found, "filter")


def test_strategy_joins_the_arguments_that_are_there() -> None:
    args = {
        "NodeResourcesFit": {"ignoredResources": ["a.b/c"]},
        "NodeResourcesMostAllocated": {"resources": [{"name": "cpu"}]},
    }
    score = enabled("NodeResourcesMostAllocated", disabled=("NodeResourcesLeastAllocated",))
    fit = effective(document(profile(args=args, score=score), version="v1beta1")).args["NodeResourcesFit"]
    assert fit.ignored_resources == ("a.b/c",)
    assert [resource.name for resource in fit.scoring_strategy.resources] == ["cpu"]


def test_spread_constraints_of_v1beta1_switched_the_systems_own_off() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
    args = {"PodTopologySpread": {"defaultConstraints": [constraint]}}
    found = effective(document(profile(args=args), version="v1beta1"))
    assert found.args["PodTopologySpread"].defaulting_type == "List"


@pytest.mark.parametrize(
    ("score", "message"),
    [
        pytest.param(enabled("NodeLabel"), "plugin NodeLabel has no counterpart", id="NodeLabel"),
        pytest.param(
            enabled("ServiceAffinity"), "plugin ServiceAffinity has no counterpart", id="ServiceAffinity"
        ),
        pytest.param(enabled("SelectorSpread"), "default constraints took its place", id="SelectorSpread"),
        pytest.param(enabled("NodeResourcesMostAllocated"), "keep one of them", id="two strategies"),
    ],
)
def test_what_v1_cannot_say_is_rejected(score: Document, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        convert(json.dumps(document(profile(score=score), version="v1beta1")), in_tree())


def test_what_is_left_out_is_told() -> None:
    source = document(
        profile(score=enabled("NodePreferAvoidPods"), filter=enabled("EBSLimits")),
        version="v1beta1",
        healthzBindAddress="0.0.0.0:10251",
        leaderElection={"resourceLock": "endpointsleases"},
    )
    text = convert(json.dumps(source), in_tree())
    head = [line for line in text.splitlines() if line.startswith("#")]
    for name in ("NodePreferAvoidPods", "EBSLimits", "healthzBindAddress", "endpointsleases"):
        assert any(name in line for line in head)
    assert (
        from_document(read_configuration(text), in_tree(), strict=True).document.leader_election.resource_lock
        == "leases"
    )


def test_faulty_old_files_are_rejected_with_paths() -> None:
    with pytest.raises(ConfigError) as caught:
        convert(json.dumps(document({"plugins": {"score": 5}, "foo": 1}, version="v1beta2")), in_tree())
    assert {error.path for error in caught.value.errors} == {"profiles[0].plugins.score", "profiles[0].foo"}


def policy(**fields: Any) -> Document:
    return {"kind": "Policy", "apiVersion": "v1"} | fields


def named(*items: str) -> list[Document]:
    return [{"name": name} for name in items]


def weighted(**items: int) -> list[Document]:
    return [{"name": name, "weight": weight} for name, weight in items.items()]


def test_policy_runs_what_it_names_and_what_was_mandatory() -> None:
    source = policy(
        predicates=named("HostName", "PodFitsResources"), priorities=weighted(ImageLocalityPriority=4)
    )
    found = effective(source)
    assert names(found, "filter") == ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeResourcesFit"]
    assert names(found, "preFilter") == names(found, "filter")
    assert weights(found) == {"ImageLocality": 4}
    assert names(found, "preScore") == []
    assert names(found, "bind") == ["DefaultBinder"]
    assert names(found, "queueSort") == ["PrioritySort"]


def test_policy_without_lists_runs_the_defaults_of_its_time() -> None:
    found = effective(policy())
    assert weights(found) == {
        "TaintToleration": 1,
        "NodeAffinity": 1,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert set(names(found, "filter")) == {name for plugins in _PREDICATES.values() for name in plugins}


def test_policy_with_empty_lists_runs_the_mandatory_predicates_alone() -> None:
    found = effective(policy(predicates=[], priorities=[]))
    assert names(found, "filter") == ["NodeUnschedulable", "TaintToleration"]
    assert names(found, "score") == []


@pytest.mark.parametrize("name", sorted(_PREDICATES))
def test_every_predicate_is_mapped(name: str) -> None:
    found = effective(policy(predicates=named(name), priorities=[]))
    assert set(_PREDICATES[name]) <= set(names(found, "filter"))


@pytest.mark.parametrize("name", sorted(set(_PRIORITIES) - {"RequestedToCapacityRatioPriority"}))
def test_every_priority_is_mapped(name: str) -> None:
    plugin = _PRIORITIES[name]
    expected = {plugin: 6} if plugin else {}
    assert weights(effective(policy(predicates=[], priorities=weighted(**{name: 6})))) == expected


@pytest.mark.parametrize("name", sorted(_NO_COUNTERPART))
def test_names_without_counterpart_are_rejected(name: str) -> None:
    key = "predicates" if name.startswith("Check") else "priorities"
    with pytest.raises(ConfigError, match=f"{name} has no counterpart"):
        convert(json.dumps(policy(**{key: weighted(**{name: 1})})), in_tree())


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"predicates": named("Nope")}, "predicates[0].name", id="unknown predicate"),
        pytest.param({"priorities": weighted(Nope=1)}, "priorities[0].name", id="unknown priority"),
        pytest.param({"priorities": weighted(EqualPriority=0)}, "priorities[0].weight", id="weight 0"),
        pytest.param({"priorities": named("EqualPriority")}, "priorities[0].weight", id="no weight"),
        pytest.param({"predicates": 5}, "predicates", id="no list"),
        pytest.param({"predicates": [5]}, "predicates[0]", id="no mapping"),
        pytest.param({"foo": 5}, "foo", id="unknown field"),
        pytest.param({"extenders": [{"foo": 5}]}, "extenders[0].foo", id="unknown extender field"),
        pytest.param(
            {"priorities": weighted(LeastRequestedPriority=1, MostRequestedPriority=1)},
            "priorities[1]",
            id="two resource strategies",
        ),
        pytest.param(
            {"predicates": [{"name": "x", "argument": {"labelsPresence": {}}}]},
            "predicates[0].name",
            id="labels",
        ),
    ],
)
def test_policy_faults(fields: Document, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        convert(json.dumps(policy(**fields)), in_tree())
    assert [error.path for error in caught.value.errors] == [path]


def test_policy_arguments() -> None:
    ratio = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
    custom = {"name": "Mine", "weight": 3, "argument": {"requestedToCapacityRatioArguments": ratio}}
    source = policy(
        predicates=named("MatchInterPodAffinity"),
        priorities=[custom, *weighted(EvenPodsSpreadPriority=1)],
        hardPodAffinitySymmetricWeight=40,
    )
    found = effective(source)
    assert weights(found) == {"NodeResourcesFit": 3, "PodTopologySpread": 1}
    assert found.args["NodeResourcesFit"].scoring_strategy.type == "RequestedToCapacityRatio"
    assert found.args["InterPodAffinity"].hard_pod_affinity_weight == 40
    assert found.args["PodTopologySpread"].defaulting_type == "List"


def test_policy_extenders_are_respelt() -> None:
    extender = {
        "urlPrefix": "http://127.0.0.1:12345/api/scheduler",
        "filterVerb": "filter",
        "enableHttps": True,
        "httpTimeout": 1_500_000_000,
        "tlsConfig": {"Insecure": True},
        "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        "apiVersion": "v1beta1",
    }
    assert converted(policy(extenders=[extender]))["extenders"] == [
        {
            "urlPrefix": "http://127.0.0.1:12345/api/scheduler",
            "filterVerb": "filter",
            "enableHTTPS": True,
            "httpTimeout": "1.5s",
            "tlsConfig": {"insecure": True},
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        }
    ]
