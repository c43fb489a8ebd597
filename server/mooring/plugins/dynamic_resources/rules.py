"""Which parts of device allocation are on, under a release and its feature gates."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework import KubeVersion
from mooring.framework.releases import NEWEST, Gates

WHOLE_POOLS_SINCE = KubeVersion(1, 35)
"""Before, a pool is what the node reaches of it: it may be incomplete and be used, and fails when invalid."""

COUNTERS_APART_SINCE = KubeVersion(1, 36)
"""Every search distinguishes slices of counters from other slices; before, the oldest search does not."""

CHOICES_APART_SINCE = KubeVersion(1, 36)
"""Before, a fact about one alternative of a request may be used for another one."""

POOLS_APART_SINCE = KubeVersion(1, 37)
"""Before, pools of one name share their counters, whatever their drivers."""

COUNTERS_REACHED_SINCE = KubeVersion(1, 37)
"""Before, a slice of counters makes a pool on each node, whether the node reaches it or not."""

ALL_MEANS_ALL_SINCE = KubeVersion(1, 37)
"""Before, "all devices" are those that have the capacity left; since, those that would have it if free."""

AMOUNTS_CHECKED_SINCE = KubeVersion(1, 37)
"""Since this release a request for an amount that can't be reckoned with fails."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The parts that are on; a device or request that needs one that is off can't be had.

    Attributes:
        version: The release; some details of the search have changed between releases.
        alternatives: Requests may list alternatives.
        administration: Requests may ask for devices in use, to look after them.
        partitions: Devices may take from counters, and slices may say per device which nodes reach it.
        taints: Device taints keep requests away.
        taint_rules: Rules may taint devices, besides their drivers.
        readiness: Devices may have to be made ready after they were selected.
        shares: Several claims may have a share of one device.
        fractions: Steps of a capacity may be fractions of a unit.
        group_claims: Claims may be a pod group's, whose pods share them.
        newest_search: The search is the newest of the release's: it has distinct attributes, and fails when
            a request names a share and there are none.
        judges_parts: An incomplete pool can be invalid too, and slices of counters are parts like others: so
            1.35's oldest search has it, which is in use when all of these parts are off.
    """

    version: KubeVersion = NEWEST
    alternatives: bool = True
    administration: bool = True
    partitions: bool = True
    taints: bool = True
    taint_rules: bool = True
    readiness: bool = True
    shares: bool = True
    fractions: bool = True
    group_claims: bool = False
    newest_search: bool = True
    judges_parts: bool = False

    @property
    def counters_reached(self) -> bool:
        """Whether a slice of counters makes a pool only on nodes that reach it, as one of devices does."""
        return self.newest_search and self.version >= COUNTERS_REACHED_SINCE

    @classmethod
    def of(cls, gates: Gates) -> Rules:
        """As a release with these gates allocates."""
        reports = gates.enabled("DRAResourceClaimDeviceStatus")
        readiness = reports and gates.enabled("DRADeviceBindingConditions")
        shares = gates.enabled("DRAConsumableCapacity")
        earliest = gates.version < WHOLE_POOLS_SINCE
        alternatives = gates.enabled("DRAPrioritizedList")
        administration = gates.enabled("DRAAdminAccess")
        partitions = gates.enabled("DRAPartitionableDevices")
        taints = gates.enabled("DRADeviceTaints")
        newer = alternatives or administration or partitions or taints or readiness or shares
        return cls(
            version=gates.version,
            alternatives=alternatives,
            administration=administration,
            partitions=partitions,
            taints=taints,
            taint_rules=taints and gates.enabled("DRADeviceTaintRules"),
            readiness=readiness,
            shares=shares,
            fractions=gates.enabled("DRAFractionalCapacityRange"),
            group_claims=gates.enabled("DRAWorkloadResourceClaims"),
            newest_search=shares or readiness or (earliest and reports),
            judges_parts=WHOLE_POOLS_SINCE <= gates.version < COUNTERS_APART_SINCE and not newer,
        )
