"""The Kubernetes releases whose behaviour can be followed, and their feature gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class KubeVersion:
    """The Kubernetes release whose behaviour is followed, for example 1.36."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> KubeVersion:
        """From ``1.36`` or ``v1.36.3``.

        Raises:
            ValueError: ``text`` is not a version, or one that is not followed.
        """
        parts = text.removeprefix("v").split(".")
        if len(parts) not in (2, 3) or not all(part.isdecimal() for part in parts):
            raise ValueError(f"{text!r} is not a Kubernetes version; write for example {NEWEST}")
        version = cls(int(parts[0]), int(parts[1]))
        if not OLDEST <= version <= NEWEST:
            raise ValueError(
                f"mooring does not follow Kubernetes {version}; choose a release from {OLDEST} to {NEWEST}"
            )
        return version

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


OLDEST = KubeVersion(1, 34)
"""The oldest release that is followed."""

NEWEST = KubeVersion(1, 37)
"""The newest release that is followed, and the default.

It moves: what began with a release is compared with a constant of its own, never with this.
"""

DEFAULT_KUBE_VERSION = str(NEWEST)
"""The release whose behaviour is followed by default, in the form of ``KubeVersion.parse``."""


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A feature gate that mooring acts on.

    Attributes:
        known_since: The first release that has it; before, setting it changes nothing.
        on_since: The first release in which it is on by default; None = it is off.
        locked_since: The first release in which it is locked to its default; None = it isn't.
        removed_since: The first release without it: its default holds for good, and setting it changes
            nothing; None = it is still there.
        needs: Another gate that has to be on with it; "" = none.
        followed_since: The first release for which mooring supports it; before, it can't be turned on.
        required: Mooring can't do without it, so it can't be turned off.
        lacking: The feature that mooring lacks, so that it can't be turned on; "" = none.
    """

    known_since: KubeVersion
    on_since: KubeVersion | None = None
    locked_since: KubeVersion | None = None
    removed_since: KubeVersion | None = None
    needs: str = ""
    followed_since: KubeVersion | None = None
    required: bool = False
    lacking: str = ""


FEATURE_GATES: Mapping[str, FeatureGate] = {
    "DynamicResourceAllocation": FeatureGate(KubeVersion(1, 26), KubeVersion(1, 34), KubeVersion(1, 35)),
    "DRAAdminAccess": FeatureGate(KubeVersion(1, 32), KubeVersion(1, 34), KubeVersion(1, 36)),
    "DRAResourceClaimDeviceStatus": FeatureGate(KubeVersion(1, 32), KubeVersion(1, 33), KubeVersion(1, 37)),
    "DRASchedulerFilterTimeout": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 34)),
    "DRAConsumableCapacity": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 36)),
    "DRADeviceBindingConditions": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 36)),
    "DRADeviceTaints": FeatureGate(KubeVersion(1, 33), KubeVersion(1, 36)),
    "DRADeviceTaintRules": FeatureGate(KubeVersion(1, 35), KubeVersion(1, 37), needs="DRADeviceTaints"),
    # On by default only if older components need not be supported; by default they are.
    "DRAFractionalCapacityRange": FeatureGate(KubeVersion(1, 37), needs="DRAConsumableCapacity"),
    "DRAExtendedResource": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 36), KubeVersion(1, 37)),
    "DRAPartitionableDevices": FeatureGate(KubeVersion(1, 33), KubeVersion(1, 36)),
    # With these DynamicResources rejects pods that have claims.
    "DRADerivedAttributes": FeatureGate(KubeVersion(1, 37)),
    "DRADeviceCompatibilityGroups": FeatureGate(KubeVersion(1, 37), needs="DRAPartitionableDevices"),
    "DRAListTypeAttributes": FeatureGate(KubeVersion(1, 36)),
    "DRANodeAllocatableResources": FeatureGate(KubeVersion(1, 36)),
    "DRAOptionalNodeOperations": FeatureGate(KubeVersion(1, 37), needs="NodeDeclaredFeatures"),
    "DRAWorkloadResourceClaims": FeatureGate(
        KubeVersion(1, 36), needs="GenericWorkload", followed_since=KubeVersion(1, 37)
    ),
    "DRAPrioritizedList": FeatureGate(KubeVersion(1, 33), KubeVersion(1, 34), KubeVersion(1, 37)),
    "SchedulerAsyncPreemption": FeatureGate(KubeVersion(1, 32), KubeVersion(1, 33)),
    "SchedulerPopFromBackoffQ": FeatureGate(KubeVersion(1, 33), KubeVersion(1, 33), required=True),
    "NominatedNodeNameForExpectation": FeatureGate(KubeVersion(1, 34), KubeVersion(1, 35)),
    "NodeDeclaredFeatures": FeatureGate(KubeVersion(1, 35), KubeVersion(1, 36), KubeVersion(1, 37)),
    # Pod groups of 1.35 and 1.36 have other gates, another cycle and older APIs.
    "GenericWorkload": FeatureGate(KubeVersion(1, 35), followed_since=KubeVersion(1, 37)),
    "GangScheduling": FeatureGate(
        KubeVersion(1, 35), removed_since=KubeVersion(1, 37), followed_since=KubeVersion(1, 37)
    ),
    "WorkloadAwarePreemption": FeatureGate(
        KubeVersion(1, 36), removed_since=KubeVersion(1, 37), followed_since=KubeVersion(1, 37)
    ),
    "TopologyAwareWorkloadScheduling": FeatureGate(
        KubeVersion(1, 36), needs="GenericWorkload", followed_since=KubeVersion(1, 37)
    ),
    "PodGroupPreemptionPolicy": FeatureGate(KubeVersion(1, 37), needs="GenericWorkload"),
    "CompositePodGroup": FeatureGate(
        KubeVersion(1, 37),
        needs="TopologyAwareWorkloadScheduling",
        lacking="groups of groups are not scheduled",
    ),
    "StorageCapacityScoring": FeatureGate(KubeVersion(1, 33), KubeVersion(1, 37)),
    "VolumeLimitScaling": FeatureGate(KubeVersion(1, 35), KubeVersion(1, 37)),
    "TaintTolerationComparisonOperators": FeatureGate(KubeVersion(1, 35)),
    "PodLevelResources": FeatureGate(KubeVersion(1, 32), KubeVersion(1, 34)),
    "VolumeAttributesClass": FeatureGate(KubeVersion(1, 29), KubeVersion(1, 34), KubeVersion(1, 36)),
    "SidecarContainers": FeatureGate(
        KubeVersion(1, 28), KubeVersion(1, 29), KubeVersion(1, 33), KubeVersion(1, 37)
    ),
    "SchedulerQueueingHints": FeatureGate(
        KubeVersion(1, 34), KubeVersion(1, 34), KubeVersion(1, 34), KubeVersion(1, 37)
    ),
    "NodeInclusionPolicyInPodTopologySpread": FeatureGate(
        KubeVersion(1, 25), KubeVersion(1, 26), KubeVersion(1, 33)
    ),
    "MatchLabelKeysInPodTopologySpread": FeatureGate(KubeVersion(1, 25), KubeVersion(1, 27)),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": FeatureGate(
        KubeVersion(1, 34), KubeVersion(1, 34), needs="MatchLabelKeysInPodTopologySpread"
    ),
    "InPlacePodVerticalScaling": FeatureGate(KubeVersion(1, 27), KubeVersion(1, 33), KubeVersion(1, 35)),
    "InPlacePodVerticalScalingSchedulerPreemption": FeatureGate(
        KubeVersion(1, 37),
        needs="InPlacePodVerticalScaling",
        lacking="no room is made for pods that wait on their node to be resized",
    ),
    "InPlacePodLevelResourcesVerticalScaling": FeatureGate(KubeVersion(1, 35), KubeVersion(1, 36)),
}
"""All gates that mooring acts on, in the configuration or in a plugin (pkg/features/kube_features.go)."""


class Gates:
    """The feature gates of a release, with those that the operator set."""

    def __init__(self, version: KubeVersion, explicit: Mapping[str, bool] | None = None) -> None:
        self.version = version
        self._explicit = dict(explicit or {})

    def enabled(self, name: str) -> bool:
        """Return whether a gate is on."""
        gate = FEATURE_GATES.get(name)
        if gate is None:
            return self._explicit.get(name, False)
        if self.version < gate.known_since:
            return False
        default = gate.on_since is not None and self.version >= gate.on_since
        return default if self._removed(gate) else self._explicit.get(name, default)

    def locked(self) -> list[str]:
        """Return the gates that were set although the release doesn't let them be set so."""
        return sorted(
            name
            for name, value in self._explicit.items()
            if (gate := FEATURE_GATES.get(name)) is not None
            and gate.locked_since is not None
            and self.version >= gate.locked_since
            and not self._removed(gate)
            and not value
        )

    def unmet(self) -> list[tuple[str, str]]:
        """Return the gates that are on without the one that they need, and which that is."""
        return [
            (name, gate.needs)
            for name, gate in FEATURE_GATES.items()
            if gate.needs and self.enabled(name) and not self.enabled(gate.needs)
        ]

    def not_followed(self) -> list[tuple[str, bool]]:
        """Return the gates whose value mooring does not follow at this release, with the value that it
        follows.
        """
        return [
            (name, gate.required)
            for name, gate in FEATURE_GATES.items()
            if self.enabled(name) != gate.required and (gate.required or not self._followed(gate))
        ]

    def without_effect(self) -> list[str]:
        """Return the gates that were set although mooring, at this release, does not act on them."""
        return sorted(
            name
            for name in self._explicit
            if (gate := FEATURE_GATES.get(name)) is None
            or self.version < gate.known_since
            or self._removed(gate)
        )

    def _removed(self, gate: FeatureGate) -> bool:
        return gate.removed_since is not None and self.version >= gate.removed_since

    def _followed(self, gate: FeatureGate) -> bool:
        return not gate.lacking and (gate.followed_since is None or self.version >= gate.followed_since)


NEWEST_GATES = Gates(NEWEST)
"""The gates of the newest release that is followed, as they are unless they are set."""
