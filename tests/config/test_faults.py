"""Every fault of a configuration is reported, with the field's path."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import ConfigError, check, from_document, load
from tests.config.catalogs import HelloWorldPluginArgs, in_tree, plugin, with_plugins
from tests.config.documents import Document, document, enabled, profile

CATALOG = with_plugins(
    plugin("Hello", "score", args=HelloWorldPluginArgs),
    plugin("Sorter", "queueSort", args=HelloWorldPluginArgs),
)
ARGS = "profiles[0].pluginConfig[0].args"


def faults(config: object, **options: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        from_document(config, CATALOG, **options)
    return {error.path: error.message for error in caught.value.errors}


@pytest.mark.parametrize(
    ("config", "path", "message"),
    [
        pytest.param(document(parallelism=object()), "", "holds what no file could hold", id="an object"),
        pytest.param([], "", "a KubeSchedulerConfiguration is expected", id="a list"),
        pytest.param({}, "kind", "must be KubeSchedulerConfiguration", id="nothing"),
        pytest.param({"kind": "Pod"}, "kind", "not Pod", id="another kind"),
        pytest.param({"kind": "Policy"}, "kind", "mooring config convert", id="a policy"),
        pytest.param(
            document(version="v2"), "apiVersion", "must be kubescheduler.config.k8s.io/v1", id="version"
        ),
        pytest.param(
            document(version="v1alpha1"),
            "apiVersion",
            "v1beta1, v1beta2, v1beta3 are read, too",
            id="v1alpha1",
        ),
        pytest.param(
            document(version="v1alpha2", algorithmSource={"policy": {"file": {"path": "/etc/policy.cfg"}}}),
            "algorithmSource.policy.file",
            "the policy is in /etc/policy.cfg: convert that",
            id="a policy in another file",
        ),
        pytest.param(
            document(
                version="v1alpha1",
                algorithmSource={"policy": {"configMap": {"namespace": "kube-system", "name": "policy"}}},
            ),
            "algorithmSource.policy.configMap",
            "the policy is in kube-system/policy: convert that",
            id="a policy in a ConfigMap",
        ),
        pytest.param(
            document(profile(args={"NodeResourcesLeastAllocated": {"resources": []}}), version="v1beta2"),
            "profiles[0].pluginConfig[0]",
            "give its resources to NodeResourcesFit's scoringStrategy of type LeastAllocated",
            id="arguments of a plugin that v1beta2 ended",
        ),
        pytest.param(
            document(
                extenders=[{"urlPrefix": "https://a", "tlsConfig": {"insecure": True, "caData": "eA=="}}]
            ),
            "extenders[0].tlsConfig.insecure",
            "must not be true together with caFile or caData",
            id="a CA beside insecure",
        ),
        pytest.param(
            document(
                extenders=[{"urlPrefix": "https://a", "tlsConfig": {"insecure": True, "caFile": "/ca"}}]
            ),
            "extenders[0].tlsConfig.insecure",
            "must not be true together with caFile or caData",
            id="a CA file beside insecure",
        ),
        pytest.param(document(foo=1), "foo", "unknown field", id="unknown field"),
        pytest.param(
            document(parallelism="4"), "parallelism", 'must be a valid integer, not "4"', id="string"
        ),
        pytest.param(
            document(parallelism=True), "parallelism", "must be a valid integer, not true", id="boolean"
        ),
        pytest.param(document(parallelism=0), "parallelism", "must be greater than 0", id="parallelism 0"),
        pytest.param(
            document(profile(args={"NodeResourcesFit": {"scoringStrategy": {"type": "MostAlocated"}}})),
            f"{ARGS}.scoringStrategy.type",
            "did you mean MostAllocated?",
            id="a mistyped word",
        ),
        pytest.param(
            document(parallelism=2**31), "parallelism", "must be less than 2147483648", id="over int32"
        ),
        pytest.param(document(enableProfiling="yes"), "enableProfiling", "must be a valid boolean", id="yes"),
        pytest.param(
            document(percentageOfNodesToScore=101), "percentageOfNodesToScore", "0 and 100", id="101 %"
        ),
        pytest.param(
            document(podInitialBackoffSeconds=0), "podInitialBackoffSeconds", "greater than 0", id="backoff"
        ),
        pytest.param(
            document(podInitialBackoffSeconds=11), "podMaxBackoffSeconds", "not be less", id="backoff order"
        ),
        pytest.param(
            document(clientConnection={"burst": -1}), "clientConnection.burst", "negative", id="burst"
        ),
        pytest.param(
            document(clientConnection={"qsp": 1}), "clientConnection.qsp", "unknown field", id="nested typo"
        ),
        pytest.param(
            document(leaderElection={"leaseDuration": 15}),
            "leaderElection.leaseDuration",
            "such as 15s",
            id="no unit",
        ),
        pytest.param(
            document(leaderElection={"leaseDuration": "5s"}),
            "leaderElection.leaseDuration",
            "renewDeadline",
            id="lease",
        ),
        pytest.param(
            document(leaderElection={"retryPeriod": "-1s"}),
            "leaderElection.retryPeriod",
            "greater than 0",
            id="retry",
        ),
        pytest.param(
            document(leaderElection={"resourceLock": "endpoints"}),
            "leaderElection.resourceLock",
            "leases",
            id="lock",
        ),
        pytest.param(document(profile(), {}), "profiles[1].schedulerName", "is required", id="no name"),
        pytest.param(document(profile("")), "profiles[0].schedulerName", "is required", id="empty name"),
        pytest.param(
            document(profile("a"), profile("a")),
            "profiles[1].schedulerName",
            "duplicates profiles[0].schedulerName",
            id="same name",
        ),
        pytest.param(
            document(profile() | {"percentageOfNodesToScore": -1}),
            "profiles[0].percentageOfNodesToScore",
            "within 0 and 100",
            id="profile's percentage",
        ),
        pytest.param(
            document(profile(sort={})), "profiles[0].plugins.sort", "unknown field", id="unknown point"
        ),
        pytest.param(
            document(profile(score=enabled("Hello", "Nope"))),
            "profiles[0].plugins.score.enabled[1]",
            "no plugin named Nope exists",
            id="unknown plugin",
        ),
        pytest.param(
            document(profile(score=enabled("NodeName"))),
            "profiles[0].plugins.score.enabled[0]",
            "does not implement score; it implements filter",
            id="wrong point",
        ),
        pytest.param(
            document(profile(score=enabled("Hello", "Hello"))),
            "profiles[0].plugins.score.enabled[1]",
            "enabled twice",
            id="twice at a point",
        ),
        pytest.param(
            document(profile(multiPoint=enabled("Hello", "Hello"))),
            "profiles[0].plugins.multiPoint.enabled[1]",
            "enabled twice",
            id="twice in multiPoint",
        ),
        pytest.param(
            document(profile(score=enabled(Hello=-1))),
            "profiles[0].plugins.score.enabled[0].weight",
            "must not be negative",
            id="negative weight",
        ),
        pytest.param(
            document(profile(score={"enabled": [{"weight": 1}]})),
            "profiles[0].plugins.score.enabled[0].name",
            "is required",
            id="no plugin name",
        ),
        pytest.param(
            document(profile(queueSort=enabled(disabled=("*",)))),
            "profiles[0].plugins.queueSort",
            "exactly one queueSort plugin is needed, found none",
            id="no queueSort",
        ),
        pytest.param(
            document(profile(queueSort=enabled("Sorter"))),
            "profiles[0].plugins.queueSort",
            "found PrioritySort, Sorter",
            id="two queueSort",
        ),
        pytest.param(
            document(profile("a"), profile("b", queueSort=enabled("Sorter", disabled=("*",)))),
            "profiles[1].plugins.queueSort",
            "same for all profiles",
            id="different queueSort",
        ),
        pytest.param(
            document(
                profile("a", {"Sorter": {"zzz": 1}}, queueSort=enabled("Sorter", disabled=("*",))),
                profile("b", {"Sorter": {"zzz": 2}}, queueSort=enabled("Sorter", disabled=("*",))),
            ),
            "profiles[1].pluginConfig",
            "args must be the same",
            id="different queueSort args",
        ),
        pytest.param(
            document(profile(multiPoint=enabled(disabled=("DefaultBinder",)))),
            "profiles[0].plugins.bind",
            "at least one bind plugin",
            id="no binder",
        ),
        pytest.param(
            document({"schedulerName": "a", "pluginConfig": [{"name": "Hello"}, {"name": "Hello"}]}),
            "profiles[0].pluginConfig[1]",
            "a second entry",
            id="two entries for a plugin",
        ),
    ],
)
def test_one_fault(config: object, path: str, message: str) -> None:
    found = faults(config)
    assert list(found) == [path]
    assert message in found[path]


@pytest.mark.parametrize(
    ("extenders", "path", "message"),
    [
        pytest.param([{"prioritizeVerb": "p"}], "extenders[0].weight", "greater than 0", id="no weight"),
        pytest.param(
            [{"prioritizeVerb": "p", "weight": -1}], "extenders[0].weight", "greater than 0", id="-1"
        ),
        pytest.param([{"bindVerb": "b"}, {"bindVerb": "b"}], "extenders", "found 2", id="two binders"),
        pytest.param(
            [{"managedResources": [{"name": "cpu"}]}],
            "extenders[0].managedResources[0].name",
            "not an extended resource",
            id="native resource",
        ),
        pytest.param(
            [{"managedResources": [{"name": "a b/c"}]}],
            "extenders[0].managedResources[0].name",
            "not a qualified name",
            id="malformed resource",
        ),
        pytest.param(
            [{"managedResources": [{"name": "a.b/c"}]}, {"managedResources": [{"name": "a.b/c"}]}],
            "extenders[1].managedResources[0].name",
            "managed twice",
            id="resource managed twice",
        ),
        pytest.param([{"httpTimeout": "soon"}], "extenders[0].httpTimeout", "not a duration", id="timeout"),
        pytest.param(
            [{"enableHttps": True}], "extenders[0].enableHttps", "unknown field", id="spelling of the policy"
        ),
    ],
)
def test_extenders(extenders: list[Document], path: str, message: str) -> None:
    found = faults(document(extenders=extenders))
    assert list(found) == [path]
    assert message in found[path]


def test_ignored_resources_need_a_plugin_to_ignore_them() -> None:
    extender = {"managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}]}
    without_fit = profile(multiPoint=enabled(disabled=("NodeResourcesFit",)))
    assert (
        "NodeResourcesFit must be enabled"
        in faults(document(without_fit, extenders=[extender]))["profiles[0]"]
    )


@pytest.mark.parametrize(
    ("name", "args", "path", "message"),
    [
        pytest.param(
            "Hello", {"zzz": "3"}, ".zzz", 'must be a valid integer, not "3"', id="string for a number"
        ),
        pytest.param(
            "Hello", {"yyy": 123}, ".yyy", "must be a valid string, not 123", id="number for a string"
        ),
        pytest.param("Hello", {"abc": 1}, ".abc", "unknown field", id="unknown"),
        pytest.param("Hello", [], "", "should be a mapping", id="a list"),
        pytest.param("Hello", {"kind": "OtherArgs"}, ".kind", "should be HelloArgs", id="kind"),
        pytest.param(
            "NodeAffinity", {"apiVersion": "v1"}, ".apiVersion", "should be kubescheduler", id="version"
        ),
        pytest.param(
            "NodeAffinity", {"addedAffinity": {"x": 1}}, ".addedAffinity.x", "unknown field", id="in object"
        ),
        pytest.param(
            "InterPodAffinity", {"hardPodAffinityWeight": 101}, ".hardPodAffinityWeight", "100", id="weight"
        ),
        pytest.param(
            "DefaultPreemption", {"minCandidateNodesAbsolute": -1}, ".minCandidateNodesAbsolute", "0", id="-1"
        ),
        pytest.param(
            "VolumeBinding", {"bindTimeoutSeconds": -1}, ".bindTimeoutSeconds", "0 or more", id="timeout"
        ),
        pytest.param(
            "DynamicResources", {"bindingTimeout": "10ms"}, ".bindingTimeout", "at least 1s", id="binding"
        ),
        pytest.param(
            "DynamicResources", {"filterTimeout": "-1s"}, ".filterTimeout", "negative", id="filter timeout"
        ),
        pytest.param(
            "NodeResourcesFit", {"ignoredResources": ["a b"]}, ".ignoredResources[0]", "name", id="resource"
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            ".ignoredResourceGroups[0]",
            "'/'",
            id="group",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {}},
            ".scoringStrategy.type",
            "is required",
            id="no strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Least"}},
            ".scoringStrategy.type",
            "must be 'LeastAllocated', 'MostAllocated' or 'RequestedToCapacityRatio'",
            id="unknown strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
            ".scoringStrategy.resources[0].weight",
            "within 1 and 100",
            id="resource weight",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {}}},
            ".scoringStrategy.requestedToCapacityRatio",
            "must be absent",
            id="shape without its strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            ".scoringStrategy.requestedToCapacityRatio",
            "is required",
            id="strategy without its shape",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {}}},
            ".scoringStrategy.requestedToCapacityRatio.shape",
            "at least one point",
            id="empty shape",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            ".resources[1].name",
            "listed twice",
            id="balanced twice",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            ".resources[0].weight",
            "must be 1",
            id="balanced weight",
        ),
        pytest.param(
            "PodTopologySpread",
            {
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            ".defaultingType",
            "must be List",
            id="constraints with system defaulting",
        ),
        pytest.param(
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}
                        ]
                    }
                }
            },
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchExpressions[0].operator",
            "Is",
            id="selector operator",
        ),
    ],
)
def test_arguments(name: str, args: object, path: str, message: str) -> None:
    found = faults(document(profile(args={name: args})))
    assert list(found) == [ARGS + path]
    assert message in found[ARGS + path]


def test_spread_constraints_are_checked_one_by_one() -> None:
    bad = {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Never", "labelSelector": {}}
    good = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [bad, good, good]}
    path = f"{ARGS}.defaultConstraints"
    assert list(faults(document(profile(args={"PodTopologySpread": args})))) == [
        f"{path}[0].maxSkew",
        f"{path}[0].topologyKey",
        f"{path}[0].whenUnsatisfiable",
        f"{path}[0].labelSelector",
        f"{path}[2]",
    ]


def test_shapes_must_rise_within_their_ranges() -> None:
    shape = [
        {"utilization": 50, "score": 11},
        {"utilization": 50, "score": 0},
        {"utilization": 101, "score": 0},
    ]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    path = f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape"
    found = faults(document(profile(args={"NodeResourcesFit": {"scoringStrategy": strategy}})))
    assert set(found) == {f"{path}[0].score", f"{path}[1].utilization", f"{path}[2].utilization"}


@pytest.mark.parametrize(
    ("version", "sections"),
    [
        pytest.param("1.36", {"podGroupPostFilter"}, id="1.36"),
        pytest.param("1.35", {"placementGenerate", "placementScore", "podGroupPostFilter"}, id="1.35"),
    ],
)
def test_sections_that_came_with_a_later_release(version: str, sections: set[str]) -> None:
    config = document(
        profile(
            placementGenerate={"disabled": [{"name": "*"}]},
            placementScore={"disabled": [{"name": "*"}]},
            podGroupPostFilter={"disabled": [{"name": "DefaultPreemption"}]},
        )
    )
    fault = "is not part of the selected Kubernetes release"
    found = faults(config, kube_version=version)
    assert found == {f"profiles[0].plugins.{section}": fault for section in sections}


def test_all_faults_at_once() -> None:
    config = document(
        profile("a", {"Hello": {"abc": 1}}, score=enabled("Nope", "NodeName")),
        {"percentageOfNodesToScore": 200},
        parallelism="x",
        podMaxBackoffSeconds=0,
        extenders=[{"prioritizeVerb": "p"}],
        foo=1,
    )
    config["profiles"][0]["plugins"]["bind"] = enabled(disabled=("*",))
    assert set(faults(config)) == {
        "profiles[0].plugins.bind",
        "parallelism",
        "foo",
        "podMaxBackoffSeconds",
        "extenders[0].weight",
        "profiles[0].plugins.score.enabled[0]",
        "profiles[0].plugins.score.enabled[1]",
        f"{ARGS}.abc",
        "profiles[1].percentageOfNodesToScore",
        "profiles[1].schedulerName",
    }


def test_check_returns_what_load_raises() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0"
    errors, warnings = check(text, in_tree())
    assert [str(error) for error in errors] == ["parallelism: must be greater than 0"]
    assert warnings == ()
    with pytest.raises(ConfigError, match="parallelism: must be greater than 0"):
        load(text, in_tree())


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(document(profile(filter=enabled("EBSLimits"))), id="removed plugin"),
        pytest.param(
            document(profile(multiPoint=enabled("CinderLimits"))), id="removed plugin in multiPoint"
        ),
        pytest.param(document(profile(args={"GCEPDLimits": {}})), id="arguments of a removed plugin"),
        pytest.param(document(version="v1beta3"), id="an older version"),
    ],
)
def test_strict_rejects_what_kube_scheduler_rejects(config: Document) -> None:
    assert from_document(config, CATALOG).warnings
    assert faults(config, strict=True)
