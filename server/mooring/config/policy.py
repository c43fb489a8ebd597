"""The scheduler policy of 2017, brought to a v1 configuration.

A policy named the predicates and priorities to run; what it did not name did not run, save the predicates
that were mandatory. Names and their plugins: ``pkg/scheduler/framework/plugins/legacy_registry.go`` of 1.22
and ``plugin/pkg/scheduler/algorithmprovider/defaults`` of 1.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mooring.config.catalog import MULTI_POINT, Catalog
from mooring.config.defaults import default_plugins
from mooring.config.durations import format_duration
from mooring.config.errors import ConfigError
from mooring.config.fields import join, names, without_nulls
from mooring.config.types import API_VERSION, KIND, ExtenderStanza, ExtenderTLS, ManagedResource
from mooring.framework import FieldError, Gates
from mooring.framework.releases import NEWEST

Document = dict[str, Any]

_PREDICATES: Mapping[str, tuple[str, ...]] = {
    "CheckNodeCondition": ("NodeUnschedulable", "TaintToleration"),
    "CheckNodeDiskPressure": ("TaintToleration",),
    "CheckNodeMemoryPressure": ("TaintToleration",),
    "CheckNodePIDPressure": ("TaintToleration",),
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "MatchNodeSelector": ("NodeAffinity",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeNodeConflict": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "PodFitsResources": ("NodeResourcesFit",),
    "PodToleratesNodeNoExecuteTaints": ("TaintToleration",),
    "PodToleratesNodeTaints": ("TaintToleration",),
}
"""Which plugins filter as a predicate did. Node conditions are taints today."""

_MANDATORY = ("NodeUnschedulable", "TaintToleration")
_DEFAULT_PREDICATES = (
    "GeneralPredicates",
    "NoDiskConflict",
    "MaxCSIVolumeCountPred",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
)

_PRIORITIES = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EqualPriority": None,
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    "NodeAffinityPriority": "NodeAffinity",
    "RequestedToCapacityRatioPriority": "NodeResourcesFit",
    "SelectorSpreadPriority": "PodTopologySpread",
    "ServiceSpreadingPriority": "PodTopologySpread",
    "TaintTolerationPriority": "TaintToleration",
}
"""Which plugin scores as a priority did; EqualPriority never made a difference."""

_STRATEGIES = {
    "LeastRequestedPriority": "LeastAllocated",
    "MostRequestedPriority": "MostAllocated",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
}

_DEFAULT_PRIORITIES: tuple[Document, ...] = (
    {"name": "SelectorSpreadPriority", "weight": 1},
    {"name": "InterPodAffinityPriority", "weight": 1},
    {"name": "LeastRequestedPriority", "weight": 1},
    {"name": "BalancedResourceAllocation", "weight": 1},
    {"name": "NodeAffinityPriority", "weight": 1},
    {"name": "TaintTolerationPriority", "weight": 1},
    {"name": "ImageLocalityPriority", "weight": 1},
    {"name": "EvenPodsSpreadPriority", "weight": 2},
)

_NO_COUNTERPART = {
    "CheckNodeLabelPresence": "NodeAffinity's addedAffinity says the same",
    "CheckServiceAffinity": "inter-pod affinity in the pods says the same",
    "NodePreferAvoidPodsPriority": "the node annotation that it read is gone; leave it out",
    "ResourceLimitsPriority": "nothing took its place; leave it out",
}

_ALWAYS_ON = frozenset({"SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder"})
"""Plugins whose work no policy could switch off."""

_KEYS = ("kind", "apiVersion", "predicates", "priorities", "extenders", "hardPodAffinitySymmetricWeight")
_IGNORED_KEYS = ("alwaysCheckAllPredicates", "metadata")


@dataclass(slots=True)
class _Reading:
    """The result of reading a policy so far."""

    filters: set[str] = field(default_factory=lambda: set(_MANDATORY))
    weights: dict[str, int] = field(default_factory=dict)
    args: dict[str, Document] = field(default_factory=dict)
    errors: list[FieldError] = field(default_factory=list)


def is_policy(document: object) -> bool:
    """Return whether a document is a scheduler policy; the older ones do not say so themselves."""
    if not isinstance(document, dict):
        return False
    return document.get("kind") == "Policy" or ("kind" not in document and bool(document.keys() & set(_KEYS)))


def policy_to_v1(policy: Document, catalog: Catalog) -> tuple[Document, tuple[str, ...]]:
    """Return the v1 configuration that decides as the policy did, and what the user should know about it.
    Raises ConfigError, which names each predicate, priority and field that has no counterpart.
    """
    policy = without_nulls(policy)
    reading = _Reading()
    reading.errors += [
        FieldError(key, "unknown field") for key in policy if key not in (*_KEYS, *_IGNORED_KEYS)
    ]
    for path, item in _items(policy, "predicates", [{"name": name} for name in _DEFAULT_PREDICATES], reading):
        _read_predicate(item, path, reading)
    spread = set()
    for path, item in _items(policy, "priorities", _DEFAULT_PRIORITIES, reading):
        spread.add(str(item.get("name")))
        _read_priority(item, path, reading)
    if "EvenPodsSpreadPriority" in spread and not spread & {
        "SelectorSpreadPriority",
        "ServiceSpreadingPriority",
    }:
        reading.args["PodTopologySpread"] = {"defaultingType": "List"}
    if "hardPodAffinitySymmetricWeight" in policy:
        weight = policy["hardPodAffinitySymmetricWeight"]
        reading.args["InterPodAffinity"] = {"hardPodAffinityWeight": weight}
    extenders = [_extender(item, path, reading) for path, item in _items(policy, "extenders", (), reading)]
    if reading.errors:
        raise ConfigError(reading.errors)
    document: Document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [_profile(reading, catalog)]}
    if extenders:
        document["extenders"] = extenders
    notes = ["converted from a scheduler Policy; plugins that it does not list are disabled"]
    notes += [f"{key} no longer has an effect" for key in _IGNORED_KEYS[:1] if key in policy]
    return document, tuple(notes)


def _items(
    policy: Document, key: str, default: Sequence[Document], reading: _Reading
) -> Iterator[tuple[str, Document]]:
    """Yield the entries of a list with their paths; a list that is absent is the default one."""
    given = policy.get(key, default)
    if not isinstance(given, list | tuple):
        reading.errors.append(FieldError(key, "must be a list"))
        return
    for index, item in enumerate(given):
        path = join(key, index)
        if isinstance(item, dict):
            yield path, item
        else:
            reading.errors.append(FieldError(path, "must be a mapping"))


def _mapping(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _read_predicate(item: Document, path: str, reading: _Reading) -> None:
    name, argument = str(item.get("name")), _mapping(item.get("argument"))
    if "labelsPresence" in argument:
        name = "CheckNodeLabelPresence"
    elif "serviceAffinity" in argument:
        name = "CheckServiceAffinity"
    if name in _PREDICATES:
        reading.filters.update(_PREDICATES[name])
    else:
        reading.errors.append(_rejected("predicate", name, path))


def _read_priority(item: Document, path: str, reading: _Reading) -> None:
    name, argument, weight = str(item.get("name")), _mapping(item.get("argument")), item.get("weight")
    ratio = _mapping(argument.get("requestedToCapacityRatioArguments"))
    name = "RequestedToCapacityRatioPriority" if ratio else name
    if name not in _PRIORITIES or argument.keys() & {"serviceAntiAffinity", "labelPreference"}:
        reading.errors.append(_rejected("priority", name, path))
        return
    if isinstance(weight, bool) or not isinstance(weight, int) or weight <= 0:
        reading.errors.append(FieldError(join(path, "weight"), "must be an integer greater than 0"))
        return
    plugin = _PRIORITIES[name]
    if plugin is None:
        return
    if name in _STRATEGIES:
        _set_strategy(_STRATEGIES[name], ratio, path, reading)
    reading.weights[plugin] = max(weight, reading.weights.get(plugin, 0))


def _set_strategy(kind: str, ratio: Document, path: str, reading: _Reading) -> None:
    strategy: Document = {"type": kind}
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": ratio.get("shape", [])}
        if ratio.get("resources"):
            strategy["resources"] = ratio["resources"]
    if "NodeResourcesFit" in reading.weights:
        message = "is a second way to score by resources; NodeResourcesFit has one per profile"
        reading.errors.append(FieldError(path, message))
    reading.args["NodeResourcesFit"] = {"scoringStrategy": strategy}


def _rejected(kind: str, name: str, path: str) -> FieldError:
    hint = _NO_COUNTERPART.get(name)
    known = f"has no counterpart; {hint}" if hint else "is unknown"
    return FieldError(join(path, "name"), f"{kind} {name} {known}")


def _profile(reading: _Reading, catalog: Catalog) -> Document:
    """Disables what the policy does not use, each plugin only at the points where it is not wanted."""
    listed = default_plugins(catalog, NEWEST, Gates(NEWEST))[MULTI_POINT].enabled
    ours = [plugin.name for plugin in listed if plugin.name not in _ALWAYS_ON]
    used = reading.filters | set(reading.weights)
    plugins: dict[str, Document] = {
        "multiPoint": {
            "enabled": [
                {"name": name, "weight": reading.weights[name]} for name in ours if name in reading.weights
            ],
            "disabled": [{"name": name} for name in ours if name not in used],
        }
    }
    for points, wanted in (
        (("preFilter", "filter"), reading.filters),
        (("preScore", "score"), reading.weights),
    ):
        for point in points:
            unwanted = [name for name in ours if name in used and name not in wanted]
            plugins[point] = {
                "disabled": [{"name": name} for name in unwanted if point in catalog[name].points]
            }
    profile: Document = {
        "schedulerName": "default-scheduler",
        "plugins": {
            section: {key: listed for key, listed in lists.items() if listed}
            for section, lists in plugins.items()
            if any(lists.values())
        },
    }
    entries = [{"name": name, "args": args} for name, args in sorted(reading.args.items()) if name in used]
    return profile | ({"pluginConfig": entries} if entries else {})


def _extender(item: Document, path: str, reading: _Reading) -> Document:
    """Return a stanza with today's spelling; the policy was read without regard to case."""
    extender = _respelt(item, ExtenderStanza, path, reading, also=("apiVersion",))
    timeout = extender.get("httpTimeout")
    if isinstance(timeout, int):
        extender["httpTimeout"] = format_duration(timedelta(microseconds=timeout // 1000))
    if isinstance(extender.get("tlsConfig"), dict):
        where = join(path, "tlsConfig")
        extender["tlsConfig"] = _respelt(extender["tlsConfig"], ExtenderTLS, where, reading)
    resources = extender.get("managedResources")
    if isinstance(resources, list):
        extender["managedResources"] = [
            _respelt(resource, ManagedResource, join(path, "managedResources", index), reading)
            for index, resource in enumerate(resources)
            if isinstance(resource, dict)
        ]
    return extender


def _respelt(
    item: Document, record: type[Any], path: str, reading: _Reading, *, also: tuple[str, ...] = ()
) -> Document:
    spellings = {alias.lower(): alias for _, alias in names(record)}
    result: Document = {}
    for key, value in item.items():
        if key.lower() in spellings:
            result[spellings[key.lower()]] = value
        elif key not in also:
            reading.errors.append(FieldError(join(path, key), "unknown field"))
    return result
