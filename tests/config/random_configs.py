"""Random valid KubeSchedulerConfigurations, the same for the same seed on every machine.

They use every field that the release's kube-scheduler reads, so the output of ``mooring config show`` and of
``kube-scheduler --write-config-to`` can be compared.
"""

from __future__ import annotations

import random
from typing import Any

from mooring.config import Catalog
from mooring.framework.releases import DEFAULT_KUBE_VERSION, KubeVersion
from tests.config.catalogs import in_tree

Document = dict[str, Any]

_SORT, _BIND = "PrioritySort", "DefaultBinder"
_GATED = {"DeferredPodScheduling", "GangScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator"}
_FREE_POINTS = {"preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "preBind"}
_FREE_POINTS |= {"placementScore", "podGroupPostFilter"}
_DISABLED_ALONE = "podGroupPostFilter"
"""kube-scheduler rejects plugins with arguments that are enabled here alone."""
_BINDING_TIMEOUT_SINCE = KubeVersion(1, 36)
"""Since this release the gates are on without which DynamicResources may not have a bindingTimeout."""
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.com/fpga")


def random_configuration(seed: int, release: str = DEFAULT_KUBE_VERSION) -> Document:
    """Return a valid v1 configuration of a release."""
    catalog = in_tree().of_release(KubeVersion.parse(release))
    rng = random.Random(seed)
    document: Document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    _maybe(rng, document, "parallelism", rng.randint(1, 64))
    _maybe(rng, document, "percentageOfNodesToScore", rng.randint(0, 100))
    _maybe(rng, document, "podInitialBackoffSeconds", initial := rng.randint(1, 5))
    document["podMaxBackoffSeconds"] = rng.randint(initial, 60)
    _maybe(rng, document, "enableProfiling", rng.random() < 0.5)
    _maybe(rng, document, "enableContentionProfiling", rng.random() < 0.5)
    _maybe(rng, document, "delayCacheUntilActive", rng.random() < 0.5)
    _maybe(rng, document, "clientConnection", _client_connection(rng))
    _maybe(rng, document, "leaderElection", _leader_election(rng))
    count = rng.randint(0, 3)
    if count:
        document["profiles"] = [_profile(rng, index, catalog) for index in range(count)]
    if KubeVersion.parse(release) < _BINDING_TIMEOUT_SINCE:
        _leave_out_binding_timeout(document)
    _maybe(rng, document, "extenders", _extenders(rng))
    return document


def _maybe(rng: random.Random, document: Document, key: str, value: Any) -> None:
    if rng.random() < 0.5:
        document[key] = value


def _leave_out_binding_timeout(document: Document) -> None:
    for profile in document.get("profiles", []):
        for entry in profile["pluginConfig"]:
            if entry["name"] == "DynamicResources":
                entry["args"].pop("bindingTimeout", None)


def _some(rng: random.Random, values: list[str], most: int) -> list[str]:
    return rng.sample(values, rng.randint(0, min(most, len(values))))


def _duration(rng: random.Random, low: int, high: int) -> str:
    seconds = rng.randint(low, high)
    return rng.choice(
        [f"{seconds}s", f"{seconds * 1000}ms", f"{seconds // 60}m{seconds % 60}s", f"{seconds}.5s"]
    )


def _client_connection(rng: random.Random) -> Document:
    connection: Document = {}
    _maybe(rng, connection, "qps", rng.choice([5, 20.5, 100]))
    _maybe(rng, connection, "burst", rng.randint(1, 400))
    _maybe(rng, connection, "contentType", "application/json")
    _maybe(rng, connection, "acceptContentTypes", "application/json")
    return connection


def _leader_election(rng: random.Random) -> Document:
    election: Document = {}
    _maybe(rng, election, "leaderElect", rng.random() < 0.5)
    _maybe(rng, election, "leaseDuration", _duration(rng, 20, 90))
    _maybe(rng, election, "renewDeadline", _duration(rng, 3, 12))
    _maybe(rng, election, "retryPeriod", _duration(rng, 1, 2))
    _maybe(rng, election, "resourceName", rng.choice(["kube-scheduler", "second-scheduler"]))
    _maybe(rng, election, "resourceNamespace", "scheduling")
    return election


def _profile(rng: random.Random, index: int, catalog: Catalog) -> Document:
    profile: Document = {"schedulerName": f"scheduler-{index}"}
    _maybe(rng, profile, "percentageOfNodesToScore", rng.randint(0, 100))
    _maybe(rng, profile, "plugins", _plugins(rng, catalog))
    names = rng.sample(sorted(_ARGS), rng.randint(0, len(_ARGS)))
    if names:
        profile["pluginConfig"] = [{"name": name, "args": _args(rng, name)} for name in names]
    return _with_resource_arguments(profile)


def _plugins(rng: random.Random, catalog: Catalog) -> Document:
    plugins: Document = {}
    known = sorted(catalog.keys() - _GATED)
    _maybe(rng, plugins, "multiPoint", _multi_point(rng, known))
    for point in filter(_FREE_POINTS.__contains__, catalog.points):
        able = [
            name for name in known if point in catalog[name].points.union(catalog.upstream[name].more_points)
        ]
        listed = [] if point == _DISABLED_ALONE else _some(rng, able, 3)
        section = {"enabled": _listed(rng, listed, weights=point in {"score", "placementScore"})}
        section["disabled"] = [{"name": name} for name in rng.choice([[], ["*"], _some(rng, able, 2)])]
        if rng.random() < 0.3:
            plugins[point] = {key: value for key, value in section.items() if value}
    return plugins


def _multi_point(rng: random.Random, known: list[str]) -> Document:
    """Keep the queue's order and the binder, which every profile needs."""
    enabled = [name for name in _some(rng, known, 6) if name not in {_SORT, _BIND}]
    if rng.random() < 0.3:
        return {"disabled": [{"name": "*"}], "enabled": _listed(rng, [*enabled, _SORT, _BIND], weights=True)}
    disabled = [name for name in _some(rng, known, 4) if name not in {_SORT, _BIND}]
    return {"enabled": _listed(rng, enabled, weights=True), "disabled": [{"name": name} for name in disabled]}


def _listed(rng: random.Random, names: list[str], *, weights: bool) -> list[Document]:
    listed: list[Document] = []
    for name in names:
        plugin: Document = {"name": name}
        if weights:
            _maybe(rng, plugin, "weight", rng.randint(0, 100))
        listed.append(plugin)
    return listed


def _with_resource_arguments(profile: Document) -> Document:
    """Extenders that take over resources need an entry for NodeResourcesFit to write them to."""
    entries = profile.setdefault("pluginConfig", [])
    if not any(entry["name"] == "NodeResourcesFit" for entry in entries):
        entries.append({"name": "NodeResourcesFit"})
    return profile


def _args(rng: random.Random, name: str) -> Document:
    args: Document = _ARGS[name](rng)
    _maybe(rng, args, "kind", f"{name}Args")
    if "kind" in args:
        args["apiVersion"] = "kubescheduler.config.k8s.io/v1"
    return args


def _default_preemption(rng: random.Random) -> Document:
    args: Document = {}
    _maybe(rng, args, "minCandidateNodesPercentage", rng.randint(1, 100))
    _maybe(rng, args, "minCandidateNodesAbsolute", rng.randint(1, 500))
    return args


def _dynamic_resources(rng: random.Random) -> Document:
    args: Document = {}
    _maybe(rng, args, "filterTimeout", _duration(rng, 0, 100))
    _maybe(rng, args, "bindingTimeout", _duration(rng, 1, 4000))
    return args


def _inter_pod_affinity(rng: random.Random) -> Document:
    args: Document = {}
    _maybe(rng, args, "hardPodAffinityWeight", rng.randint(0, 100))
    _maybe(rng, args, "ignorePreferredTermsOfExistingPods", rng.random() < 0.5)
    return args


def _requirement(rng: random.Random) -> Document:
    operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    values = {"Exists": [], "DoesNotExist": [], "Gt": ["5"], "Lt": ["3"]}.get(operator, ["a", "b.c"])
    requirement: Document = {"key": rng.choice(["zone", "example.com/rack"]), "operator": operator}
    return requirement | ({"values": values} if values else {})


def _term(rng: random.Random) -> Document:
    term: Document = {}
    _maybe(rng, term, "matchExpressions", [_requirement(rng) for _ in range(rng.randint(1, 2))])
    _maybe(rng, term, "matchFields", [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}])
    return term


def _node_affinity(rng: random.Random) -> Document:
    affinity: Document = {}
    required = {"nodeSelectorTerms": [_term(rng) for _ in range(rng.randint(1, 2))]}
    preferred = [{"weight": rng.randint(0, 100), "preference": _term(rng)} for _ in range(rng.randint(1, 2))]
    _maybe(rng, affinity, "requiredDuringSchedulingIgnoredDuringExecution", required)
    _maybe(rng, affinity, "preferredDuringSchedulingIgnoredDuringExecution", preferred)
    args: Document = {}
    _maybe(rng, args, "addedAffinity", affinity)
    return args


def _resources(rng: random.Random, weights: tuple[int, ...]) -> list[Document]:
    resources: list[Document] = [{"name": name} for name in _some(rng, list(_RESOURCES), 4)]
    for resource in resources:
        _maybe(rng, resource, "weight", rng.choice(weights))
    return resources


def _shape(rng: random.Random) -> list[Document]:
    corners = sorted(rng.sample(range(101), rng.randint(1, 4)))
    return [{"utilization": corner, "score": rng.randint(0, 10)} for corner in corners]


def _fit(rng: random.Random) -> Document:
    kind = rng.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    strategy: Document = {"type": kind}
    _maybe(rng, strategy, "resources", _resources(rng, (0, 1, 7, 100)))
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": _shape(rng)}
    args: Document = {}
    _maybe(rng, args, "scoringStrategy", strategy)
    _maybe(rng, args, "ignoredResources", ["example.com/nic"])
    _maybe(rng, args, "ignoredResourceGroups", ["example.org"])
    return args


def _balanced(rng: random.Random) -> Document:
    return {"resources": _resources(rng, (0, 1))}


def _spread(rng: random.Random) -> Document:
    constraint: Document = {
        "maxSkew": rng.randint(1, 5),
        "topologyKey": rng.choice(["kubernetes.io/hostname", "zone"]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
    }
    _maybe(rng, constraint, "minDomains", rng.randint(1, 3))
    _maybe(rng, constraint, "nodeAffinityPolicy", rng.choice(["Honor", "Ignore"]))
    _maybe(rng, constraint, "nodeTaintsPolicy", rng.choice(["Honor", "Ignore"]))
    _maybe(rng, constraint, "matchLabelKeys", ["pod-template-hash"])
    return rng.choice(
        [{}, {"defaultingType": "System"}, {"defaultingType": "List", "defaultConstraints": [constraint]}]
    )


def _volume_binding(rng: random.Random) -> Document:
    args: Document = {}
    _maybe(rng, args, "bindTimeoutSeconds", rng.randint(0, 1000))
    return args


_ARGS = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volume_binding,
}


def _extenders(rng: random.Random) -> list[Document]:
    extenders = [_extender(rng, index) for index in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        rng.choice(extenders)["bindVerb"] = "bind"
    return extenders


def _extender(rng: random.Random, index: int) -> Document:
    extender: Document = {
        "urlPrefix": f"http://127.0.0.1:{8000 + index}/scheduler",
        "weight": rng.randint(1, 20),
    }
    for verb in ("filterVerb", "prioritizeVerb", "preemptVerb"):
        _maybe(rng, extender, verb, verb.removesuffix("Verb"))
    _maybe(rng, extender, "httpTimeout", _duration(rng, 1, 100))
    for flag in ("enableHTTPS", "nodeCacheCapable", "ignorable"):
        _maybe(rng, extender, flag, rng.random() < 0.5)
    _maybe(rng, extender, "tlsConfig", {"insecure": True, "serverName": "mooring"})
    resource: Document = {"name": f"example.com/device-{index}"}
    _maybe(rng, resource, "ignoredByScheduler", rng.random() < 0.5)
    _maybe(rng, extender, "managedResources", [resource])
    return extender
