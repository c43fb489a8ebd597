"""KubeSchedulerConfiguration v1beta1, v1beta2 and v1beta3, and Volcano's configuration, brought to v1.

The default weights of a file's own version stay in force: they are written out where v1's differ. Sources:
``pkg/scheduler/apis/config/v1beta{1,2,3}`` of the releases that had them (1.19 to 1.28).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from mooring.config.arguments import FIT
from mooring.config.errors import ConfigError
from mooring.config.expand import ALL
from mooring.config.fields import decode, join, without_nulls
from mooring.config.types import API_VERSION, GROUP, KIND, KubeSchedulerConfiguration
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
    """Return a configuration of any known version as a v1 document, and what the user should know about that.
    With ``strict`` the versions that a current kube-scheduler rejects are rejected. Raises ConfigError if
    this is not a KubeSchedulerConfiguration, or one that v1 cannot express.
    """
    if not isinstance(document, dict):
        raise ConfigError([FieldError("", f"a {KIND} is expected, a mapping with apiVersion and kind")])
    given: dict[str, Any] = without_nulls(document)
    if is_volcano(given):
        return volcano_to_v1(given)
    version = given.get("apiVersion")
    errors = list(_type_errors(given, version, strict=strict))
    if errors:
        raise ConfigError(errors)
    return (given, ()) if version == API_VERSION else _to_v1(given)


def version_notes(document: object) -> Iterator[str]:
    """Yield a note about a document of an older version."""
    version = document.get("apiVersion") if isinstance(document, dict) else None
    if version != API_VERSION and not is_volcano(document):
        yield f"a current kube-scheduler rejects {version}; mooring config convert writes the v1 file"


def _type_errors(document: dict[str, Any], version: object, *, strict: bool) -> Iterator[FieldError]:
    kind = document.get("kind")
    if kind == "Policy":
        yield FieldError(
            "kind", "this is a scheduler policy; mooring config convert makes a configuration of it"
        )
    elif kind == "Config":
        yield FieldError(
            "kind", "this is a kubeconfig: it says where the API server is, give it as --kubeconfig"
        )
    elif kind != KIND:
        yield FieldError("kind", f"must be {KIND}" + (f", not {kind}" if kind else ""))
    elif version not in [API_VERSION, *(f"{GROUP}/{name}" for name in OLDER_VERSIONS)]:
        given = f", not {version}" if version else ""
        text = f"must be {API_VERSION}{given}; {', '.join(OLDER_VERSIONS)} are read, too"
        policy = _policy_elsewhere(document.get("algorithmSource"))
        yield policy or FieldError("apiVersion", text)
    elif version != API_VERSION and strict:
        yield FieldError(
            "apiVersion",
            f"{version} is rejected by a current kube-scheduler; mooring config convert writes the v1 file",
        )


def _policy_elsewhere(source: object) -> FieldError | None:
    """Return where a configuration of v1alpha1 or v1alpha2 says that its policy is."""
    policy = source.get("policy") if isinstance(source, dict) else None
    for kind, place in policy.items() if isinstance(policy, dict) else ():
        if isinstance(place, dict):
            where = place.get("path") or f"{place.get('namespace')}/{place.get('name')}"
            text = f"the policy is in {where}: convert that, mooring config convert makes a v1 file of it"
            return FieldError(f"algorithmSource.policy.{kind}", text)
    return None


def _to_v1(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    old = str(document["apiVersion"]).removeprefix(f"{GROUP}/")
    converted = copy.deepcopy(document) | {"apiVersion": API_VERSION}
    notes: list[str] = []
    dropped = [name for name in _GONE_FIELDS if converted.pop(name, None) is not None]
    if dropped:
        notes.append(f"{', '.join(dropped)}: no longer part of the configuration, left out")
    _, errors = decode(KubeSchedulerConfiguration, converted, "")
    if errors:
        raise ConfigError(errors)
    notes += _with_lease(converted.get("leaderElection", {}))
    converted["profiles"] = converted.get("profiles") or [{}]
    for index, profile in enumerate(converted["profiles"]):
        for args in _arguments(profile).values():
            if "apiVersion" in args:
                args["apiVersion"] = API_VERSION
        if old != "v1beta3":
            path = join("profiles", index)
            errors += _modernise(profile, path) if old == "v1beta1" else _refused(profile, path)
            errors += _gone_plugins(profile, path)
            notes += _without_idle_plugins(profile, path)
            _keep_weights(profile)
    if errors:
        raise ConfigError(errors)
    if old != "v1beta3":
        weights = ", ".join(f"{name} {weight}" for name, weight in _OLD_WEIGHTS.items())
        notes.append(f"the default weights stay those of {old}: {weights}")
    return converted, tuple(notes)


def _with_lease(election: dict[str, Any]) -> Iterator[str]:
    lock = election.get("resourceLock", "leases")
    if lock != "leases":
        election["resourceLock"] = "leases"
        yield f"leaderElection.resourceLock: {lock} is gone, leases took its place"


def _arguments(profile: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments that are mappings, by plugin; whatever else stands there is rejected later."""
    entries = profile.get("pluginConfig", [])
    return {entry["name"]: entry["args"] for entry in entries if isinstance(entry.get("args"), dict)}


def _names(section: dict[str, Any], key: str) -> list[str]:
    return [plugin["name"] for plugin in section.get(key, [])]


def _refused(profile: dict[str, Any], path: str) -> Iterator[FieldError]:
    """Yield the arguments of plugins that v1beta2 ended: kube-scheduler did not take them from then on."""
    for index, entry in enumerate(profile.get("pluginConfig", [])):
        if entry["name"] in _STRATEGIES:
            strategy = f"scoringStrategy of type {_STRATEGIES[entry['name']]}"
            text = f"plugin {entry['name']} ended with v1beta1; give its resources to {FIT}'s {strategy}"
            yield FieldError(join(path, "pluginConfig", index), text)


def _gone_plugins(profile: dict[str, Any], path: str) -> Iterator[FieldError]:
    for section, plugins in profile.get("plugins", {}).items():
        for index, name in enumerate(_names(plugins, "enabled")):
            if name in _GONE_PLUGINS:
                where = join(path, "plugins", section, "enabled", index)
                yield FieldError(where, f"plugin {name} has no counterpart in v1; {_GONE_PLUGINS[name]}")


def _without_idle_plugins(profile: dict[str, Any], path: str) -> Iterator[str]:
    for section, plugins in profile.get("plugins", {}).items():
        for index, name in enumerate(_names(plugins, "enabled")):
            if name in _IDLE:
                where = join(path, "plugins", section, "enabled", index)
                yield f"{where}: plugin {name} is left out; {_IDLE[name]}"
        for key, listed in plugins.items():
            plugins[key] = [plugin for plugin in listed if plugin["name"] not in _IDLE]


def _keep_weights(profile: dict[str, Any]) -> None:
    """List the plugins whose default weight changed, unless the file settles them itself."""
    everywhere = profile.setdefault("plugins", {}).setdefault("multiPoint", {})
    settled = {*_names(everywhere, "disabled"), *_names(everywhere, "enabled")}
    added = [
        {"name": name, "weight": weight}
        for name, weight in _OLD_WEIGHTS.items()
        if name not in settled and ALL not in settled
    ]
    everywhere["enabled"] = [*everywhere.get("enabled", []), *added]


def _modernise(profile: dict[str, Any], path: str) -> Iterator[FieldError]:
    """Yield faults, and adapt what v1beta1 alone does: the resource scorers, and default spreading."""
    spread = _arguments(profile).get("PodTopologySpread", {})
    if spread.get("defaultConstraints"):
        spread.setdefault("defaultingType", "List")
    score = profile.get("plugins", {}).get("score", {})
    enabled, disabled = _names(score, "enabled"), _names(score, "disabled")
    active = [name for name in _STRATEGIES if name in enabled]
    if not {_DEFAULT_STRATEGY, ALL} & set(disabled) and _DEFAULT_STRATEGY not in active:
        active.append(_DEFAULT_STRATEGY)
    if len(active) > 1:
        message = f"{' and '.join(active)} are strategies of NodeResourcesFit now; keep one of them"
        yield FieldError(join(path, "plugins", "score"), message)
        return
    for plugin in score.get("enabled", []):
        if plugin["name"] in _STRATEGIES:
            plugin["name"] = FIT
    if _DEFAULT_STRATEGY in disabled:
        rest = [plugin for plugin in score["disabled"] if plugin["name"] not in _STRATEGIES]
        score["disabled"] = rest if active else [*rest, {"name": FIT}]
    _set_strategy(profile, active[0] if active else None)


def _set_strategy(profile: dict[str, Any], scorer: str | None) -> None:
    """Move the arguments of the scorer that was in use to NodeResourcesFit, and drops the others'."""
    given = _arguments(profile).get(scorer or "", {})
    entries = [entry for entry in profile.get("pluginConfig", []) if entry["name"] not in _STRATEGIES]
    if scorer is not None and (given or scorer != _DEFAULT_STRATEGY):
        strategy: dict[str, Any] = {"type": _STRATEGIES[scorer]}
        if given.get("resources"):
            strategy["resources"] = given["resources"]
        if scorer == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": given.get("shape", [])}
        args = _arguments(profile).get(FIT, {}) | {"scoringStrategy": strategy}
        entries = [*(entry for entry in entries if entry["name"] != FIT), {"name": FIT, "args": args}]
    if entries or "pluginConfig" in profile:
        profile["pluginConfig"] = entries


_SCHEDULER_NAME = "volcano"

_OF_KUBE_SCHEDULER = frozenset({"nodeorder", "predicates", "priority"})
"""These do what kube-scheduler's default plugins do."""


def is_volcano(document: object) -> bool:
    """Return whether a plain document is a configuration of Volcano's scheduler."""
    return isinstance(document, dict) and "kind" not in document and isinstance(document.get("tiers"), list)


def volcano_to_v1(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a v1 document with one profile, ``volcano``, and what the user should know about it.

    Mirrors the ``actions`` and ``tiers`` of volcano-sh/volcano, ``pkg/scheduler/conf/scheduler_conf.go``.
    The default plugins stand for those of Volcano that do the same; the others are listed by Volcano's names.
    """
    names = [
        str(plugin.get("name"))
        for tier in document["tiers"]
        if isinstance(tier, dict)
        for plugin in tier.get("plugins") or ()
        if isinstance(plugin, dict)
    ]
    others = [{"name": name} for name in dict.fromkeys(names) if name not in _OF_KUBE_SCHEDULER]
    profile = {"schedulerName": _SCHEDULER_NAME, "plugins": {"multiPoint": {"enabled": others}}}
    notes = (
        "converted from Volcano's scheduler configuration: actions, queues and arguments are left out, and "
        f"kube-scheduler's default plugins stand for {', '.join(sorted(_OF_KUBE_SCHEDULER))}"
    )
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}, (notes,)
