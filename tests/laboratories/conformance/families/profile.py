"""The scheduler configuration of a scenario: its plugins, with order, weights and args."""

from __future__ import annotations

from random import Random

from tests.laboratories.conformance.families.draft import Draft, Manifest

BOTH = ["TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"]
SCORING = [*BOTH, "VolumeBinding", "DynamicResources", "NodeResourcesBalancedAllocation", "ImageLocality"]
VOLUMES = ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"]
FILTERING = ["NodeUnschedulable", "NodeName", "NodePorts", *VOLUMES, *BOTH, "NodeDeclaredFeatures"]
SINCE = {"DynamicResources": "1.35", "NodeDeclaredFeatures": "1.36"}
"""Plugins that older releases do not have, or do not run by default."""
COVERED = ["SchedulingGates", "PrioritySort", *dict.fromkeys([*FILTERING, *SCORING])]
COVERED += ["DefaultPreemption", "DefaultBinder"]
WEIGHTS = [0, 1, 2, 3, 5, 17, 100, 100000]
"""0 and nothing mean the default."""


def configuration(draft: Draft) -> Manifest | None:
    """None is the default configuration."""
    if not draft.args and draft.chance(0.15):
        return None
    profiles = [_profile(draft, "default-scheduler")]
    if draft.chance(0.1):
        profiles.insert(draft.rng.randint(0, 1), _profile(draft, "second"))
        draft.pod["spec"]["schedulerName"] = draft.rng.choice(["default-scheduler", "second"])
        draft.profile = draft.rng.choice([None, "default-scheduler", "second"])
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }


def _profile(draft: Draft, name: str) -> Manifest:
    styles = {_default_order: 5, _own_order: 4, _point_by_point: 3, _no_score: 0.3}
    plugins = draft.rng.choices(list(styles), list(styles.values()))[0](draft.rng)
    for section in plugins.values():
        section["enabled"] = [
            entry
            for entry in section.get("enabled", [])
            if draft.version >= SINCE.get(entry["name"], draft.version)
        ]
    profile: Manifest = {"schedulerName": name, "plugins": plugins}
    if draft.args:
        profile["pluginConfig"] = [{"name": name, "args": args} for name, args in sorted(draft.args.items())]
    return profile


def _names(names: list[str]) -> list[Manifest]:
    return [{"name": name} for name in names]


def _weighted(rng: Random, names: list[str]) -> list[Manifest]:
    entries = _names(names)
    for entry in entries:
        if weight := rng.choice(WEIGHTS):
            entry["weight"] = weight
        elif rng.random() < 0.5:
            entry["weight"] = 0
    return entries


def _default_order(rng: Random) -> Manifest:
    """Return the default list; some weights changed in place."""
    changed = rng.sample(SCORING, rng.randint(0, len(SCORING)))
    return {"multiPoint": {"enabled": _weighted(rng, changed)}}


def _own_order(rng: Random) -> Manifest:
    """Return a list from nothing, in an order of its own, so that another plugin is the first to reject a
    node.
    """
    names = rng.sample(COVERED, len(COVERED))
    return {"multiPoint": {"enabled": _weighted(rng, names), "disabled": _names(["*"])}}


def _point_by_point(rng: Random) -> Manifest:
    """Changes at single points: scores with other weights, a plugin off at Filter or at Score alone."""
    plugins = _default_order(rng)
    scored = rng.sample(SCORING, rng.randint(1, len(SCORING)))
    plugins["score"] = {"enabled": _weighted(rng, scored)}
    if rng.random() < 0.4:
        plugins["score"]["disabled"] = _names(["*"])
    if rng.random() < 0.4:
        plugins["filter"] = {"disabled": _names(rng.sample(FILTERING, 2))}
    if rng.random() < 0.1:
        plugins[rng.choice(["postFilter", "preEnqueue"])] = {"disabled": _names(["*"])}
    if rng.random() < 0.1:
        # Filter without what its PreFilter prepares, and Score without its PreScore.
        plugins[rng.choice(["preFilter", "preScore"])] = {"disabled": _names([rng.choice(["*", *BOTH])])}
    return plugins


def _no_score(rng: Random) -> Manifest:
    return _default_order(rng) | {"score": {"disabled": _names(["*"])}}
