"""Configurations that load, and the result of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path

import pytest

from mooring.config import ConfigError, EnabledPlugin, default, from_document, load, show
from mooring.framework.objects import NodeAffinityTerms, TopologySpreadConstraint
from mooring.framework.releases import FEATURE_GATES, KubeVersion
from mooring.plugins.node_affinity.args import NodeAffinityArgs
from mooring.plugins.node_resources_fit.args import NodeResourcesFitArgs, ScoringStrategyType
from mooring.plugins.pod_topology_spread.args import PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread.plugin import MATCH_LABEL_KEYS_GATE
from mooring.plugins.taint_toleration.plugin import COMPARISON_GATE
from tests.config.catalogs import HelloWorldPluginArgs, in_tree, plugin, seeds, with_plugins
from tests.config.documents import Document, document, enabled, profile

SEEDS = Path(__file__).parent / "testdata" / "seeds"


def seed(name: str) -> str:
    return (SEEDS / name).read_text()


@pytest.mark.parametrize(
    ("whole", "own", "expected"),
    [
        pytest.param(None, None, None, id="absent is every node"),
        pytest.param(0, None, 0, id="0 is adaptive"),
        pytest.param(30, None, 30, id="of the file"),
        pytest.param(30, 0, 0, id="the profile's wins, 0 too"),
        pytest.param(None, 50, 50, id="of the profile alone"),
    ],
)
def test_percentage_of_nodes_to_score(whole: int | None, own: int | None, expected: int | None) -> None:
    config = document(profile() | {"percentageOfNodesToScore": own}, percentageOfNodesToScore=whole)
    assert from_document(config, in_tree()).profiles[0].percentage_of_nodes_to_score == expected


def test_default() -> None:
    configuration = default(in_tree())
    assert [p.scheduler_name for p in configuration.profiles] == ["default-scheduler"]
    assert configuration.lease_name is None
    assert configuration.warnings == ()
    assert configuration.profiles[0].percentage_of_nodes_to_score is None


def test_arguments_are_typed() -> None:
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": {}}]}
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
    config = document(
        profile(
            args={
                "NodeAffinity": {"addedAffinity": affinity},
                "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [constraint]},
                "NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated", "resources": []}},
            }
        )
    )
    args = from_document(config, in_tree()).profiles[0].args
    added, spread, fit = args["NodeAffinity"], args["PodTopologySpread"], args["NodeResourcesFit"]
    assert isinstance(added, NodeAffinityArgs)
    assert isinstance(added.added_affinity, NodeAffinityTerms)
    assert added.added_affinity.preferred_during_scheduling_ignored_during_execution[0].weight == 5
    assert isinstance(spread, PodTopologySpreadArgs)
    assert spread.default_constraints == (
        TopologySpreadConstraint(
            max_skew=1, topology_key="z", when_unsatisfiable="DoNotSchedule", min_domains=2
        ),
    )
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy.type is ScoringStrategyType.MOST_ALLOCATED
    assert [(r.name, r.weight) for r in fit.scoring_strategy.resources] == [("cpu", 1), ("memory", 1)]


def test_arguments_of_out_of_tree_plugins() -> None:
    catalog = with_plugins(
        plugin("Typed", "score", args=HelloWorldPluginArgs), plugin("Plain", "score"), plugin("None", "score")
    )
    given = {"Typed": {"yyy": "123"}, "Plain": {"any": [1, "x"]}}
    config = document(profile(args=given, score=enabled("Typed", "Plain", "None")))
    args = from_document(config, catalog).profiles[0].args
    assert args["Typed"] == HelloWorldPluginArgs(yyy="123")
    assert args["Plain"] == {"any": [1, "x"]}
    assert "None" not in args


@dataclass(frozen=True)
class RackArgs:
    label: str
    racks: frozenset[str] = frozenset()
    timeout: timedelta = timedelta(seconds=1)
    path: Path = Path("racks")


class Opaque:
    """No type that a file could hold."""


@dataclass(frozen=True)
class OpaqueArgs:
    opaque: Opaque | None = None


def test_arguments_of_many_types() -> None:
    catalog = with_plugins(plugin("Rack", "score", args=RackArgs))
    given = {"label": "rack", "racks": ["a"], "timeout": "1m30s", "path": "/racks"}
    configuration = from_document(document(profile(args={"Rack": given}, score=enabled("Rack"))), catalog)
    args = configuration.profiles[0].args["Rack"]
    assert args == RackArgs("rack", frozenset({"a"}), timedelta(seconds=90), Path("/racks"))
    assert "timeout: 1m30s" in show(configuration)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        pytest.param(RackArgs, "profiles[0].pluginConfig[Rack].args.label: is required", id="no default"),
        pytest.param(OpaqueArgs, "profiles[0].pluginConfig[Rack].args: OpaqueArgs cannot", id="opaque"),
    ],
)
def test_arguments_that_cannot_be_made(kind: type[object], fault: str) -> None:
    catalog = with_plugins(plugin("Rack", "score", args=kind))
    with pytest.raises(ConfigError, match=re.escape(fault)):
        from_document(document(profile(score=enabled("Rack"))), catalog)


def test_extenders_take_resources_over() -> None:
    managed = [{"name": "a.b/c", "ignoredByScheduler": True}, {"name": "a.b/d"}]
    config = document(
        profile("a", {"NodeResourcesFit": {"ignoredResources": ["a.b/e"]}}),
        profile("b"),
        extenders=[{"managedResources": managed}],
    )
    for effective in from_document(config, in_tree()).profiles:
        assert effective.args["NodeResourcesFit"].ignored_resources == ("a.b/c",)


def test_in_tree_plugins_without_support_are_marked() -> None:
    config = document(profile(multiPoint=enabled(disabled=("VolumeZone",))))
    unsupported = from_document(config, in_tree()).profiles[0].unsupported
    assert "NodeDeclaredFeatures" in unsupported
    assert "VolumeZone" not in unsupported
    assert "NodeResourcesFit" not in unsupported


def test_gated_arguments() -> None:
    gates = {"DRASchedulerFilterTimeout": False}
    args = from_document(document(), in_tree(), feature_gates=gates).profiles[0].args
    assert [(p.utilization, p.score) for p in args["VolumeBinding"].shape] == [(0, 10), (100, 0)]
    assert args["DynamicResources"].filter_timeout is None
    before = from_document(document(), in_tree(), kube_version="1.36").profiles[0].args
    assert before["VolumeBinding"].shape is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(
            document(
                percentageOfNodesToScore=0,
                leaderElection={"resourceName": "x"},
                clientConnection={"qps": 100, "contentType": "application/json"},
                enableProfiling=True,
                parallelism=4,
            ),
            [
                "ignored by mooring: clientConnection.contentType, enableProfiling",
                "acted on by mooring scheduler alone: parallelism, clientConnection",
            ],
            id="one warning for all fields without effect, one for those of the scheduler",
        ),
        pytest.param(
            document(
                profile(placementScore=enabled("NodeResourcesFit")),
                percentageOfNodesToScore=0,
                leaderElection={"leaderElect": False},
            ),
            [],
            id="no lease, no lease name to warn of",
        ),
        pytest.param(document(), [], id="defaults that differ are no warning"),
    ],
)
def test_warnings(config: Document, expected: list[str]) -> None:
    assert list(from_document(config, in_tree()).warnings) == expected


def test_the_scheduler_acts_on_its_own_fields() -> None:
    config = document(parallelism=4, clientConnection={"qps": 100})
    assert from_document(config, in_tree(), scheduling=True).warnings == ()


def test_defaults_that_differ_are_told_apart() -> None:
    assert [text.partition(":")[0] for text in from_document(document(), in_tree()).differences] == [
        "percentageOfNodesToScore",
        "leaderElection.resourceName",
    ]
    said = document(percentageOfNodesToScore=0, leaderElection={"resourceName": "x"})
    assert from_document(said, in_tree()).differences == ()


def test_a_plugin_is_disabled_where_room_is_made_for_groups() -> None:
    config = document(profile(podGroupPostFilter={"disabled": [{"name": "DefaultPreemption"}]}))
    plugins = from_document(config, in_tree()).profiles[0].plugins
    assert [plugin.name for plugin in plugins["podGroupPostFilter"]] == ["DynamicResources"]
    assert "DefaultPreemption" in [plugin.name for plugin in plugins["postFilter"]]


SINCE_137 = {
    name
    for name, gate in FEATURE_GATES.items()
    if KubeVersion(1, 37) in (gate.known_since, gate.followed_since)
}
LACKING = {name for name, gate in FEATURE_GATES.items() if gate.lacking}


@pytest.mark.parametrize(
    ("kube_version", "gates", "named"),
    [
        pytest.param("1.36", {}, None, id="none set"),
        pytest.param(
            "1.36",
            dict.fromkeys(FEATURE_GATES.keys() - SINCE_137, True),
            None,
            id="all that have an effect",
        ),
        pytest.param(
            "1.37",
            dict.fromkeys(FEATURE_GATES.keys() - LACKING, True),
            "GangScheduling, SchedulerQueueingHints, SidecarContainers, WorkloadAwarePreemption",
            id="those of older releases",
        ),
        pytest.param(
            "1.36", {"Zeta": True, "VolumeLimitScaling": True, "Alpha": False}, "Alpha, Zeta", id="others"
        ),
        pytest.param(
            "1.34",
            {"TaintTolerationComparisonOperators": True},
            "TaintTolerationComparisonOperators",
            id="too early",
        ),
    ],
)
def test_feature_gates_without_effect_are_told(
    kube_version: str, gates: dict[str, bool], named: str | None
) -> None:
    told = f"feature gates that mooring itself does not act on (Kubernetes {kube_version}): {named}"
    without_file = default(in_tree(), kube_version=kube_version, feature_gates=gates)
    with_file = from_document(document(), in_tree(), kube_version=kube_version, feature_gates=gates)
    assert without_file.warnings == (() if named is None else (told,))
    assert [w for w in with_file.warnings if "gates" in w] == list(without_file.warnings)


@pytest.mark.parametrize(
    ("kube_version", "gates", "rejected"),
    [
        pytest.param("1.36", {"SidecarContainers": False}, ["SidecarContainers"], id="locked"),
        pytest.param("1.34", {"InPlacePodVerticalScaling": False}, [], id="not locked yet"),
        pytest.param("1.36", {"InPlacePodVerticalScaling": True}, [], id="set to what it is"),
        pytest.param(
            "1.35",
            {"SidecarContainers": False, "DynamicResourceAllocation": False, "PodLevelResources": False},
            ["DynamicResourceAllocation", "SidecarContainers"],
            id="all of them are named",
        ),
    ],
)
def test_a_locked_feature_gate_is_rejected(
    kube_version: str, gates: dict[str, bool], rejected: list[str]
) -> None:
    try:
        default(in_tree(), kube_version=kube_version, feature_gates=gates)
    except ConfigError as error:
        found = [(fault.path, fault.message) for fault in error.errors]
    else:
        found = []
    reason = f"can't be false: Kubernetes {kube_version} locks it to true"
    assert found == [(f"feature-gates.{name}", reason) for name in rejected]


@pytest.mark.parametrize(
    ("kube_version", "gate"),
    [
        pytest.param("1.36", "GenericWorkload", id="groups"),
        pytest.param("1.36", "GangScheduling", id="gangs"),
        pytest.param("1.36", "WorkloadAwarePreemption", id="room for groups"),
        pytest.param("1.35", "GenericWorkload", id="groups of the release before"),
    ],
)
def test_pod_groups_are_followed_from_1_37_on(kube_version: str, gate: str) -> None:
    instead = "leave it false, or follow Kubernetes 1.37 (--kube-version)"
    with pytest.raises(ConfigError) as rejected:
        default(in_tree(), kube_version=kube_version, feature_gates={gate: True})
    assert [(fault.path, fault.message) for fault in rejected.value.errors] == [
        (
            f"feature-gates.{gate}",
            f"true is not supported for Kubernetes {kube_version}; {instead}",
        )
    ]


@pytest.mark.parametrize(
    ("gates", "errors"),
    [
        pytest.param({}, ["can't be true without GenericWorkload=true"], id="needs another"),
        pytest.param({"GenericWorkload": True}, [], id="with what it needs"),
    ],
)
def test_a_gate_may_need_another(gates: dict[str, bool], errors: list[str]) -> None:
    given = {"TopologyAwareWorkloadScheduling": True, **gates}
    try:
        default(in_tree(), kube_version="1.37", feature_gates=given)
    except ConfigError as error:
        found = [fault.message for fault in error.errors]
    else:
        found = []
    assert found == errors


def test_gates_that_are_not_followed_are_rejected_all_at_once_with_the_reason() -> None:
    with pytest.raises(ConfigError) as rejected:
        default(in_tree(), kube_version="1.37", feature_gates=dict.fromkeys(FEATURE_GATES, True))
    assert {fault.path: fault.message for fault in rejected.value.errors} == {
        f"feature-gates.{name}": f"true is not supported for Kubernetes 1.37 ({why}); leave it false"
        for name, why in (
            ("CompositePodGroup", "groups of groups are not scheduled"),
            (
                "InPlacePodVerticalScalingSchedulerPreemption",
                "no room is made for pods that wait on their node to be resized",
            ),
        )
    }


@pytest.mark.parametrize("kube_version", ["1.34", "1.36"])
def test_pods_in_backoff_are_always_taken_early(kube_version: str) -> None:
    """A gate that mooring can't do without is rejected by name when it is turned off."""
    with pytest.raises(ConfigError) as rejected:
        default(in_tree(), kube_version=kube_version, feature_gates={"SchedulerPopFromBackoffQ": False})
    (fault,) = rejected.value.errors
    assert fault.path == "feature-gates.SchedulerPopFromBackoffQ"
    assert fault.message == f"false is not supported for Kubernetes {kube_version}; leave it true"


def test_every_gate_of_arguments_and_plugins_is_listed() -> None:
    of_arguments = {
        gate
        for description in in_tree().values()
        if description.args is not None
        for field in fields(description.args)
        for gate in field.metadata.get("gates", ())
    }
    assert of_arguments | {COMPARISON_GATE, MATCH_LABEL_KEYS_GATE} <= FEATURE_GATES.keys()


def test_names_that_do_nothing_are_told() -> None:
    config = document(profile(args={"Nope": {}}, score=enabled(disabled=("Nada",))))
    text = "\n".join(from_document(config, in_tree()).warnings)
    assert "profiles[0].plugins.score.disabled[0]: no plugin named Nada exists" in text
    assert "profiles[0].pluginConfig[0]: no plugin named Nope exists" in text


def test_hash_tells_configurations_apart() -> None:
    absent, zero = document(), document(percentageOfNodesToScore=0)
    same = document(parallelism=None)
    hashes = [from_document(config, in_tree()).hash for config in (absent, zero, same)]
    assert hashes[0] != hashes[1]
    assert hashes[0] == hashes[2]


def test_score_plugin_seed() -> None:
    configuration = load(seed("score-plugin.yaml"), seeds())
    effective = configuration.profiles[0]
    assert effective.plugins["score"] == (EnabledPlugin("HelloWorldPlugin", 1),)
    assert effective.args["HelloWorldPlugin"] == HelloWorldPluginArgs("xxx", "123", 3)
    assert "NodeResourcesFit" in {p.name for p in effective.plugins["filter"]}


@pytest.mark.parametrize(
    ("name", "pods", "nodes"), [pytest.param("a", 100, 1, id="pods"), pytest.param("b", 1, 100, id="nodes")]
)
def test_weights_seed(name: str, pods: int, nodes: int) -> None:
    scores = load(seed(f"weights-{name}.yaml"), seeds()).profiles[0].plugins["score"]
    weights = {plugin.name: plugin.weight for plugin in scores}
    assert (weights["InterPodAffinity"], weights["NodeAffinity"]) == (pods, nodes)
    assert weights["TaintToleration"] == 3


def test_extender_seed() -> None:
    configuration = load(seed("extender.yaml"), seeds())
    assert configuration.profiles[0].args["NodeResourcesFit"].ignored_resources == ("example.com/bandwidth",)
    assert configuration.document.extenders[0].filter_verb == "filter"


def test_plugin_registry_seed() -> None:
    configuration = load(seed("plugin-registry.yaml"), seeds())
    effective = configuration.profiles[0]
    assert configuration.lease_name == "tanjunchen-scheduler"
    assert effective.percentage_of_nodes_to_score == 0
    assert [p.name for p in effective.plugins["filter"]][-2:] == ["example", "nodeFilter"]
    assert [p.name for p in effective.plugins["preBind"]][-1] == "example"
    gone = [warning for warning in configuration.warnings if "NodeVolumeLimits does its work" in warning]
    assert len(gone) == 3


def test_single_scheduler_seed() -> None:
    effective = load(seed("plugin-registry-single.yaml"), seeds()).profiles[0]
    assert effective.scheduler_name == "my-scheduler"
    names = [plugin.name for plugin in effective.plugins["filter"]]
    assert names.index("TaintToleration") < names.index("nodeFilter")
