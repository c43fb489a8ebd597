"""Feature gates set otherwise than a release has them: any that matter, those off by default included."""

from __future__ import annotations

from mooring.framework.releases import FEATURE_GATES, KubeVersion
from tests.laboratories.conformance.families.draft import Draft

NEEDS: dict[str, tuple[str, ...]] = {
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "InPlacePodLevelResourcesVerticalScaling": (
        "InPlacePodVerticalScaling",
        "PodLevelResources",
        "NodeDeclaredFeatures",
    ),
    "InPlacePodVerticalScalingInitContainers": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
    "RestartAllContainersOnContainerExits": ("NodeDeclaredFeatures",),
}
"""Gates that kube-scheduler requires for a gate."""

BESIDE: dict[str, tuple[str, str, bool]] = {
    "DRAResourceClaimGranularStatusAuthorization": ("1.36", "1.36", True),
    "ExtendWebSocketsToKubelet": ("1.36", "", True),
    "InPlacePodVerticalScalingInitContainers": ("1.36", "1.36", True),
    "InterPodAffinityHostnameFastPath": ("1.37", "", False),
    "PodLevelResourcesFixKubeletQOSClass": ("1.37", "", True),
    "RestartAllContainersOnContainerExits": ("1.36", "", True),
    "SchedulerPreQueueingHints": ("1.37", "", False),
}
"""Gates that mooring doesn't act on, as they change nothing: first release, last one ("" = none), default."""

LEFT_ALONE = {
    # Families of their own set them, or the oracle can't use them.
    "DRASchedulerFilterTimeout",
    "DynamicResourceAllocation",
    "GangScheduling",
    "GenericWorkload",
    "NominatedNodeNameForExpectation",
    "SchedulerPopFromBackoffQ",
    "TopologyAwareWorkloadScheduling",
    # With these, pods that have claims are rejected by name.
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "DRAWorkloadResourceClaims",
    # They are about groups, or can't be turned on.
    "CompositePodGroup",
    "InPlacePodVerticalScalingSchedulerPreemption",
    "PodGroupPreemptionPolicy",
    "WorkloadAwarePreemption",
    # The harness' API server fills in and checks pods by it.
    "VolumeAttributesClass",
}


ACT_ON: dict[str, tuple[str, ...]] = {
    "DRAConsumableCapacity": ("devices",),
    "DRADeviceBindingConditions": ("devices",),
    "DRADeviceTaintRules": ("devices",),
    "DRADeviceTaints": ("devices",),
    "DRAExtendedResource": ("devices-extended", "resources"),
    "DRAFractionalCapacityRange": ("devices-shared", "devices-extreme", "devices-everything"),
    "DRAPartitionableDevices": ("devices",),
    "DRAPrioritizedList": ("devices",),
    "DRAResourceClaimDeviceStatus": ("devices",),
    "ExtendWebSocketsToKubelet": ("declared-features",),
    "InPlacePodLevelResourcesVerticalScaling": ("resources", "declared-features", "preemption"),
    "InPlacePodVerticalScaling": ("resources", "preemption"),
    "InterPodAffinityHostnameFastPath": ("pod-affinity",),
    "MatchLabelKeysInPodTopologySpread": ("spread",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("spread",),
    "NodeDeclaredFeatures": ("declared-features",),
    "NodeInclusionPolicyInPodTopologySpread": ("spread",),
    "PodLevelResources": ("resources", "preemption"),
    "RestartAllContainersOnContainerExits": ("declared-features",),
    "SchedulerAsyncPreemption": ("preemption",),
    "StorageCapacityScoring": ("volume-binding",),
    "TaintTolerationComparisonOperators": ("taint-toleration", "node-unschedulable", "spread"),
    "VolumeLimitScaling": ("node-volume-limits",),
}
"""By gate, the families with objects that it acts on, or beginnings of their names."""

_DEVICES_PROVEN_SINCE = "1.36"
"""Before, pods with claims are rejected by the name of a gate of devices that is off by default."""


def switch(draft: Draft) -> None:
    """Set one to four gates otherwise, and with them what needs them."""
    known = switchable(draft.version)
    set_otherwise(draft, draft.some(known, 1, min(4, len(known))))


def switch_own(draft: Draft, family: str) -> None:
    """Set one or two of the gates otherwise that act on a family's scenarios."""
    known = [name for name in switchable(draft.version) if family.startswith(ACT_ON.get(name, ()))]
    if known:
        set_otherwise(draft, draft.some(known, 1, 2))


def set_otherwise(draft: Draft, chosen: list[str]) -> None:
    """Set gates of a draft otherwise than they are by default, and with them what needs them."""
    draft.gates = otherwise(draft.version, chosen, draft.gates)


def switchable(release: str) -> list[str]:
    """Return the gates that any family may set otherwise."""
    return [
        name
        for name, on in usual_gates(release).items()
        if name not in LEFT_ALONE and (on or release >= _DEVICES_PROVEN_SINCE or not name.startswith("DRA"))
    ]


def otherwise(release: str, chosen: list[str], before: dict[str, bool] | None = None) -> dict[str, bool]:
    """Gates as set before, with the chosen ones otherwise than by default, and what these need."""
    before = before or {}
    usual = usual_gates(release)
    found = usual | before | {name: not usual[name] for name in chosen}
    for _ in NEEDS:
        for name, needed in NEEDS.items():
            if found.get(name) and any(found.get(other) is False for other in needed):
                if name in chosen and not usual[name]:
                    found |= dict.fromkeys(needed, True)
                else:
                    found[name] = False
    return {name: value for name, value in found.items() if value != usual.get(name) or name in before}


def usual_gates(release: str) -> dict[str, bool]:
    """Return the gates that can be set in a release and followed there, and what they are unless set."""
    version = KubeVersion.parse(release)
    usual = {
        name: gate.on_since is not None and version >= gate.on_since
        for name, gate in FEATURE_GATES.items()
        if gate.known_since <= version
        and not _reached(gate.locked_since, version)
        and not _reached(gate.removed_since, version)
        and (gate.followed_since is None or version >= gate.followed_since)
    }
    return usual | {
        name: default
        for name, (first, last, default) in BESIDE.items()
        if first <= release and (not last or release <= last)
    }


def _reached(since: KubeVersion | None, version: KubeVersion) -> bool:
    return since is not None and version >= since
