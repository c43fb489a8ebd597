"""Random scenarios, the same ones for the same seed: what the conformance harness asks both sides."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.laboratories.conformance.families import (
    affinity,
    declared_features,
    dynamic_resources,
    gangs,
    gates,
    images,
    nominations,
    pod_affinity,
    ports,
    preemption,
    resources,
    rough,
    spread,
    stored,
    taints,
    volume_binding,
    volumes,
)
from tests.laboratories.conformance.families.draft import Draft, Family, Manifest, base
from tests.laboratories.conformance.families.profile import configuration
from tests.laboratories.conformance.program import NEWEST

FAMILIES: dict[str, Family] = {
    "taint-toleration": taints.taint_toleration,
    "taint-toleration-comparisons": taints.comparisons,
    "node-unschedulable": taints.node_unschedulable,
    "node-name": taints.node_name,
    "scheduling-gates": taints.scheduling_gates,
    "node-affinity": affinity.node_affinity,
    "node-affinity-names": affinity.name_terms,
    "node-ports": ports.node_ports,
    "image-locality": images.image_locality,
    "resources": resources.requests,
    "resources-pod-level": resources.pod_level,
    "resources-resize": resources.resize,
    "resources-pod-level-resize": resources.pod_level_resize,
    "resources-nothing-asked": resources.nothing_asked,
    "resources-huge": resources.huge,
    "resources-least-allocated": resources.least_allocated,
    "resources-most-allocated": resources.most_allocated,
    "resources-capacity-ratio": resources.capacity_ratio,
    "spread": spread.constraints,
    "spread-defaults": spread.defaults,
    "pod-affinity": pod_affinity.own_terms,
    "pod-affinity-others": pod_affinity.others_terms,
    "volume-restrictions": volumes.volume_restrictions,
    "node-volume-limits": volumes.node_volume_limits,
    "volume-binding-bound": volume_binding.bound_claims,
    "volume-binding-waiting": volume_binding.waiting_claims,
    "volume-zone": volumes.volume_zone,
    "declared-features": declared_features.declared_features,
    "devices": dynamic_resources.exact,
    "devices-alternatives": dynamic_resources.alternatives,
    "devices-constrained": dynamic_resources.constrained,
    "devices-shared": dynamic_resources.shared,
    "devices-extreme": dynamic_resources.extreme,
    "devices-partitioned": dynamic_resources.partitioned,
    "devices-tainted": dynamic_resources.tainted,
    "devices-allocated": dynamic_resources.allocated,
    "devices-broken": dynamic_resources.broken,
    "devices-selectors": dynamic_resources.selectors,
    "devices-extended": dynamic_resources.extended,
    "devices-everything": dynamic_resources.everything,
    "devices-switched": dynamic_resources.switched,
    "nominations": nominations.nominations,
    "nominations-own": nominations.own,
    "preemption": preemption.preemption,
    "preemption-of-groups": gangs.bound,
    "gangs": gangs.gangs,
}
MIXED = "mixed"
NAMES = [*FAMILIES, MIXED]
SINCE = {
    "taint-toleration-comparisons": "1.35",
    "resources-pod-level-resize": "1.35",
    "declared-features": "1.35",
    "gangs": "1.37",
    "preemption-of-groups": "1.37",
    "devices-extended": "1.36",
}
"""Families whose fields or feature gates older releases do not know."""


def names_of(version: str) -> list[str]:
    """Return the families that a release has."""
    return [name for name in NAMES if SINCE.get(name, version) <= version]


def scenario(seed: int, index: int, only: str | None = None, version: str = NEWEST) -> Manifest:
    """Return scenario `index` of a seed; the families of a release take turns, unless ``only`` names one."""
    names = names_of(version)
    family = only or names[index % len(names)]
    rng = Random(f"{seed}/{family}/{index}")
    most_nodes = rng.choice([3, 5, 5, 10])
    if rng.random() < 0.015 and family != MIXED and not family.startswith("devices"):
        # On many nodes kube-scheduler would search for devices up to its timeout on each.
        most_nodes = rng.choice([40, 120])
    draft = base(rng, version, most_nodes)
    if family == MIXED:
        mix(draft)
    else:
        FAMILIES[family](draft)
    if draft.chance(0.01):
        draft.nodes, draft.assigned = [], []
    preemption.part_starts(draft)
    if draft.chance(0.06):
        gates.switch(draft)
    elif draft.chance(0.15):
        gates.switch_own(draft, family)
    if draft.chance(0.1):
        rough.roughen(draft)
    if draft.chance(0.08):
        stored.fill_in(draft)
    if draft.chance(0.06):
        stored.write_nulls(draft)
    others = [*draft.nodes, *draft.assigned, *draft.nominated, *draft.objects]
    rng.shuffle(others)
    config = configuration(draft)
    return {
        "id": f"{family}/{seed}/{index}",
        "objects": others,
        "pod": draft.pod,
        "config": config,
        "profile": draft.profile,
        "always_score": draft.chance(0.6),
        "feature_gates": draft.gates,
    }


def mix(draft: Draft) -> None:
    """Draft two to five families at once; a later one may take back requests of an earlier one."""
    rarely = {"gangs", "node-name", "scheduling-gates", "resources-huge", "nominations-own"}
    known = [name for name in names_of(draft.version) if name != MIXED]
    names = [name for name in known if name not in rarely or draft.chance(0.05)]
    chosen = draft.some(names, 2, 5)
    # Two families of devices would name their claims and classes alike.
    devices = [name for name in chosen if name.startswith("devices")]
    for name in chosen:
        if name not in devices[1:]:
            FAMILIES[name](draft)


def scenarios(seed: int, count: int, only: str | None = None, version: str = NEWEST) -> Iterator[Manifest]:
    for index in range(count):
        yield scenario(seed, index, only, version)
