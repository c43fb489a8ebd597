"""KubeSchedulerConfiguration v1beta1, v1beta2 and v1beta3, brought to v1.

The default weights of a file's own version stay in force: they are written out where v1's differ. Sources:
``pkg/scheduler/apis/config/v1beta{1,2,3}`` of the releases that had them (1.19 to 1.28).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from mooring.config.errors import ConfigError
from mooring.config.expand import ALL
from mooring.config.fields import join, without_nulls
from mooring.config.types import API_VERSION, GROUP, KIND
from mooring.framework import FieldError

OLDER_VERSIONS = ("v1beta1", "v1beta2", "v1beta3")

_OLD_WEIGHTS = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
"""Default weights of v1beta1 and v1beta2 that v1 changed."""

_GONE_FIELDS = ("healthzBindAddress", "metricsBindAddress")

_STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Score plugins of v1beta1 that are strategies of NodeResourcesFit now."""

_DEFAULT_STRATEGY = "NodeResourcesLeastAllocated"

_IDLE = {"NodePreferAvoidPods": "the node annotation that it read is no longer set by anything"}
_GONE_PLUGINS = {
    "NodeLabel": "node affinity in the pods, or NodeAffinity's addedAffinity, says the same",
    "ServiceAffinity": "inter-pod affinity says the same",
    "SelectorSpread": "PodTopologySpread's default constraints took its place",
    "NodeResourceLimits": "nothing took its place",
}


def as_v1(document: object, *, strict: bool = False) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A configuration of any known version as a v1 document, and what the user should know about that.

    Args:
        document: The plain document.
        strict: Refuse the versions that a current kube-scheduler refuses.

    Raises:
        ConfigError: this is no KubeSchedulerConfiguration, or one that v1 cannot express.
    """
    if not isinstance(document, dict):
        raise ConfigError([FieldError("", f"a {KIND} is expected, a mapping with apiVersion and kind")])
    given: dict[str, Any] = without_nulls(document)
    version = given.get("apiVersion")
    errors = list(_type_errors(given.get("kind"), version, strict=strict))
    if errors:
        raise ConfigError(errors)
    return (given, ()) if version == API_VERSION else _to_v1(given)


def version_notes(document: object) -> Iterator[str]:
    """What to say about a document of an older version."""
    version = document.get("apiVersion") if isinstance(document, dict) else None
    if version != API_VERSION:
        yield f"a current kube-scheduler refuses {version}; mooring config convert writes the v1 file"


def _type_errors(kind: object, version: object, *, strict: bool) -> Iterator[FieldError]:
    if kind == "Policy":
        yield FieldError(
            "kind", "this is a scheduler policy; mooring config convert makes a configuration of it"
        )
    elif kind != KIND:
        yield FieldError("kind", f"must be {KIND}" + (f", not {kind}" if kind else ""))
    elif version not in {API_VERSION, *(f"{GROUP}/{name}" for name in OLDER_VERSIONS)}:
        yield FieldError("apiVersion", f"must be {API_VERSION}" + (f", not {version}" if version else ""))
    elif version != API_VERSION and strict:
        yield FieldError(
            "apiVersion",
            f"{version} is refused by a current kube-scheduler; mooring config convert writes the v1 file",
        )


def _to_v1(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    old = str(document["apiVersion"]).removeprefix(f"{GROUP}/")
    converted = copy.deepcopy(document) | {"apiVersion": API_VERSION}
    notes: list[str] = []
    dropped = [name for name in _GONE_FIELDS if converted.pop(name, None) is not None]
    if dropped:
        notes.append(f"{', '.join(dropped)}: no longer part of the configuration, left out")
    election = converted.get("leaderElection")
    if isinstance(election, dict) and election.get("resourceLock", "leases") != "leases":
        notes.append(
            f"leaderElection.resourceLock: {election['resourceLock']} is gone, leases took its place"
        )
        election["resourceLock"] = "leases"
    if not converted.get("profiles"):
        converted["profiles"] = [{}]
    errors: list[FieldError] = []
    for index, profile in enumerate(_items(converted, "profiles")):
        path = join("profiles", index)
        for entry in _items(profile, "pluginConfig"):
            if isinstance(entry.get("args"), dict) and "apiVersion" in entry["args"]:
                entry["args"]["apiVersion"] = API_VERSION
        if old == "v1beta3":
            continue
        errors += _strategy(profile, path) if old == "v1beta1" else ()
        errors += _gone_plugins(profile, path)
        notes += _without_idle_plugins(profile, path)
        _keep_weights(profile)
        _keep_defaulting(profile, old)
    if errors:
        raise ConfigError(errors)
    if old != "v1beta3":
        notes.append(
            f"the default weights are those of {old}: TaintToleration, NodeAffinity, InterPodAffinity 1"
        )
    return converted, tuple(notes)


def _items(mapping: Any, key: str) -> list[dict[str, Any]]:
    """The mappings in a list of the document; whatever else is there, decoding will complain about."""
    found = mapping.get(key) if isinstance(mapping, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _sections(profile: dict[str, Any]) -> dict[str, Any]:
    plugins = profile.get("plugins")
    return plugins if isinstance(plugins, dict) else {}


def _names(section: Any, key: str) -> list[Any]:
    return [item.get("name") for item in _items(section, key)]


def _gone_plugins(profile: dict[str, Any], path: str) -> Iterator[FieldError]:
    for section, plugins in _sections(profile).items():
        for index, name in enumerate(_names(plugins, "enabled")):
            if name in _GONE_PLUGINS:
                where = join(path, "plugins", section, "enabled", index)
                yield FieldError(where, f"plugin {name} has no counterpart in v1; {_GONE_PLUGINS[name]}")


def _without_idle_plugins(profile: dict[str, Any], path: str) -> Iterator[str]:
    for section, plugins in _sections(profile).items():
        for index, name in enumerate(_names(plugins, "enabled")):
            if name in _IDLE:
                where = join(path, "plugins", section, "enabled", index)
                yield f"{where}: plugin {name} is left out; {_IDLE[name]}"
        for key in ("enabled", "disabled"):
            if isinstance(plugins, dict) and key in plugins:
                plugins[key] = [item for item in _items(plugins, key) if item.get("name") not in _IDLE]


def _keep_weights(profile: dict[str, Any]) -> None:
    """Lists the plugins whose default weight changed, unless the file settles them itself."""
    everywhere = profile.setdefault("plugins", {}).setdefault("multiPoint", {})
    if not isinstance(everywhere, dict):
        return
    settled = {ALL, *_names(everywhere, "disabled"), *_names(everywhere, "enabled")} - {ALL}
    if ALL in _names(everywhere, "disabled"):
        return
    added = [{"name": name, "weight": weight} for name, weight in _OLD_WEIGHTS.items() if name not in settled]
    everywhere["enabled"] = [*everywhere.get("enabled", []), *added]


def _keep_defaulting(profile: dict[str, Any], old: str) -> None:
    """In v1beta1, constraints in the args switched the system's own off without saying so."""
    for entry in _items(profile, "pluginConfig") if old == "v1beta1" else ():
        args = entry.get("args")
        if (
            entry.get("name") == "PodTopologySpread"
            and isinstance(args, dict)
            and args.get("defaultConstraints")
        ):
            args.setdefault("defaultingType", "List")


def _strategy(profile: dict[str, Any], path: str) -> Iterator[FieldError]:
    """Makes the resource scoring plugins of v1beta1 the strategy of NodeResourcesFit."""
    score = _sections(profile).get("score", {})
    enabled, disabled = _names(score, "enabled"), _names(score, "disabled")
    active = [name for name in _STRATEGIES if name in enabled]
    if not {_DEFAULT_STRATEGY, ALL} & set(disabled) and _DEFAULT_STRATEGY not in active:
        active.append(_DEFAULT_STRATEGY)
    if len(active) > 1:
        where = join(path, "plugins", "score")
        yield FieldError(
            where, f"{' and '.join(active)} are strategies of NodeResourcesFit now; keep one of them"
        )
        return
    given = {entry.get("name"): entry.get("args") for entry in _items(profile, "pluginConfig")}
    if "pluginConfig" in profile:
        profile["pluginConfig"] = [
            e for e in _items(profile, "pluginConfig") if e.get("name") not in _STRATEGIES
        ]
    for item in _items(score, "enabled"):
        if item.get("name") in _STRATEGIES:
            item["name"] = "NodeResourcesFit"
    if _DEFAULT_STRATEGY in disabled:
        rest = [item for item in _items(score, "disabled") if item.get("name") not in _STRATEGIES]
        score["disabled"] = rest if active else [*rest, {"name": "NodeResourcesFit"}]
    if active:
        _set_strategy(profile, _STRATEGIES[active[0]], given.get(active[0]))


def _set_strategy(profile: dict[str, Any], kind: str, args: Any) -> None:
    args = args if isinstance(args, dict) else {}
    if kind == "LeastAllocated" and not args.get("resources"):
        return
    strategy: dict[str, Any] = {"type": kind}
    if args.get("resources"):
        strategy["resources"] = args["resources"]
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": args.get("shape", [])}
    for entry in _items(profile, "pluginConfig"):
        if entry.get("name") == "NodeResourcesFit":
            entry["args"] = (entry.get("args") or {}) | {"scoringStrategy": strategy}
            return
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    profile["pluginConfig"] = [*profile.get("pluginConfig", []), fit]
